// Jobs in the usual way of Redis: a list of jobs, a worker that blocks on it, and a list of results
// for each client. The rival's part in the scenario `jobs`.

internal import Kernel
internal import RESP

private enum ListQueue {
    static let jobs = "jobs"

    static func results(of client: Int) -> String { "results-\(client)" }

    static func write(_ words: CommandArgument..., to output: inout [UInt8]) {
        CommandWriter.write(words, to: &output)
    }
}

/// A worker that echoes: pops a job, pushes its payload to the results of its client.
enum ListWorker {
    /// Starts the worker on a thread of its own; it ends when the server does.
    static func start(at address: SocketAddress) throws {
        let socket = try address.connect(timeoutMilliseconds: 5_000)
        _ = try SystemThread(name: "list-worker") { [socket = Box(socket)] in
            // Its end is the server's; a fault shows as a client that gets no result.
            try? serve(socket.descriptor)
        }
    }

    private final class Box: Sendable {
        let descriptor: Descriptor

        init(_ descriptor: consuming Descriptor) { self.descriptor = descriptor }
    }

    /// One job at a time: the next is asked for with the result of the one before, in one write.
    private static func serve(_ socket: borrowing Descriptor) throws {
        var parser = ReplyParser()
        var output: [UInt8] = []
        ListQueue.write("BRPOP", .text(ListQueue.jobs), 0, to: &output)
        while true {
            try socket.write(everything: output)
            output.removeAll(keepingCapacity: true)
            while output.isEmpty {
                try socket.read(into: &parser)
                while let reply = try parser.next() {
                    // An integer is the answer to the push of a result.
                    guard let job = reply.elements?.last?.bytes, job.count > LoadPayload.byteCount
                    else { continue }
                    let client = String(
                        decoding: job.dropFirst(LoadPayload.byteCount), as: UTF8.self)
                    ListQueue.write(
                        "LPUSH", .text(client), .bytes(Array(job.prefix(LoadPayload.byteCount))),
                        to: &output)
                    ListQueue.write("BRPOP", .text(ListQueue.jobs), 0, to: &output)
                }
            }
        }
    }
}

/// A client that pushes jobs and pops results.
///
/// With several jobs outstanding it has a second connection for the pops: a waiting pop would hold
/// back the push behind it.
final class ListClient: JobClient {
    private let number: Int
    private let pushing: Descriptor
    private let popping: Descriptor?
    private var pushParser = ReplyParser()
    private var popParser = ReplyParser()
    private var pushes: [UInt8] = []
    private var pops: [UInt8] = []
    /// The times when the outstanding jobs were pushed, in a ring.
    private var sentAt: [Int64]
    private var sentCount = 0
    private var acknowledgedCount = 0
    private(set) var latencies: [Int64] = []
    private(set) var hash: UInt64 = 0

    init(_ number: Int, to address: SocketAddress, outstanding: Int) throws {
        self.number = number
        pushing = try address.connect(timeoutMilliseconds: 5_000)
        popping = outstanding > 1 ? try address.connect(timeoutMilliseconds: 5_000) : nil
        sentAt = [Int64](repeating: 0, count: outstanding)
    }

    func run(_ count: Int) throws {
        let last = sentCount + count
        latencies.reserveCapacity(latencies.count + count)
        var receivedCount = sentCount
        queueJobs(min(sentAt.count, count))
        while receivedCount < last {
            if !pushes.isEmpty {
                if popping == nil { pushes += pops }
                try pushing.write(everything: pushes)
                try popping?.write(everything: pops)
                pushes.removeAll(keepingCapacity: true)
                pops.removeAll(keepingCapacity: true)
            }
            try read()
            let now = nanoseconds()
            let received = try takeResults(after: receivedCount, at: now)
            receivedCount += received
            try takeAcknowledgements(upTo: receivedCount)
            queueJobs(min(received, last - sentCount))
        }
    }

    private func read() throws {
        if popping == nil { return try pushing.read(into: &popParser) }
        try popping?.read(into: &popParser)
    }

    private func queueJobs(_ count: Int) {
        guard count > 0 else { return }
        let now = nanoseconds()
        let results = ListQueue.results(of: number)
        for _ in 0..<count {
            let job = LoadPayload.of(client: number, sentCount) + Array(results.utf8)
            ListQueue.write("LPUSH", .text(ListQueue.jobs), .bytes(job), to: &pushes)
            ListQueue.write("BRPOP", .text(results), 0, to: &pops)
            sentAt[sentCount % sentAt.count] = now
            sentCount += 1
        }
    }

    private func takeResults(after first: Int, at now: Int64) throws -> Int {
        var count = 0
        while let reply = try popParser.next() {
            if popping == nil, case .integer = reply {
                acknowledgedCount += 1
                continue
            }
            let index = first + count
            guard let bytes = reply.elements?.last?.bytes,
                bytes == LoadPayload.of(client: number, index)
            else { throw WorkbenchError("job \(index) of client \(number) got \(reply)") }
            hash = LoadPayload.hash(hash, bytes)
            latencies.append(now - sentAt[index % sentAt.count])
            count += 1
        }
        return count
    }

    /// A job with a result was acknowledged before: this waits for nothing.
    private func takeAcknowledgements(upTo count: Int) throws {
        while acknowledgedCount < count {
            guard let reply = try pushParser.next() else {
                try pushing.read(into: &pushParser)
                continue
            }
            guard case .integer = reply else {
                throw WorkbenchError("job \(acknowledgedCount) was not taken: \(reply)")
            }
            acknowledgedCount += 1
        }
    }
}
