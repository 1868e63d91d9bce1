// The asynchronous client: how it comes to be, how a command goes out, how it ends. The commands by
// name are in AsyncWorkerClient+Jobs.swift and AsyncWorkerClient+Threads.swift.

internal import Kernel
internal import RESP
internal import RunLoops
public import WorkerThreads

/// A client of the daemon for tasks: any number of commands are under way at the same time.
///
/// ```swift
/// let client = try await AsyncWorkerClient.connect(to: .unix("/run/workerd/workerd.sock"))
/// async let small = client.performAndWait(onThread: "images", selector: "thumbnail", payload: a)
/// async let other = client.performAndWait(onThread: "images", selector: "thumbnail", payload: b)
/// let pictures = try await [small, other]
/// client.close()
/// ```
///
/// All commands share one connection, whose replies come in the order of the commands: a command
/// that waits for a job delays the replies behind it, though not the work. A program that waits
/// for long jobs and wants quick answers meanwhile makes two clients.
///
/// A task that is cancelled stops waiting and throws `CancellationError`; its command, once sent,
/// is carried out all the same. When the connection ends, every task that waits is told so, and the
/// client is over: make a new one. A command that was not sent by then, and each later one, is
/// `.notConnected`, unless it was `close()` that ended it.
public final class AsyncWorkerClient: Sendable {
    /// Where the daemon is.
    public let address: WorkerAddress
    /// Its limits.
    public let options: ClientOptions
    private let budget: Budget
    private let pipeline: PipelineHandle
    let pushes: PushBoard
    /// The thread that serves the connection, if it is this client's own.
    private let ownThread: WorkerThread?

    private init(
        _ address: WorkerAddress, _ options: ClientOptions, _ budget: Budget,
        _ pipeline: PipelineHandle, _ pushes: PushBoard, ownThread: WorkerThread?
    ) {
        self.address = address
        self.options = options
        self.budget = budget
        self.pipeline = pipeline
        self.pushes = pushes
        self.ownThread = ownThread
    }

    deinit {
        close()
    }

    /// Connects to a daemon.
    ///
    /// - Parameters:
    ///   - address: where it is.
    ///   - options: the client's limits.
    ///   - thread: serves the connection, and may serve other things; while it is at other things,
    ///     or paused, replies wait. Nil starts a thread for this client.
    /// - Throws: `WorkerClientError.notConnected`, or `.daemon` with NOAUTH or WRONGPASS;
    ///   `CancellationError`.
    /// - Thread: any task.
    /// - Blocks: no task; the serving thread while it connects, `options.connectTimeout` at most
    ///   for each of connecting and greeting.
    public static func connect(
        to address: WorkerAddress = .standard(), options: ClientOptions = ClientOptions(),
        on thread: WorkerThread? = nil
    ) async throws -> AsyncWorkerClient {
        try await connect(to: address, options: options, on: thread, pushes: PushBoard())
    }

    /// Connects to a daemon whose pushes go to `pushes`.
    static func connect(
        to address: WorkerAddress, options: ClientOptions, on thread: WorkerThread? = nil,
        pushes: PushBoard
    ) async throws -> AsyncWorkerClient {
        try Task.checkCancellation()
        let ownThread = try thread == nil ? startThread(address) : nil
        guard let worker = thread ?? ownThread else { fatalError("one of them is there") }
        let interruption = Interruption()
        let budget = Budget(options, address)
        let pipeline = try await withTaskCancellationHandler {
            do {
                return try await worker.submit {
                    let connection = try Connection.open(address, options, interruption)
                    return try Pipeline.start(connection.handOver(), budget, pushes)
                }
            } catch  where Task.isCancelled {
                throw CancellationError()
            } catch let error as SystemError {
                throw notConnected(address, error)
            } catch let error as SubmitError {
                throw WorkerClientError.notConnected(
                    address: address.description, reason: error.description,
                    advice: "give it a thread that runs and has room, or none for one of its own")
            }
        } onCancel: {
            interruption.interrupt()
        }
        return AsyncWorkerClient(
            address, options, budget, pipeline, pushes, ownThread: ownThread)
    }

    /// Ends the connection: every task that waits throws `.closed`, and so does every later
    /// command.
    ///
    /// - Thread: any thread.
    /// - Blocks: never.
    public func close() {
        budget.end(.closedHere)
        pipeline.close()
        pushes.finish(WorkerClientError.closedHere)
        ownThread?.stop()
    }

    /// How many commands are without a reply, those of cancelled tasks included.
    ///
    /// - Thread: any thread; out of date as soon as it is known.
    public var outstandingCount: Int { budget.outstandingCount }

    /// Why the client is over; nil while it is not.
    ///
    /// - Thread: any thread.
    public var endReason: WorkerClientError? { budget.endReason }

    /// Whether the client is over because the daemon ended the connection.
    var hasDaemonLeft: Bool { budget.hasDaemonLeft }

    /// Sends a command and returns what its reply means.
    func run<Value>(_ call: Call<Value>) async throws -> Value {
        try Task.checkCancellation()
        let pending = PendingReply()
        let reply = try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                if let early = pending.wait({ continuation.resume(with: $0) }) {
                    // The command need not be sent.
                    return continuation.resume(with: early)
                }
                do throws(WorkerClientError) {
                    try send(call.encoded, pending)
                } catch {
                    pending.answer(.failure(error))
                }
            }
        } onCancel: {
            pending.answer(.failure(CancellationError()))
        }
        return try call.value(of: reply)
    }

    /// Sends a command, whose reply can be waited for later.
    func send<Value>(
        _ call: Call<Value>, within limits: Budget.Limits = .applied
    ) throws(WorkerClientError) -> PendingReply {
        let pending = PendingReply()
        try send(call.encoded, pending, within: limits)
        return pending
    }

    private func send(
        _ chunks: [[UInt8]], _ pending: PendingReply, within limits: Budget.Limits = .applied
    ) throws(WorkerClientError) {
        let byteCount = chunks.reduce(0) { $0 + $1.count }
        try budget.take(byteCount: byteCount, within: limits)
        // If the buffer refuses, it lets go of the place, and that is an answer.
        let place = ReplyPlace(pending, budget, byteCount: byteCount)
        if pipeline.buffer.add(PipelinedCommand(chunks: chunks, place: place)) {
            pipeline.buffer.fire()
        }
    }

    private static func startThread(_ address: WorkerAddress) throws -> WorkerThread {
        do throws(SystemError) {
            return try WorkerThread(name: "workerd-client")
        } catch {
            throw notConnected(address, error)
        }
    }

    private static func notConnected(
        _ address: WorkerAddress, _ error: SystemError
    ) -> WorkerClientError {
        .notConnected(
            address: address.description, reason: error.description,
            advice: "this process or machine is short of threads or descriptors")
    }
}
