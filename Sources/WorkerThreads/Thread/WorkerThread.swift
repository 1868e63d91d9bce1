// The handle of a worker thread: start it, let go of it, stop it, wait for its end. The thread's
// own code is in WorkerCore.swift; how work gets there in WorkerThread+Submit.swift.

public import Kernel
public import RunLoops
internal import Synchronization

/// A named thread that lives in its run loop until it is stopped.
///
/// It sleeps for nothing while there is nothing to do, takes work from any thread, in order, and
/// keeps what is tied to a thread (a database handle, a graphics context, an interpreter) in one
/// place. Letting go of the last handle stops it, as `stop(.finishQueued)` does, unless it was told
/// to stop before.
///
/// ```swift
/// let ledger = try WorkerThread(name: "ledger")
/// try ledger.post { print("on \(WorkerThread.currentName ?? "?")") }  // on ledger
/// ledger.stop(.finishQueued)
/// ledger.join()
/// ```
///
/// - Source: Apple, Threading Programming Guide, "Run Loops"; NSThread.
public final class WorkerThread: Sendable {
    let core: WorkerCore
    /// The core's, without the way through the core.
    let queue: PerformQueue
    private let thread: Mutex<SystemThread?>
    /// Opens when the system's thread has been joined.
    private let joined = WordLatch()

    /// Starts a thread, which goes into its run loop.
    ///
    /// It need not be there when this returns: what is asked of it before waits for it.
    ///
    /// - Parameters:
    ///   - name: shown by `ps`, debuggers and in this library's errors.
    ///   - maxQueued: how many submitted items may wait, and how many performs for their delay or
    ///     for another mode, at least 1; more are refused with `SubmitError.full`.
    ///   - whenFull: what happens to a submitted item when so many wait.
    ///   - stackByteCount: size of its stack; nil for the system's default.
    ///   - spinLimit: how long the thread looks for more work before it sleeps, as long as work
    ///     comes within that time; at most 10 ms, and usually 0: then it sleeps at once. A sender
    ///     that is spared the system's wake-up gets a processor that is not asleep, for one that is
    ///     kept busy meanwhile. In a mode that watches descriptors it sleeps at once all the same.
    /// - Throws: EAGAIN when the system has no room for another thread.
    /// - Thread: any thread.
    /// - Blocks: never; the thread begins by itself.
    public convenience init(
        name: String, maxQueued: Int = .max, whenFull: WhenFull = .refuse,
        stackByteCount: Int? = nil, spinLimit: Duration = .zero
    ) throws(SystemError) {
        require(
            spinLimit >= .zero && spinLimit <= .milliseconds(10),
            "a thread looks for work for 0 to 10 ms before it sleeps, not \(spinLimit)")
        try self.init(
            name: name, maxQueued: maxQueued, whenFull: whenFull, stackByteCount: stackByteCount,
            poller: SystemPoller(spin: IdleSpin(limit: spinLimit)))
    }

    package init(
        name: String, maxQueued: Int = .max, whenFull: WhenFull = .refuse,
        stackByteCount: Int? = nil, poller: any Poller
    ) throws(SystemError) {
        require(maxQueued > 0, "a queue holds at least 1 item, not \(maxQueued)")
        let core = WorkerCore.make(
            name: name, maxQueued: maxQueued, whenFull: whenFull, poller: poller)
        do throws(SystemError) {
            thread = Mutex(
                try SystemThread(name: name, stackByteCount: stackByteCount) { core.main() })
        } catch {
            core.loop.abandon()
            throw error
        }
        self.core = core
        queue = core.queue
    }

    deinit {
        // No handle is left to join it: the thread ends by itself, and detached leaves nothing
        // behind.
        core.change { $0.letGo() }
    }

    /// The name that it was given.
    public var name: String { core.name }

    /// The thread's run loop, to add sources, ports, timers and observers to.
    ///
    /// - Thread: any thread.
    public var runLoop: ThreadRunLoop { core.loop }

    /// Whether the caller runs on this thread.
    ///
    /// - Thread: any thread.
    public var isCurrent: Bool { core.loop.isOnThread }

    /// The name of the worker thread that the caller runs on; nil on other threads.
    ///
    /// - Thread: any thread.
    public static var currentName: String? { WorkerCore.current?.name }

    /// Whether the worker thread that the caller runs on was asked to stop; false on other threads.
    ///
    /// For work that takes long, to end early. It need not hold the handle for that, and with it
    /// the thread.
    ///
    /// - Thread: any thread.
    public static var isCurrentStopped: Bool { WorkerCore.current?.queue.refusesMore ?? false }

    /// Pauses the thread: new and waiting items stay queued; the running one is finished.
    ///
    /// - Thread: any thread.
    /// - Blocks: never.
    public func pause() {
        core.change { $0.pause() }
    }

    /// Ends a pause: the waiting items have their turn.
    ///
    /// - Thread: any thread.
    /// - Blocks: never.
    public func resume() {
        core.change { $0.resume() }
    }

    /// Asks the thread to end.
    ///
    /// From now on every submit is refused.
    ///
    /// - Parameter policy: what happens to work that was queued before.
    /// - Thread: any thread, also the thread itself.
    /// - Blocks: never; `join()` waits for the end.
    public func stop(_ policy: StopPolicy = .finishCurrent) {
        core.change { $0.stop(policy) }
    }

    /// Whether it was asked to stop.
    ///
    /// - Thread: any thread.
    public var isStopped: Bool { queue.refusesMore }

    /// Whether it has ended, with everything that it was to finish.
    ///
    /// - Thread: any thread.
    public var hasEnded: Bool { core.ended.isOpen }

    /// Whether it is paused.
    ///
    /// - Thread: any thread.
    public var isPaused: Bool { core.life.withLock { $0.isPaused } }

    /// Waits until the thread has ended, with its run loop and all that was in it.
    ///
    /// - Thread: any thread but this one; several may wait.
    /// - Blocks: until the thread was stopped and has ended.
    public func join() {
        require(!isCurrent, "thread \(name) can't wait for its own end")
        core.ended.wait()
        // A system thread is joined once: later callers wait for the one that does it.
        guard let mine = thread.withLock({ $0.take() }) else { return joined.wait() }
        mine.join()
        joined.open()
    }

    /// How many submitted items never ran because the thread ended before their turn.
    ///
    /// Whatever the thread has taken either runs or is counted here: submitted closures, performs
    /// that waited for their delay or for another mode, blocks of its run loop, and what message
    /// ports and command buffers in its loop had.
    ///
    /// - Thread: any thread; final after `join()`.
    public var abandonedCount: Int { core.abandonedCount.load(ordering: .acquiring) }

    /// How many submitted items wait for their turn.
    ///
    /// - Thread: any thread; out of date as soon as it is known.
    public var waitingCount: Int { queue.depth }

    /// How many items wait for room among those that wait; only of a queue that is full.
    ///
    /// - Thread: any thread; out of date as soon as it is known.
    public var newcomerCount: Int { queue.newcomerCount }

    /// How many submitted items gave way to newer ones because the queue was full.
    ///
    /// - Thread: any thread.
    public var droppedCount: Int { queue.droppedCount }

    /// Describes the thread's whole run loop, and how much waits for it.
    ///
    /// Answered by the thread itself as soon as its loop gets there, also while it is paused or
    /// serves a job.
    ///
    /// - Parameter receive: called on the thread with several lines of text.
    /// - Returns: false when the thread has ended.
    /// - Thread: any thread.
    /// - Blocks: never.
    @discardableResult
    public func describe(_ receive: @escaping @Sendable (String) -> Void) -> Bool {
        core.callFromControl { [core] loop in receive(loop.describe() + core.describeQueue()) }
    }
}
