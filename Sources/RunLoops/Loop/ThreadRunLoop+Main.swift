// The main thread's run loop: the one that every thread may ask for, also before it runs, and the
// one that serves the main dispatch queue. How it does that is in MainQueuePort.swift.

internal import Kernel

extension ThreadRunLoop {
    /// Made for the first thread that asks; taken over by the main thread when it first meets it.
    private static let mainLoop = ThreadRunLoop(
        unclaimedOn: SystemPoller(),
        mainQueue: MainQueuePort { () throws(SystemError) in try DispatchMainQueue() })

    /// The main thread's run loop.
    ///
    /// Any thread may ask, at any time, and gets the same object. What it is given (blocks, items,
    /// a wake-up) before the main thread runs it waits for the first run; only the main
    /// thread can run it. The main thread's `current` is this loop.
    ///
    /// Run in one of the common modes it serves the main dispatch queue, and so Swift's main actor:
    /// `DispatchQueue.main.async { }` and `Task { @MainActor in }` run in it, as a port would be
    /// handled. While there is such a queue, its common modes are never `finished`. A run from
    /// inside the main queue's own work serves the queue no further, and is finished as any other.
    /// The first run takes three descriptors for that, and stops the program where none are left.
    ///
    /// A program whose main thread ends without the program (after `dispatch_main()`, or an
    /// asynchronous `main` that has been suspended) has no main thread to run it any more: then
    /// `perform` answers false, and to run it stops the program. Let `main` be synchronous.
    ///
    /// - Thread: any thread.
    /// - Blocks: never.
    /// - Source: CFRunLoopGetMain.
    public static var main: ThreadRunLoop {
        // The main thread claims it, if it has not done so yet. One that has ended before never
        // will.
        if !mainLoop.isOnThread, mainLoop.isUnclaimed, DispatchMainQueue.isLeft {
            mainLoop.abandonUnclaimed()
        }
        return mainLoop
    }

    /// Whether this is the main thread's run loop.
    ///
    /// - Thread: any thread.
    public var isMain: Bool { self === Self.mainLoop }
}
