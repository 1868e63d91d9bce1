// The children that run right now, so that an end in a hurry leaves none behind.

internal import Kernel
internal import Synchronization

/// The process groups of all running children.
///
/// - Thread: any thread.
final class ChildRegistry: Sendable {
    private struct State {
        var groups: Set<Int> = []
        var isClosed = false
    }

    /// What each child has in its environment, to be known by.
    let mark: ProgramMark
    private let state = Mutex(State())

    /// - Parameter daemon: what no two daemons have at the same time, and a daemon keeps over restarts.
    init(of daemon: String) { mark = ProgramMark(daemon: daemon) }

    /// Notes a child that was started; one that comes after `killAll` is killed at once.
    func add(_ processID: Int) {
        state.withLock { state in
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

    /// How many children run.
    var count: Int { state.withLock { $0.groups.count } }
}
