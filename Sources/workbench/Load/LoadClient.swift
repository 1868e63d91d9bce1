// A client that does nothing but send commands and check replies: one thread, one blocking socket,
// so many commands outstanding. It speaks RESP to whatever serves it, so that our server and a rival
// get the same bytes from the same program.

internal import Kernel
internal import RESP

/// What a client sends: fixed words, then 16 bytes that come back.
struct LoadCommand: Sendable {
    private let start: [UInt8]

    static let payloadByteCount = 16

    init(_ words: String...) {
        var start: [UInt8] = []
        CommandWriter.writeHeader(argumentCount: words.count + 1, to: &start)
        for word in words { CommandWriter.writeArgument(word, to: &start) }
        self.start = start
    }

    func write(_ payload: [UInt8], to output: inout [UInt8]) {
        output.append(contentsOf: start)
        CommandWriter.writeArgument(payload, to: &output)
    }
}

/// One client and what it has measured.
struct LoadClient: ~Copyable {
    private let socket: Descriptor
    private let number: Int
    private let command: LoadCommand
    private var parser = ReplyParser()
    private var output: [UInt8] = []
    /// When each outstanding command was sent, in a ring.
    private var sentAt: [Int64]
    private var sentCount = 0
    /// From sending a command to reading its reply, in nanoseconds.
    private(set) var latencies: [Int64] = []
    /// Depends on every reply.
    private(set) var hash: UInt64 = 0

    private static let readByteCount = 64 << 10

    init(
        _ number: Int, to address: SocketAddress, command: LoadCommand, outstanding: Int
    ) throws {
        self.number = number
        self.command = command
        socket = try address.connect(timeoutMilliseconds: 5_000)
        sentAt = [Int64](repeating: 0, count: outstanding)
    }

    /// Sends so many commands, and reads and checks as many replies.
    mutating func run(_ count: Int) throws {
        let last = sentCount + count
        latencies.reserveCapacity(latencies.count + count)
        var receivedCount = sentCount
        queueCommands(min(sentAt.count, count))
        while receivedCount < last {
            if !output.isEmpty {
                try socket.write(everything: output)
                output.removeAll(keepingCapacity: true)
            }
            try read()
            let now = nanoseconds()
            let received = try takeReplies(after: receivedCount, at: now)
            receivedCount += received
            queueCommands(min(received, last - sentCount))
        }
    }

    private mutating func queueCommands(_ count: Int) {
        guard count > 0 else { return }
        let now = nanoseconds()
        for _ in 0..<count {
            command.write(payload(sentCount), to: &output)
            sentAt[sentCount % sentAt.count] = now
            sentCount += 1
        }
    }

    private mutating func read() throws {
        var result = ReadResult.wouldBlock
        try parser.withUninitializedTail(atLeast: Self.readByteCount) {
            (room: inout OutputSpan<UInt8>) throws(SystemError) in
            result = try socket.read(into: &room)
        }
        if result == .end { throw WorkbenchError("the server closed the connection") }
    }

    private mutating func takeReplies(after first: Int, at now: Int64) throws -> Int {
        var count = 0
        while let reply = try parser.next() {
            let index = first + count
            guard case .bulk(let bytes) = reply, bytes == payload(index) else {
                throw WorkbenchError("command \(index) of client \(number) got \(reply)")
            }
            for byte in bytes { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
            latencies.append(now - sentAt[index % sentAt.count])
            count += 1
        }
        return count
    }

    /// 16 hexadecimal digits that tell this command from every other.
    private func payload(_ index: Int) -> [UInt8] {
        var rest = UInt64(number) << 32 | UInt64(index)
        var digits = [UInt8](repeating: 0, count: LoadCommand.payloadByteCount)
        for place in digits.indices.reversed() {
            let digit = UInt8(rest & 15)
            digits[place] = digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") + digit - 10
            rest >>= 4
        }
        return digits
    }
}
