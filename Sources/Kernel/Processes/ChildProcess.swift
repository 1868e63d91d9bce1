// A child process as its parent sees it: its pipes, a descriptor that reports its end, and the
// right to signal and collect it. How it is started is in ChildProcess+Spawn.swift. It knows
// nothing of time limits and of what the bytes mean.
//
// The rule about process ids: a child's id, which is its group's id too, belongs to it until it is
// collected ("reaped"); afterwards the kernel may give it to any process. So a group is signalled
// only while its leader is not collected: `signalGroup` does nothing afterwards, and `reap` first
// looks at the end without collecting (WNOWAIT; the leader stays a zombie and keeps the id), then
// kills the rest of the group, and only then collects.

internal import CLinux
internal import Glibc

/// A child process in a process group of its own.
///
/// Letting go of it before it is reaped kills its whole group.
package struct ChildProcess: ~Copyable, Sendable {
    /// Its id, and its group's.
    package let processID: Int
    /// Becomes readable when the child ends; for the poller.
    package let endDescriptor: Descriptor

    // Our ends of the child's standard streams; nil once closed or taken.
    private var input: Descriptor?
    private var output: Descriptor?
    private var errors: Descriptor?
    private var report: Descriptor?
    private var status: ChildStatus?

    /// Takes over a child that was just started.
    init(
        processID: pid_t, endDescriptor: consuming Descriptor, input: consuming Descriptor?,
        output: consuming Descriptor, errors: consuming Descriptor,
        report: consuming Descriptor?
    ) {
        self.processID = Int(processID)
        self.endDescriptor = endDescriptor
        self.input = consume input
        self.output = consume output
        self.errors = consume errors
        self.report = consume report
    }

    deinit {
        guard status == nil else { return }
        ChildProcess.killAndReap(pid_t(processID), endDescriptor)
    }

    /// Gives away the end that the child's standard input reads from; nil the second time, and for
    /// a child that reads a file.
    ///
    /// - Thread: the one that owns the child.
    package mutating func takeInput() -> Descriptor? { input.take() }

    /// Gives away the end that the child's standard output writes to; nil the second time.
    ///
    /// - Thread: the one that owns the child.
    package mutating func takeOutput() -> Descriptor? { output.take() }

    /// Gives away the end that the child's standard error writes to; nil the second time.
    ///
    /// - Thread: the one that owns the child.
    package mutating func takeErrors() -> Descriptor? { errors.take() }

    /// Gives away the end that the child's descriptor 3 writes to; nil the second time, and for a
    /// child that has none.
    ///
    /// - Thread: the one that owns the child.
    package mutating func takeReport() -> Descriptor? { report.take() }

    /// Ends the child's input, unless it was taken.
    ///
    /// - Thread: the one that owns the child.
    package mutating func closeInput() { input = nil }

    /// Whether the child has ended; it need not be reaped for that.
    ///
    /// - Thread: the one that owns the child.
    /// - Blocks: never.
    package var hasEnded: Bool {
        if status != nil { return true }
        switch ChildProcess.wait(endDescriptor, WEXITED | WNOHANG | WNOWAIT) {
        case .stillRuns: return false
        case .ended, .notOurs: return true
        }
    }

    /// Sends a signal to the child and to everything that it started in its group.
    ///
    /// After the child was reaped it does nothing, as the id may be another process's by then.
    ///
    /// - Throws: EPERM when all of the group have become other users'; an empty group is fine.
    /// - Thread: the one that owns the child.
    /// - Blocks: never.
    /// - Source: kill(2).
    package borrowing func signalGroup(_ signal: Signal) throws(SystemError) {
        guard status == nil else { return }
        do throws(SystemError) {
            try retrying("kill \(signal) group \(processID)") {
                kill(-pid_t(processID), signal.rawNumber)
            }
        } catch {
            if error.errno != ESRCH { throw error }
        }
    }

    /// Collects the child if it has ended, and kills what it left running in its group.
    ///
    /// - Parameter leavingGroup: leaves alone what the child left running.
    /// - Returns: how it ended, again and again; nil while it runs.
    /// - Thread: the one that owns the child.
    /// - Blocks: never.
    /// - Source: waitid(2), P_PIDFD.
    package mutating func reap(leavingGroup: Bool = false) -> ChildStatus? {
        if let status { return status }
        switch ChildProcess.wait(endDescriptor, WEXITED | WNOHANG | WNOWAIT) {
        case .stillRuns: return nil
        case .notOurs: status = .unknown
        case .ended(let outcome):
            if !leavingGroup {
                // ESRCH: no process remains. EPERM: those that remain are not ours to kill.
                _ = kill(-pid_t(processID), SIGKILL)
            }
            _ = ChildProcess.wait(endDescriptor, WEXITED | WNOHANG)
            status = outcome
        }
        return status
    }
}

/// A process by a descriptor that becomes readable when it ends; letting go of it ends nothing.
package struct ProcessDescriptor: ~Copyable, Sendable {
    /// The descriptor that the poller watches.
    package let descriptor: Descriptor

    /// Opens a process.
    ///
    /// - Parameter processID: at least 1.
    /// - Throws: ESRCH (no such process), EMFILE, ENFILE, ENOMEM.
    /// - Thread: any.
    /// - Blocks: never.
    /// - Source: pidfd_open(2).
    package init(_ processID: Int) throws(SystemError) {
        require(processID >= 1, "a process id is positive, is \(processID)")
        // No process has a larger one.
        let result = clinux_pidfd_open(pid_t(clamping: processID))
        if result < 0 {
            throw SystemError(operation: "pidfd_open \(processID)", errno: -result)
        }
        descriptor = Descriptor(owning: result)
    }

    /// How the process ended, if it is a child of this one; it is collected then.
    ///
    /// - Returns: nil while it runs; `unknown` for a process that is no child, or was collected
    ///   before.
    /// - Thread: any.
    /// - Blocks: never.
    /// - Source: waitid(2), P_PIDFD.
    package borrowing func collect() -> ChildStatus? {
        switch ChildProcess.wait(descriptor, WEXITED | WNOHANG) {
        case .stillRuns: nil
        case .ended(let status): status
        case .notOurs: .unknown
        }
    }
}

extension ChildProcess {
    fileprivate enum WaitResult {
        case stillRuns
        case ended(ChildStatus)
        /// ECHILD: it was collected without us.
        case notOurs
    }

    fileprivate static func wait(_ descriptor: borrowing Descriptor, _ options: CInt) -> WaitResult
    {
        var result = clinux_wait_result()
        do throws(SystemError) {
            try retrying("waitid") {
                unsafe clinux_wait(descriptor.number, options, &result)
            }
            return result.pid == 0 ? .stillRuns : .ended(ChildStatus(result))
        } catch {
            // The other errors say that pidfds cannot be waited for, which Linux 5.4 brought.
            require(error.errno == ECHILD, "\(error)")
            return .notOurs
        }
    }

    /// Kills a group and collects its leader.
    ///
    /// A killed process ends at once, unless the machine stalls or a broken device holds it. After
    /// a second, a thread of its own waits for it, so that it leaves nothing behind.
    private static func killAndReap(_ group: pid_t, _ descriptor: borrowing Descriptor) {
        let patienceMilliseconds: CInt = 1000
        if case .notOurs = wait(descriptor, WEXITED | WNOHANG | WNOWAIT) { return }
        _ = kill(-group, SIGKILL)
        _ = try? waitUntilReady(
            descriptor.number, for: CShort(POLLIN), timeoutMilliseconds: patienceMilliseconds)
        guard case .stillRuns = wait(descriptor, WEXITED | WNOHANG),
            let copy = try? descriptor.duplicate()
        else { return }
        _ = try? SystemThread(name: "collect") {
            _ = try? waitUntilReady(copy.number, for: CShort(POLLIN))
            _ = wait(copy, WEXITED | WNOHANG)
        }
    }
}
