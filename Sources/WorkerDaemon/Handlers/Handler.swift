// What runs a job: a Swift closure, synchronous or not, or a program. Called on a worker thread.

internal import Jobs
internal import Kernel
internal import RunLoops
internal import Synchronization
internal import WorkerThreads

/// What a handler gives back: anything that is bytes in the end.
public protocol HandlerResult: Sendable {
    /// The bytes that the client gets.
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

/// A handler that fails with this tells the client no more than the message.
public struct JobFailure: Error, Equatable, Sendable, CustomStringConvertible {
    /// What went wrong, for the client.
    public let message: String

    /// A failure with this message.
    public init(_ message: String) { self.message = message }

    /// The message.
    public var description: String { message }
}

/// The code behind a selector.
final class Handler: Sendable {
    /// What it is made of.
    enum Kind: Sendable {
        /// Blocks its thread until it is done; a cancel is a flag that it may look at.
        case closure(@Sendable (JobContext) throws -> [UInt8])
        /// Served in mode `job`; a cancel cancels its task.
        case task(@Sendable (JobContext) async throws -> [UInt8])
        /// A child process, served in mode `job`.
        case program(Configuration.Selector)
    }

    let kind: Kind
    /// How long a job may run unless its client says otherwise; nil for as long as it likes.
    let timeout: Duration?
    /// What its jobs say, where their clients do not.
    let defaults: SharedJobOptions
    /// Whether it may go on although its job is to end: a program is killed then.
    let mayNotListen: Bool

    /// - Parameter retries: what follows a failed attempt; of a program, its configuration says it.
    init(_ kind: Kind, _ retries: Retries = .none) {
        self.kind = kind
        // Asked for each job: not of the selector, which is large.
        switch kind {
        case .program(let selector):
            timeout = selector.timeout
            defaults = selector.defaults
            mayNotListen = false
        case .closure, .task:
            timeout = nil
            defaults = SharedJobOptions(retries.options)
            mayNotListen = true
        }
    }

    /// How long a job may run.
    func timeout(of options: SharedJobOptions) -> Duration? {
        options.timeoutMilliseconds.map { .milliseconds($0) } ?? timeout
    }

    /// Runs a job to its end.
    ///
    /// - Thread: a worker thread.
    /// - Blocks: until the job has ended; the thread serves its loop in mode `job` meanwhile, except
    ///   for a closure.
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
        }
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

    /// What an error thrown by a handler means for its job.
    static func outcome(of error: any Error, _ job: JobContext) -> Outcome {
        if error is CancellationError {
            if job.isCancelRequested { return .cancelled }
            if job.isOverTime { return .timedOut }
        }
        return .failed(reason: String("\(error)".unicodeScalars.prefix(reasonScalarCountMax)))
    }

    /// How much of an error's text is kept: it is sent in one line, which clients limit.
    private static let reasonScalarCountMax = 2_048
}

extension Handler: CustomStringConvertible {
    /// What handles a selector, for people.
    var description: String {
        switch kind {
        case .closure, .task: "Swift"
        case .program(let selector):
            ([selector.program.executable] + selector.program.arguments.dropFirst())
                .joined(separator: " ")
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
