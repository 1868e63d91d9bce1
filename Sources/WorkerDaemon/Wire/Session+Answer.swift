// The client's part in a session: its standing, and an answer before it is bytes on the wire, with
// the memory that it takes until it is sent.

internal import Jobs
internal import RESP

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
