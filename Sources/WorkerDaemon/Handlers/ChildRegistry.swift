// The running children, so that a forced end leaves none behind.

internal import Kernel
internal import Synchronization

/// The process groups of all running children.
///
/// - Thread: any thread.
final class ChildRegistry: Sendable {
    private struct State {
        /// Each with its control group, if it has one.
        var groups: [Int: ControlGroup?] = [:]
        /// The number of children being started, whose process ids are not known yet.
        var startingCount = 0
        var isClosed = false
        /// Whether the process ends with its children, whose ends are told to no job.
        var isEnding = false
    }

    /// The mark in the environment of each child, by which a later daemon finds it.
    let mark: ProgramMark
    /// The jobs whose programs wait for descriptors.
    let startLine = StartLine()
    /// The output of the jobs' attempts.
    let outputs: OutputBook
    /// The control groups of the jobs' programs.
    let controlGroups: ProgramGroups
    private let state = Mutex(State())

    /// - Parameter daemon: a name that is unique among running daemons, and the same after a
    ///   restart.
    init(
        of daemon: String, _ limits: Configuration.Limits,
        in controlGroups: ProgramGroups = ProgramGroups(.nowhere("not asked for"))
    ) {
        self.controlGroups = controlGroups
        mark = ProgramMark(daemon: daemon)
        outputs = OutputBook(byteCountMax: limits.retainedOutputBytes)
    }

    /// Announces that a child is about to be started; `add` or `startFailed` follows.
    func willStart() { state.withLock { $0.startingCount += 1 } }

    /// Takes the announcement back: the child could not be started.
    func startFailed() { state.withLock { $0.startingCount -= 1 } }

    /// Adds a started child; after `killAll` it is killed at once.
    func add(_ processID: Int, in group: ControlGroup? = nil) {
        state.withLock { state in
            state.startingCount -= 1
            state.groups[processID] = .some(group)
            if state.isClosed { Self.kill(processID, group) }
        }
    }

    private static func kill(_ processID: Int, _ group: ControlGroup?) {
        try? Signal.kill.send(toGroup: processID)
        group?.kill()
    }

    /// Removes a child; called before it is reaped, while its process id is still its own.
    ///
    /// - Blocks: for ever, once the process ends: a job whose program was killed for that has not
    ///   failed, and runs again after the next start.
    func remove(_ processID: Int) {
        let isEnding = state.withLock { state in
            state.groups.removeValue(forKey: processID)
            return state.isEnding
        }
        while isEnding { SystemThread.yield() }
    }

    /// Kills the process group of every child, now and from now on.
    func killAll() {
        // Under the lock: no child can be reaped, and its process id reused, in between.
        state.withLock { state in
            state.isClosed = true
            for (processID, group) in state.groups { Self.kill(processID, group) }
        }
    }

    /// Kills every child, those being started included, and ends the process.
    ///
    /// The jobs of the children are left as a crash leaves them: none of them is told an end.
    ///
    /// - Parameter patience: the longest wait for children being started: a program on a hung disk
    ///   is not waited for.
    /// - Blocks: until they are started, or for `patience`.
    func killAll(within patience: Duration, andEnd end: () -> Never) -> Never {
        // Before the first one is killed: its job's thread may see that before this one goes on.
        state.withLock { $0.isEnding = true }
        killAll()
        let deadline = SystemClock().now().advanced(by: patience)
        while true {
            // Under the lock: no thread begins to start another child before the end.
            state.withLock { state in
                if state.startingCount == 0 || SystemClock().now() >= deadline { end() }
            }
            SystemThread.yield()
        }
    }

    /// The number of running children.
    var count: Int { state.withLock { $0.groups.count } }
}
