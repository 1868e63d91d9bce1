// A client that does nothing but send commands and check replies: one thread, one blocking socket,
// several commands outstanding. It speaks RESP to any server, so that our server and a rival get
// the same bytes from the same program.

internal import Kernel
internal import RESP

/// The command of a client: fixed words, then 16 bytes that come back.
struct LoadCommand: Sendable {
    private static let failurePeriod = 100

    private let start: [UInt8]
    /// The words of the command that is sent in place of one of a hundred, and fails.
    private let failingStart: [UInt8]?

    init(_ words: String..., failing: [String]? = nil) {
        start = Self.start(words)
        failingStart = failing.map(Self.start)
    }

    private static func start(_ words: [String]) -> [UInt8] {
        var start: [UInt8] = []
        CommandWriter.writeHeader(argumentCount: words.count + 1, to: &start)
        for word in words { CommandWriter.writeArgument(word, to: &start) }
        return start
    }

    /// Whether the command of a client fails.
    func fails(_ index: Int) -> Bool {
        failingStart != nil && index % Self.failurePeriod == Self.failurePeriod - 1
    }

    func write(_ index: Int, _ payload: [UInt8], to output: inout [UInt8]) {
        output.append(contentsOf: (fails(index) ? failingStart : nil) ?? start)
        CommandWriter.writeArgument(payload, to: &output)
    }
}

/// One client and its measurements; confined to its thread.
protocol JobClient: AnyObject {
    /// From sending a command to reading its reply, in nanoseconds.
    var latencies: [Int64] { get }
    /// Depends on every reply.
    var hash: UInt64 { get }

    /// Sends `count` commands, and reads and checks as many replies.
    func run(_ count: Int) throws
}

/// A client that sends one command and gets one reply to it.
final class LoadClient: JobClient {
    private let socket: Descriptor
    private let number: Int
    private let command: LoadCommand
    private var parser = ReplyParser()
    private var output: [UInt8] = []
    /// The times when the outstanding commands were sent, in a ring.
    private var sentAt: [Int64]
    private var sentCount = 0
    private(set) var latencies: [Int64] = []
    private(set) var hash: UInt64 = 0

    init(
        _ number: Int, to address: SocketAddress, command: LoadCommand, outstanding: Int
    ) throws {
        self.number = number
        self.command = command
        socket = try address.connect(timeoutMilliseconds: 5_000)
        sentAt = [Int64](repeating: 0, count: outstanding)
    }

    func run(_ count: Int) throws {
        let last = sentCount + count
        latencies.reserveCapacity(latencies.count + count)
        var receivedCount = sentCount
        queueCommands(min(sentAt.count, count))
        while receivedCount < last {
            if !output.isEmpty {
                try socket.write(everything: output)
                output.removeAll(keepingCapacity: true)
            }
            try socket.read(into: &parser)
            let now = nanoseconds()
            let received = try takeReplies(after: receivedCount, at: now)
            receivedCount += received
            queueCommands(min(received, last - sentCount))
        }
    }

    private func queueCommands(_ count: Int) {
        guard count > 0 else { return }
        let now = nanoseconds()
        for _ in 0..<count {
            command.write(sentCount, LoadPayload.of(client: number, sentCount), to: &output)
            sentAt[sentCount % sentAt.count] = now
            sentCount += 1
        }
    }

    private func takeReplies(after first: Int, at now: Int64) throws -> Int {
        var count = 0
        while let reply = try parser.next() {
            let index = first + count
            let payload = LoadPayload.of(client: number, index)
            let isRight =
                switch reply {
                case .bulk(let bytes): bytes == payload
                case .error: command.fails(index)
                default: false
                }
            guard isRight else {
                throw WorkbenchError("command \(index) of client \(number) got \(reply)")
            }
            hash = LoadPayload.hash(hash, payload)
            latencies.append(now - sentAt[index % sentAt.count])
            count += 1
        }
        return count
    }
}

/// The bytes that a command carries and its reply returns.
enum LoadPayload {
    static let byteCount = 16

    /// 16 hexadecimal digits that tell this command from every other.
    static func of(client: Int, _ index: Int) -> [UInt8] {
        var rest = UInt64(client) << 32 | UInt64(index)
        var digits = [UInt8](repeating: 0, count: byteCount)
        for place in digits.indices.reversed() {
            let digit = UInt8(rest & 15)
            digits[place] = digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") + digit - 10
            rest >>= 4
        }
        return digits
    }

    /// A hash that depends on every payload so far, in order.
    static func hash(_ hash: UInt64, _ payload: [UInt8]) -> UInt64 {
        payload.reduce(hash) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
    }
}

extension Descriptor {
    /// Reads once from a server into a parser; waits until there is something.
    borrowing func read(into parser: inout ReplyParser) throws {
        var result = ReadResult.wouldBlock
        try parser.withUninitializedTail(atLeast: 64 << 10) {
            (room: inout OutputSpan<UInt8>) throws(SystemError) in
            result = try read(into: &room)
        }
        if result == .end { throw WorkbenchError("the server closed the connection") }
    }
}
