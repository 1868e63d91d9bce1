// The client of all servers that store jobs: one thread, several connections, several jobs
// outstanding on each. It sends the next jobs as answers come.

internal import Kernel

/// One connection, and the times when its outstanding jobs were sent.
private final class StoreConnection {
    let socket: Descriptor
    private var dialect: any StoreDialect
    private var replies = ReplyBytes()
    private var output: [UInt8] = []
    private var sentAt: [Int64]
    private var sentCount = 0
    private var acceptedCount = 0

    init(
        to address: SocketAddress, _ dialect: any StoreDialect, outstanding: Int
    ) throws {
        self.dialect = dialect
        sentAt = [Int64](repeating: 0, count: outstanding)
        socket = try address.connect(timeoutMilliseconds: 5_000)
        try socket.write(everything: dialect.greeting)
        repeat { try read() } while try !self.dialect.takeGreeting(&replies)
    }

    func send(_ count: Int) throws {
        guard count > 0 else { return }
        output.removeAll(keepingCapacity: true)
        dialect.write(count, to: &output)
        let now = nanoseconds()
        for _ in 0..<count {
            sentAt[sentCount % sentAt.count] = now
            sentCount += 1
        }
        try socket.write(everything: output)
    }

    /// Reads once, and appends the latency of each accepted job.
    ///
    /// - Returns: their number.
    func take(_ latencies: inout [Int64]) throws -> Int {
        try read()
        let now = nanoseconds()
        let count = try dialect.takeAccepted(&replies)
        for _ in 0..<count {
            latencies.append(now - sentAt[acceptedCount % sentAt.count])
            acceptedCount += 1
        }
        guard acceptedCount <= sentCount else {
            throw WorkbenchError("\(acceptedCount) answers to \(sentCount) jobs")
        }
        return count
    }

    private func read() throws {
        var result = ReadResult.wouldBlock
        try replies.fill { result = try socket.read(appendingTo: &$0, atMost: 64 << 10) }
        if result == .end { throw WorkbenchError("the server closed the connection") }
    }
}

/// Connections to one server that submit jobs; confined to its thread.
final class StoreLoad {
    private var connections: [StoreConnection] = []
    private let poller = SystemPoller()
    private let set: any PollSet
    private let outstanding: Int
    /// The times from sending a job to the answer that it is on the disk.
    private(set) var latencies: [Int64] = []

    init(
        _ server: StoringServer, _ dialect: (any StoreDialect)? = nil, clientCount: Int,
        outstanding: Int
    ) throws {
        self.outstanding = outstanding
        set = try poller.makeSet()
        for number in 0..<clientCount {
            let connection = try StoreConnection(
                to: server.address, dialect ?? server.store.dialect(), outstanding: outstanding)
            connections.append(connection)
            // A single connection just reads, and waits in that.
            guard clientCount > 1 else { break }
            try connection.socket.setNonBlocking(true)
            try set.add(connection.socket.number, for: .readable, token: UInt64(number))
        }
    }

    /// Submits `count` jobs, and waits until all are accepted.
    func run(_ count: Int) throws {
        latencies.removeAll(keepingCapacity: true)
        latencies.reserveCapacity(count)
        var left = count
        for connection in connections {
            try send(&left, by: connection, atMost: outstanding)
        }
        var ready: [ReadyEvent] = []
        while latencies.count < count {
            guard connections.count > 1 else {
                try serve(connections[0], &left)
                continue
            }
            ready.removeAll(keepingCapacity: true)
            poller.wait(on: set, until: .distantFuture, ready: &ready)
            for event in ready { try serve(connections[Int(event.token)], &left) }
        }
    }

    private func serve(_ connection: StoreConnection, _ left: inout Int) throws {
        let count = try connection.take(&latencies)
        try send(&left, by: connection, atMost: count)
    }

    private func send(
        _ left: inout Int, by connection: StoreConnection, atMost most: Int
    ) throws {
        let count = min(most, left)
        try connection.send(count)
        left -= count
    }
}
