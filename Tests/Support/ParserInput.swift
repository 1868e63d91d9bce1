// Bytes for the parsers, in the way in which sockets fill them.

package import HTTP
package import RESP

/// A parser that a socket is read into.
package protocol ParserInput: ~Copyable {
    mutating func withUninitializedTail<Failure>(
        atLeast minimum: Int, _ body: (inout OutputSpan<UInt8>) throws(Failure) -> Void
    ) throws(Failure)
}

extension CommandParser: ParserInput {}
extension ReplyParser: ParserInput {}
extension RequestParser: ParserInput {}

extension ParserInput where Self: ~Copyable {
    /// Appends bytes as they come from a socket.
    package mutating func append(_ bytes: some Collection<UInt8>) {
        guard !bytes.isEmpty else { return }
        withUninitializedTail(atLeast: bytes.count) { tail in
            for byte in bytes { tail.append(byte) }
        }
    }
}
