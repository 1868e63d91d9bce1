// One run of a program handler: the payload is its standard input, its standard output is the
// result. The thread serves its loop in mode `job` meanwhile; pipes, the child's end and its time
// limit are ports and timers of that mode.
//
// The payload is a file in memory and not a pipe: a program can't tell the end of a pipe's data
// from the death of its writer, and would take the first part of a payload for all of it.

internal import Jobs
internal import Kernel
internal import RunLoops
internal import WorkerThreads

/// A child process at work on a job.
///
/// Confined to the worker's thread.
final class ProgramRun {
    /// The reason why the child is ended early.
    private enum Interruption: Equatable {
        case cancelled
        case timedOut
        case tooMuchOutput
        case tooMuchMemory(byteCount: Int)
        case storeAway
    }

    /// The length of the end of standard error that is kept for the failure's text.
    private static let errorTailByteCount = 2_048
    private static let readByteCount = 64 << 10
    /// The time between two looks at the trust in the store.
    private static let trustPeriod = Duration.milliseconds(100)

    private let selector: Configuration.Selector
    private let job: JobContext
    private let children: ChildRegistry
    private let log: Log
    let worker: WorkerCore
    private var loop: ThreadRunLoop { worker.loop }

    private var child: ChildProcess?
    private var output: Descriptor?
    private var errors: Descriptor?
    private var report: Descriptor?
    private var progressLines = ProgressLines()
    private var ports: [Stream: ThreadRunLoop.Port] = [:]
    private var timers: [ThreadRunLoop.Timer] = []
    private var result: [UInt8] = []
    private var errorTail: [UInt8] = []
    private var kept: ProgramOutput?
    private var group: ControlGroup?
    private var isOutOfMemory = false
    private var limit: MemoryLimit { children.controlGroups.limit(of: selector) }
    private var interruption: Interruption?
    private var status: ChildStatus?

    private enum Stream: Hashable {
        case output, errors, report, end
    }

    init(
        _ selector: Configuration.Selector, job: JobContext, children: ChildRegistry, log: Log
    ) {
        guard let worker = WorkerCore.current else { fatalError("not on a worker thread") }
        self.selector = selector
        self.job = job
        self.children = children
        self.log = log
        self.worker = worker
    }

    /// Starts the program and serves it until it has ended.
    ///
    /// - Parameter started: called once it runs.
    /// - Throws: the error of a failed start.
    func run(_ started: () -> Void) throws(SystemError) -> Outcome {
        do throws(SystemError) {
            try start()
        } catch {
            cleanUp()
            if let kept { children.outputs.end(kept, isDone: false) }
            throw error
        }
        started()
        worker.serveJob { status != nil }
        cleanUp()
        let outcome = outcome()
        if let kept { children.outputs.end(kept, isDone: outcome.state == .done) }
        return outcome
    }

    private func start() throws(SystemError) {
        var command = ChildCommand(
            program: selector.program.executable,
            arguments: selector.arguments(for: job.options))
        command.environment =
            inheritedEnvironment
            .merging(selector.environment) { $1 }
            .merging(selector.variables(for: job.options)) { $1 }
            .merging(jobEnvironment) { $1 }
        command.workingDirectory = selector.directory
        command.hasReportPipe = true
        group = try children.controlGroups.begin(job, selector)
        Self.confine(&command, to: group, limit)
        let payload = try File.inMemory(job.payload, label: children.mark.label)
        var child = try spawn(command, reading: payload)
        output = child.takeOutput()
        errors = child.takeErrors()
        report = child.takeReport()
        let end = child.endDescriptor.number
        self.child = consume child
        kept = children.outputs.begin(job: job.id, attempt: job.attempt)
        try watch(.end, end) { $0.childEnded() }
        try watchStreams()
        startTimers()
    }

    /// Starts the program, with an entry in the registry from its first moment on.
    private func spawn(
        _ command: ChildCommand, reading payload: consuming Descriptor
    ) throws(SystemError) -> ChildProcess {
        children.willStart()
        do throws(SystemError) {
            let child = try ChildProcess.spawn(command, reading: payload)
            children.add(child.processID, in: group)
            return child
        } catch {
            children.startFailed()
            throw error
        }
    }

    /// Lets a shell enter the control group and set the limit, and then become the program.
    ///
    /// Done from outside, that would come after the program's first instructions: it would keep
    /// memory it has by then, and what it has started would stay outside. The words are passed as
    /// parameters, which the shell does not parse. A lower limit that is already set stays.
    private static func confine(
        _ command: inout ChildCommand, to group: ControlGroup?, _ limit: MemoryLimit
    ) {
        var script = ""
        if group != nil { script += "echo 0 >\"$0\" || exit 125; " }
        if case .addressSpace(let byteCount) = limit {
            script += "ulimit -v \(byteCount >> 10) 2>/dev/null; "
        }
        guard !script.isEmpty else { return }
        let place = group?.file("cgroup.procs") ?? "sh"
        command.arguments =
            ["-c", script + "exec \"$@\"", place, command.program] + command.arguments
        command.program = "/bin/sh"
    }

    /// Variables of the daemon that every program gets; the others may contain its secrets.
    private static let usualVariables: Set = ["PATH", "HOME", "LANG", "TMPDIR"]

    /// The part of the daemon's environment that the program gets.
    private var inheritedEnvironment: [String: String] {
        let all = Program.inheritedEnvironment()
        if selector.inheritsEnvironment {
            return all.filter { !ServiceManager.variables.contains($0.key) }
        }
        let wanted = Self.usualVariables.union(selector.passedVariables)
        return all.filter { wanted.contains($0.key) }
    }

    /// The variables that tell the program about its job.
    private var jobEnvironment: [String: String] {
        var environment = [
            "WORKERD_JOB": "\(job.id)", "WORKERD_SELECTOR": job.selector,
            "WORKERD_ATTEMPT": "\(job.attempt)", "WORKERD_THREAD": worker.name,
            "WORKERD_PROGRESS_FD": "3", ProgramMark.variable: children.mark.text,
        ]
        environment["TRACEPARENT"] = job.trace
        return environment
    }

    private func watchStreams() throws(SystemError) {
        if let number = output?.number {
            try watch(.output, number) { $0.readOutput() }
        }
        if let number = errors?.number {
            try watch(.errors, number) { $0.readErrors() }
        }
        if let number = report?.number {
            try watch(.report, number) { $0.readReport() }
        }
    }

    private func watch(
        _ stream: Stream, _ number: CInt,
        _ handle: @escaping @Sendable (ProgramRun) -> Void
    ) throws(SystemError) {
        let run = Confined(self, to: loop)
        let port = ThreadRunLoop.Port(watching: number, for: .readable) { _, _ in
            handle(run.value)
        }
        ports[stream] = port
        try loop.add(port, to: .job)
    }

    private func startTimers() {
        let run = Confined(self, to: loop)
        if let deadline = job.run?.deadline, deadline != .distantFuture {
            after(deadline) { run.value.interrupt(.timedOut) }
        }
        if case .resident(let byteCount) = limit {
            every(ProgramGroups.period) { run.value.checkMemory(limit: byteCount) }
        }
        if selector.whenStoreAway == .kill, job.isStored {
            every(Self.trustPeriod) { run.value.checkTrust() }
        }
        let loop = loop
        job.onCancel { loop.perform(inModes: [.job]) { run.value.interrupt(.cancelled) } }
    }

    private func after(_ instant: Instant, _ body: @escaping @Sendable () -> Void) {
        add(ThreadRunLoop.Timer(at: instant) { _ in body() })
    }

    private func every(_ period: Duration, _ body: @escaping @Sendable () -> Void) {
        add(ThreadRunLoop.Timer(at: loop.now.advanced(by: period), every: period) { _ in body() })
    }

    private func add(_ timer: ThreadRunLoop.Timer) {
        timers.append(timer)
        loop.add(timer, to: .job)
    }

    /// Asks the child's group to end, and kills it if it has not ended within the grace period.
    private func interrupt(_ reason: Interruption) {
        guard status == nil, interruption == nil else { return }
        // The end of one that has ended comes in the same pass of the loop: after a pause of the
        // process, such as by SIGSTOP, the timers come first. Its output counts all the same.
        if reason != .tooMuchOutput, child?.hasEnded == true { return }
        interruption = reason
        switch reason {
        // A program without memory has no use for a grace period, and would go on to take some. And
        // one whose job may run elsewhere in a moment must be gone by then.
        case .tooMuchMemory, .storeAway: return signalGroup(.kill)
        case .cancelled, .timedOut, .tooMuchOutput: break
        }
        signalGroup(.terminate)
        let run = Confined(self, to: loop)
        after(loop.now.advanced(by: selector.graceAfterTerm)) { run.value.signalGroup(.kill) }
    }

    private func signalGroup(_ signal: Signal) {
        // EPERM: the group runs as another user by now; the leader's end is still waited for.
        try? child?.signalGroup(signal)
        if signal == .kill { group?.kill() }
    }

    private func checkMemory(limit: Int) {
        guard status == nil, interruption == nil, let processID = child?.processID else { return }
        let byteCount = children.controlGroups.residentBytes(
            ofGroup: processID, limit: limit, at: loop.now)
        guard let byteCount, byteCount > limit else { return }
        interrupt(.tooMuchMemory(byteCount: byteCount))
    }

    private func checkTrust() {
        guard status == nil, interruption == nil, child?.hasEnded != true, !job.isStoreTrusted
        else { return }
        job.leaveWithStore()
        interrupt(.storeAway)
    }

    /// - Returns: whether there may be more to read at once.
    @discardableResult
    private func readOutput() -> Bool {
        let room = selector.maxOutputBytes - result.count + 1
        let countBefore = result.count
        let read = read(from: output, into: &result, atMost: min(room, Self.readByteCount))
        kept?.appendOutput(result[countBefore...])
        job.noteWritten(output: result.count - countBefore)
        if result.count > selector.maxOutputBytes {
            stopWatching(.output)
            interrupt(.tooMuchOutput)
            return false
        }
        if read == .end { stopWatching(.output) }
        return read != .end && read != .wouldBlock
    }

    /// - Returns: whether there may be more to read at once.
    @discardableResult
    private func readErrors() -> Bool {
        let countBefore = errorTail.count
        let read = read(from: errors, into: &errorTail, atMost: Self.readByteCount)
        kept?.appendErrors(errorTail[countBefore...])
        job.noteWritten(errors: errorTail.count - countBefore)
        if errorTail.count > Self.errorTailByteCount {
            errorTail.removeFirst(errorTail.count - Self.errorTailByteCount)
        }
        if read == .end { stopWatching(.errors) }
        return read != .end && read != .wouldBlock
    }

    /// Reads the progress that the program reports.
    private func readReport() {
        var bytes: [UInt8] = []
        let read = read(from: report, into: &bytes, atMost: Self.readByteCount)
        let junkCountBefore = progressLines.junkCount
        if let progress = progressLines.take(bytes) { job.note(progress) }
        if junkCountBefore == 0, progressLines.junkCount > 0 {
            log.warning(
                "\(job.title) writes lines to descriptor 3 that are no progress, "
                    + "such as '40% converting': they are passed over")
        }
        if read == .end { stopWatching(.report) }
    }

    private func read(
        from descriptor: borrowing Descriptor?, into bytes: inout [UInt8], atMost byteCount: Int
    ) -> ReadResult {
        do throws(SystemError) {
            return try descriptor?.read(appendingTo: &bytes, atMost: byteCount) ?? .end
        } catch {
            return .end
        }
    }

    /// Handles the end of the child itself.
    ///
    /// Its output is in the pipes. Other processes that have the pipes open are not waited for, and
    /// the rest of the child's process group is killed.
    private func childEnded() {
        if let processID = child?.processID { children.remove(processID) }
        let status = child?.reap()
        if let group {
            isOutOfMemory = ProgramGroups.isOverLimit(group)
            group.kill()
        }
        while interruption == nil && readOutput() {}
        // A process that left the group may write for ever: the tail of this much is enough.
        for _ in 0..<16 where !readErrors() { break }
        self.status = status
        if status != nil { loop.stop() }
    }

    private func stopWatching(_ stream: Stream) {
        ports.removeValue(forKey: stream)?.invalidate()
        switch stream {
        case .output: output = nil
        case .errors: errors = nil
        case .report: report = nil
        case .end: break
        }
    }

    private func cleanUp() {
        job.end()
        for port in ports.values { port.invalidate() }
        for timer in timers { timer.invalidate() }
        ports.removeAll()
        timers.removeAll()
        output = nil
        errors = nil
        report = nil
        // Without a status the start failed half-way: releasing the child kills and reaps it.
        if status == nil, let processID = child?.processID { children.remove(processID) }
        child = nil
        if let group { children.controlGroups.end(group) }
        group = nil
    }

    private var memoryLimitText: String {
        "\((selector.maxMemoryBytes ?? 0) >> 10) KB, the limit of its processes together"
    }

    /// The result without the room for more output: it may be kept for long.
    private var resultAlone: [UInt8] {
        guard result.count < result.capacity / 2 else { return result }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(result.count)
        bytes += result
        return bytes
    }

    private func outcome() -> Outcome {
        switch interruption {
        case .cancelled: return .cancelled
        case .timedOut: return .timedOut
        case .tooMuchOutput:
            return .failed(
                reason: "output is larger than \(selector.maxOutputBytes) bytes, the limit"
            )
        case .tooMuchMemory(let byteCount):
            let used = "used \(byteCount >> 10) KB of memory"
            return .failed(reason: "\(used), more than \(memoryLimitText)")
        case .storeAway: return .cancelled
        case nil: break
        }
        guard let status else { return .failed(reason: "the program's end was missed") }
        if status.isSuccess { return .done(resultAlone) }
        if isOutOfMemory { return .failed(reason: "used more memory than \(memoryLimitText)") }
        // Many programs print their errors on standard output.
        let said = errorTail.isEmpty ? Array(result.suffix(Self.errorTailByteCount)) : errorTail
        let lines = String(decoding: said, as: UTF8.self).split(separator: "\n").suffix(5)
        let tail = lines.isEmpty ? "" : ": " + lines.joined(separator: " / ")
        return .failed(reason: "\(status)\(tail)")
    }
}
