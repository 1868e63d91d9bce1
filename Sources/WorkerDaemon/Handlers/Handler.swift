// The code that runs a job: a Swift closure, synchronous or not, a program, or a worker in another
// process. Called on a worker thread.

internal import Jobs
internal import Kernel
internal import RunLoops
internal import Synchronization
internal import WorkerThreads

/// A handler's result: any type that converts to bytes.
public protocol HandlerResult: Sendable {
    /// The bytes sent to the client.
    var resultBytes: [UInt8] { get }
}

extension [UInt8]: HandlerResult {
    /// The bytes themselves.
    public var resultBytes: [UInt8] { self }
}

extension String: HandlerResult {
    /// The text in UTF-8.
    public var resultBytes: [UInt8] { Array(utf8) }
}

/// The error of a handler that tells the client no more than its message.
public struct JobFailure: Error, Equatable, Sendable, CustomStringConvertible {
    /// The reason, for the client.
    public let message: String

    /// A failure with this message.
    public init(_ message: String) { self.message = message }

    /// The message.
    public var description: String { message }
}

/// The code behind a selector.
final class Handler: Sendable {
    /// The kind of code behind a selector.
    enum Kind: Sendable {
        /// Blocks its thread until it returns; a cancel is a flag that it may look at.
        case closure(@Sendable (JobContext) throws -> [UInt8])
        /// Served in mode `job`; a cancel cancels its task.
        case task(@Sendable (JobContext) async throws -> [UInt8])
        /// A child process, served in mode `job`.
        indirect case program(Configuration.Selector)
        /// A worker in another process, waited for in mode `job`; a cancel asks it to stop.
        indirect case worker(Configuration.Selector)
    }

    let kind: Kind
    /// The time limit of a job by default; nil for none.
    let timeout: Duration?
    /// The options of its jobs by default.
    let defaults: SharedJobOptions

    /// - Parameter retries: the retries of a closure; those of a program are in its configuration.
    init(_ kind: Kind, _ retries: Retries = .none) {
        self.kind = kind
        // Stored, because each job reads them: the selector is large to copy.
        switch kind {
        case .program(let selector):
            timeout = selector.timeout
            defaults = selector.defaults
        case .worker(let selector):
            timeout = selector.timeout
            defaults = selector.defaults
        case .closure, .task:
            timeout = nil
            defaults = SharedJobOptions(retries.options)
        }
    }

    /// The time limit of a job.
    func timeout(of options: SharedJobOptions) -> Duration? {
        options.timeoutMilliseconds.map { .milliseconds($0) } ?? timeout
    }

    /// Runs a job to its end.
    ///
    /// - Thread: a worker thread.
    /// - Blocks: until the job has ended; the thread serves its loop in mode `job` meanwhile,
    ///   except for a closure.
    func run(_ job: JobContext, children: ChildRegistry, log: Log) -> Outcome {
        switch kind {
        case .closure(let body):
            do {
                return .done(try body(job))
            } catch {
                return Self.outcome(of: error, job)
            }
        case .task(let body): return runTask(job, body)
        case .program(let program):
            return ProgramStart.run(program, job: job, children: children, log: log)
        case .worker: fatalError("a worker's job runs as a RemoteJob")
        }
    }

    /// Whether it may go on although its job was asked to end; false for a program, which is
    /// killed.
    var mayNotListen: Bool { if case .program = kind { false } else { true } }

    /// Whether workers in other processes serve it.
    var isForWorkers: Bool { if case .worker = kind { true } else { false } }

    /// The selector's configuration if workers in other processes serve it.
    var forWorkers: Configuration.Selector? {
        if case .worker(let selector) = kind { selector } else { nil }
    }

    private func runTask(
        _ job: JobContext, _ body: @escaping @Sendable (JobContext) async throws -> [UInt8]
    ) -> Outcome {
        guard let worker = WorkerCore.current else { fatalError("not on a worker thread") }
        let loop = worker.loop
        let result = Mutex<Outcome?>(nil)
        let box = OutcomeBox(result)
        let task = Task(executorPreference: worker.executor) {
            do {
                box.set(.done(try await body(job)))
            } catch {
                box.set(Self.outcome(of: error, job))
            }
            loop.perform(inModes: [.job]) { loop.stop() }
        }
        job.onCancel { task.cancel() }
        let limit = job.run?.deadline ?? .distantFuture
        let timer = ThreadRunLoop.Timer(at: limit) { _ in task.cancel() }
        if limit != .distantFuture { loop.add(timer, to: .job) }
        worker.serveJob { box.value != nil }
        timer.invalidate()
        return box.value ?? .failed(reason: "the task ended without a result")
    }

    /// The outcome of a job whose handler has thrown an error.
    static func outcome(of error: any Error, _ job: JobContext) -> Outcome {
        if error is CancellationError {
            if job.isCancelRequested { return .cancelled }
            if job.isOverTime { return .timedOut }
        }
        return .failed(reason: String("\(error)".unicodeScalars.prefix(reasonScalarCountMax)))
    }

    /// The kept length of an error's text: it is sent in one line, which clients limit.
    static let reasonScalarCountMax = 2_048
}

extension Handler: CustomStringConvertible {
    /// The kind of the handler, in words for people.
    var description: String {
        switch kind {
        case .closure, .task: "Swift"
        case .program(let selector):
            ([selector.program.executable] + selector.program.arguments.dropFirst())
                .joined(separator: " ")
        case .worker: "worker"
        }
    }
}

/// Carries an outcome from a task to the thread that waits for it.
private final class OutcomeBox: Sendable {
    private let outcome: Mutex<Outcome?>

    init(_ outcome: consuming sending Mutex<Outcome?>) { self.outcome = outcome }

    func set(_ value: Outcome) { outcome.withLock { $0 = value } }

    var value: Outcome? { outcome.withLock { $0 } }
}
