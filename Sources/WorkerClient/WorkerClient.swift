// The blocking client: its connection, and how a command goes over it. The commands by name are in
// WorkerClient+Jobs.swift and WorkerClient+Threads.swift.

internal import Kernel
internal import RESP
internal import Synchronization

/// A client of the daemon that waits for each answer.
///
/// ```swift
/// let client = try WorkerClient(.unix("/run/workerd/workerd.sock"))
/// let id = try client.perform(onThread: "ledger", selector: "book", payload: Array("42".utf8))
/// let receipt = try client.result(of: id, wait: .forever)
/// ```
///
/// It may be shared between threads, which take turns: a command that waits for a job keeps the
/// others waiting. `AsyncWorkerClient` sends them without waiting.
///
/// When a connection breaks, the command under way throws; the next one connects anew. No command
/// is ever sent twice.
public final class WorkerClient: Sendable {
    /// Where the daemon is.
    public let address: WorkerAddress
    /// Its limits.
    public let options: ClientOptions
    private let connection: Mutex<Connection?>
    let interruption = Interruption()

    /// Connects to a daemon.
    ///
    /// - Throws: `.notConnected`, or `.daemon` with NOAUTH or WRONGPASS.
    /// - Thread: any thread.
    /// - Blocks: until the daemon has answered, `options.connectTimeout` at most for each of
    ///   connecting and greeting.
    public init(
        _ address: WorkerAddress = .standard(), options: ClientOptions = ClientOptions()
    ) throws(WorkerClientError) {
        self.address = address
        self.options = options
        connection = Mutex(try Connection.open(address, options, interruption))
    }

    /// Ends the connection; a command that another thread waits for throws `.closed`, and so does
    /// every later one.
    ///
    /// - Thread: any thread.
    /// - Blocks: until a command under way has noticed.
    public func close() {
        interruption.interrupt()
        connection.withLock { $0 = nil }
    }

    /// Whether `close()` was called.
    ///
    /// - Thread: any thread.
    public var isClosed: Bool { interruption.isOver }

    /// How many threads are asleep at this moment because they wait for the daemon.
    package var sleepingThreadCount: Int { interruption.sleeperCount }

    /// Sends a command and returns what its reply means.
    func run<Value>(_ call: Call<Value>) throws(WorkerClientError) -> Value {
        let reply = try connection.withLock {
            (connection: inout sending Connection?) throws(WorkerClientError) -> RESPValue in
            try exchange(call, &connection)
        }
        return try call.value(of: reply)
    }

    private func exchange<Value>(
        _ call: Call<Value>, _ connection: inout Connection?
    ) throws(WorkerClientError) -> RESPValue {
        try interruption.check()
        let (command, limit) = (call.encoded, replyLimit(of: call.wait))
        // Taken out meanwhile, so that a connection on which something failed is let go of.
        if var current = connection.take(),
            current.isStillUsable(lookingAfter: options.idleBeforeLook),
            let reply = try current.exchange(command, within: limit)
        {
            if !current.isGivenUp { connection = consume current }
            return reply
        }
        // The daemon has ended the one that there was, or there was none: it has not had all of the
        // command.
        var fresh = try Connection.open(address, options, interruption)
        guard let reply = try fresh.exchange(command, within: limit) else {
            throw Connection.hungUp(address)
        }
        if !fresh.isGivenUp { connection = consume fresh }
        return reply
    }

    /// How long a reply may take, with the time that the daemon was asked to wait.
    private func replyLimit(of wait: JobWait?) -> Duration? {
        switch wait {
        case nil: options.replyTimeout
        case .forever: nil
        case .atMost(let limit):
            // Each no longer than 64 bits hold, so the sum is a duration too.
            options.replyTimeout.map {
                .nanoseconds($0.nanosecondsClamped)
                    + .nanoseconds(max(0, limit.nanosecondsClamped))
            }
        }
    }
}
