// The children that run right now, so that an end in a hurry leaves none behind.

internal import Kernel
internal import Synchronization

/// The process groups of all running children.
///
/// - Thread: any thread.
final class ChildRegistry: Sendable {
    private struct State {
        var groups: Set<Int> = []
        /// How many children are being started, whose numbers are not known yet.
        var startingCount = 0
        var isClosed = false
    }

    /// What each child has in its environment, to be known by.
    let mark: ProgramMark
    /// Jobs whose programs wait for descriptors.
    let startLine = StartLine()
    private let state = Mutex(State())

    /// - Parameter daemon: what no two daemons have at the same time, and a daemon keeps over restarts.
    init(of daemon: String) { mark = ProgramMark(daemon: daemon) }

    /// Notes that a child is about to be started; `add` or `startFailed` follows.
    func willStart() { state.withLock { $0.startingCount += 1 } }

    /// Notes that a child could not be started.
    func startFailed() { state.withLock { $0.startingCount -= 1 } }

    /// Notes a child that was started; one that comes after `killAll` is killed at once.
    func add(_ processID: Int) {
        state.withLock { state in
            state.startingCount -= 1
            state.groups.insert(processID)
            if state.isClosed { try? Signal.kill.send(toGroup: processID) }
        }
    }

    /// Forgets a child; called before it is reaped, while its number is still its own.
    func remove(_ processID: Int) {
        state.withLock { _ = $0.groups.remove(processID) }
    }

    /// Kills every child with all that is in its process group, now and from now on.
    func killAll() {
        // Under the lock: no child can be reaped, and its number given away, in between.
        state.withLock { state in
            state.isClosed = true
            for group in state.groups { try? Signal.kill.send(toGroup: group) }
        }
    }

    /// Kills every child, also those that are just being started, and ends the process.
    ///
    /// - Parameter patience: for those that are being started; a program on a disk that hangs is not waited for.
    /// - Blocks: until they are there, or for so long.
    func killAll(within patience: Duration, andEnd end: () -> Never) -> Never {
        killAll()
        let deadline = SystemClock().now().advanced(by: patience)
        while true {
            // Under the lock: nobody begins to start another one before the end.
            state.withLock { state in
                if state.startingCount == 0 || SystemClock().now() >= deadline { end() }
            }
            SystemThread.yield()
        }
    }

    /// How many children run.
    var count: Int { state.withLock { $0.groups.count } }
}
