// Which of the two versions of the protocol a connection speaks. Negotiating it (HELLO) is the
// session's affair.

/// A version of the Redis serialisation protocol.
///
/// A connection begins with version 2 and changes to 3 when its client asks for it with `HELLO 3`.
///
/// - Source: https://github.com/redis/redis-specifications, protocol/RESP3.md
package enum ProtocolVersion: Int, Sendable, CaseIterable {
    /// Strings, errors, integers, arrays and nothing else.
    case two = 2

    /// Adds null, booleans, doubles, big numbers, verbatim strings, maps, sets and pushes.
    case three = 3
}
