// How much memory an answer takes while it is held.

internal import RESP

extension RESPValue {
    /// How many bytes the value takes in memory, about: a list takes more than it has on the wire.
    var heldByteCount: Int {
        let stride = MemoryLayout<RESPValue>.stride
        switch self {
        case .bulk(let bytes), .verbatim(_, let bytes): return bytes.count
        case .simpleString(let text), .error(let text), .bigNumber(let text): return text.utf8.count
        case .array(let elements), .set(let elements), .push(let elements):
            return elements.reduce(0) { $0 + stride + $1.heldByteCount }
        case .map(let entries):
            return entries.reduce(0) {
                $0 + 2 * stride + $1.key.heldByteCount + $1.value.heldByteCount
            }
        case .integer, .null, .boolean, .double: return 0
        }
    }
}
