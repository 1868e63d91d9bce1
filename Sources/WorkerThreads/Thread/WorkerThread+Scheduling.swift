// How the system schedules a worker's thread: on which processors, and how readily it gives way.
// And what a thread does when it has nothing to do.

public import Kernel
public import RunLoops
internal import Synchronization

extension WorkerThread {
    /// Lets the thread run on some processors only.
    ///
    /// Threads that code on it starts later inherit that.
    ///
    /// - Parameter processors: their numbers, from 0 on, at least one.
    /// - Throws: EINVAL when none of them is there or may be used by this process; ESRCH when the
    ///   thread has ended.
    /// - Thread: any thread, also the thread itself.
    /// - Blocks: until the thread's loop gets to it, also while it is paused: as long as what it
    ///   runs.
    /// - Source: sched_setaffinity(2).
    public func setProcessors(_ processors: Set<Int>) throws(SystemError) {
        try onItself("sched_setaffinity") { () throws(SystemError) in
            try SystemThread.setCurrentProcessors(processors)
        }
    }

    /// Sets how readily the thread gives way to others.
    ///
    /// Threads that code on it starts later inherit that.
    ///
    /// - Parameter niceness: -20, the least nice, to 19; others are clamped to that.
    /// - Throws: EACCES or EPERM when it may not become less nice; ESRCH when the thread has ended.
    /// - Thread: any thread, also the thread itself.
    /// - Blocks: until the thread's loop gets to it, also while it is paused: as long as what it
    ///   runs.
    /// - Source: setpriority(2), which on Linux is about one thread.
    public func setNiceness(_ niceness: Int) throws(SystemError) {
        try onItself("setpriority") { () throws(SystemError) in
            try SystemThread.setCurrentNiceness(niceness)
        }
    }

    /// Calls a closure each time the thread has done all there was and is about to sleep.
    ///
    /// Work that the closure posts is done before the thread sleeps; then it is called again. It is
    /// not called while the thread is paused or serves a job.
    ///
    /// - Parameters:
    ///   - order: smaller ones are called first.
    ///   - body: called on the thread.
    ///   - fileID: the caller's file, told of its calls while the thread is measured.
    ///   - line: the caller's line.
    /// - Returns: the observer that calls it; make it invalid to end that.
    /// - Thread: any thread.
    /// - Blocks: never.
    @discardableResult
    public func whenIdle(
        order: Int = 0, _ body: @escaping @Sendable () -> Void,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> ThreadRunLoop.Observer {
        let observer = ThreadRunLoop.Observer(
            .beforeWaiting, order: order, handler: { _, _ in body() }, fileID: fileID, line: line)
        runLoop.add(observer)
        return observer
    }

    /// Does something on the thread, whatever its state, and waits for it.
    private func onItself(
        _ operation: String, _ body: @escaping @Sendable () throws(SystemError) -> Void
    ) throws(SystemError) {
        if isCurrent { return try body() }
        let answer = OwnAnswer()
        let isTaken = core.callFromControl { _ in
            do throws(SystemError) {
                try body()
                answer.give(nil)
            } catch {
                answer.give(error)
            }
        }
        guard isTaken else { throw SystemError(operation: operation, errno: .noSuchThread) }
        if let error = answer.wait() { throw error }
    }
}

extension CInt {
    /// ESRCH.
    fileprivate static var noSuchThread: CInt { 3 }
}

/// The result of an act of a thread on itself.
private final class OwnAnswer: Sendable {
    private let error = Mutex<SystemError?>(nil)
    private let given = WordLatch()

    func give(_ error: SystemError?) {
        self.error.withLock { $0 = error }
        given.open()
    }

    func wait() -> SystemError? {
        given.wait()
        return error.withLock { $0 }
    }
}
