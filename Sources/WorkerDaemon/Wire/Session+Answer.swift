// The client's part in a session: its standing, and an answer before it is bytes on the wire, with
// the memory that it takes until it is sent.

internal import Jobs
internal import Kernel
internal import RESP
internal import RunLoops

extension Session {
    /// Which commands are executed for a client.
    enum Standing {
        /// The client has not given the password: only HELLO, AUTH and such.
        case stranger
        /// All.
        case client
        /// The client is in a transaction: only the commands that end it.
        case inTransaction
    }

    /// Why a session executes nothing.
    struct Pauses: OptionSet {
        let rawValue: UInt8
        /// A guess of the password waits for its turn.
        static let gate = Pauses(rawValue: 1)
        /// A command waits for a node that can execute it.
        static let held = Pauses(rawValue: 2)
        /// Another node reads no more of the commands that this session sends it.
        static let links = Pauses(rawValue: 4)
        /// A command for all threads is not answered yet.
        static let allNodes = Pauses(rawValue: 8)
    }

    /// An answer on its way to the client.
    enum Answer {
        case value(RESPValue)
        /// A whole reply as it goes over the wire; in HTTP the body of a response.
        case encoded([UInt8])
        /// The rows of a listing as they go over the wire, and the number of the last job.
        case rows([UInt8], count: Int, last: JobID?)

        /// The memory of an unsent answer: of a result its bytes, of a list more than on the wire.
        var memoryByteCount: Int {
            switch self {
            case .value(let value): value.memoryByteCount
            case .encoded(let bytes), .rows(let bytes, _, _): bytes.count
            }
        }
    }

    /// Executes nothing more for the client until it has ended its transaction.
    func beginTransaction() {
        standing = .inTransaction
        queuedCount = 0
    }

    /// Counts a command of a transaction, which is not kept.
    func countQueued() { queuedCount += 1 }

    /// - Returns: whether the client was in one.
    func endTransaction() -> Bool {
        defer { if standing == .inTransaction { standing = .client } }
        return standing == .inTransaction
    }

    /// The version of the protocol that the client speaks.
    var version: ProtocolVersion { replyVersions.latest }

    /// Appends a value to the output.
    func write(_ value: RESPValue, by writer: ReplyWriter) {
        if case .bulk(let bytes) = value, bytes.count >= OutputQueue.wholeByteCountMin {
            writer.writeBulkHeader(byteCount: bytes.count, to: &output.tail)
            output.appendWhole(bytes)
            writer.writeBulkTrailer(to: &output.tail)
        } else {
            writer.write(value, to: &output.tail)
        }
    }

    /// Appends a row of a listing, as it goes over the wire.
    func append(row: RESPValue, of slot: ReplyToken, to rows: inout [UInt8]) {
        guard conversation != nil else {
            return replyVersions.writer(of: outerNumber(of: slot)).write(row, to: &rows)
        }
        if !rows.isEmpty { rows.append(UInt8(ascii: ",")) }
        JSONText.append(row, to: &rows)
    }

    /// How many seconds ago the client sent something.
    var idleSeconds: Int64 { lastArrival.duration(to: loop.now).components.seconds }

    /// Whether the client has many bytes of answers to read.
    var hasUnread: Bool { toldByteCount > 0 }

    /// Whether limits that all clients share throttle this one.
    ///
    /// Not inlined: each command asks whether its client is throttled, and mostly these limits are
    /// not reached.
    @inline(never) var isThrottledByOthers: Bool {
        hasUnread && delegate.hasNoRoom
            || outputRound.throttlesClients && pendingReplyCount > 0 && !hasHungUp
    }

    /// The protocol of the connection.
    var dialect: Dialect { conversation == nil ? .commands : .requests }

    /// Whether it is still connected.
    var isOpen: Bool { socket != nil }

    /// Gives the answer of a reserved place.
    func fill(_ slot: ReplyToken, with value: RESPValue) { fill(slot, .value(value)) }

    /// Gives the answer of a reserved place as the bytes of a whole reply.
    func fill(_ slot: ReplyToken, encoded bytes: [UInt8]) { fill(slot, .encoded(bytes)) }
}

extension RESPValue {
    /// How many bytes the value takes in memory, about: a list takes more than it has on the wire.
    var memoryByteCount: Int {
        let stride = MemoryLayout<RESPValue>.stride
        switch self {
        case .bulk(let bytes), .verbatim(_, let bytes): return bytes.count
        case .simpleString(let text), .error(let text), .bigNumber(let text): return text.utf8.count
        case .array(let elements), .set(let elements), .push(let elements):
            return elements.reduce(0) { $0 + stride + $1.memoryByteCount }
        case .map(let entries):
            return entries.reduce(0) {
                $0 + 2 * stride + $1.key.memoryByteCount + $1.value.memoryByteCount
            }
        case .integer, .null, .boolean, .double: return 0
        }
    }
}
