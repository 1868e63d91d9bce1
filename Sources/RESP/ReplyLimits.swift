// The limits of a server's replies to a client. Each is checked against a header before memory is
// taken for the bytes that the header announces.

/// The largest reply that a parser accepts.
package struct ReplyLimits: Sendable, Equatable {
    /// Bytes of a line: a simple string, an error, a number.
    package let lineByteCountMax: Int

    /// Bytes of one bulk string.
    package let bulkByteCountMax: Int

    /// Bytes of all strings of one reply together.
    package let replyByteCountMax: Int

    /// Elements of one reply, over all its levels; an entry of a map counts two.
    package let elementCountMax: Int

    /// The deepest nesting of aggregates.
    package let depthMax: Int

    /// Bytes of memory that an input buffer keeps after a large reply.
    package let retainedByteCountMax: Int

    /// The largest `bulkByteCountMax`: sums with such numbers do not overflow.
    package static let bulkByteCountLimit = 1 << 40

    /// Creates limits.
    ///
    /// - Parameter replyByteCountMax: by default, twice `bulkByteCountMax`.
    package init(
        lineByteCountMax: Int = 64 << 10,
        bulkByteCountMax: Int = 64 << 20,
        replyByteCountMax: Int? = nil,
        elementCountMax: Int = 1 << 20,
        depthMax: Int = 32,
        retainedByteCountMax: Int = 128 << 10
    ) {
        precondition(lineByteCountMax > 0, "lineByteCountMax must be positive")
        precondition(
            0 < bulkByteCountMax && bulkByteCountMax <= Self.bulkByteCountLimit,
            "bulkByteCountMax must be 1 to 2^40, is \(bulkByteCountMax)")
        precondition(
            0 < elementCountMax && elementCountMax <= 1 << 40,
            "elementCountMax must be 1 to 2^40, is \(elementCountMax)")
        precondition(depthMax > 0, "depthMax must be positive")
        self.lineByteCountMax = lineByteCountMax
        self.bulkByteCountMax = bulkByteCountMax
        self.replyByteCountMax = replyByteCountMax ?? 2 * bulkByteCountMax
        self.elementCountMax = elementCountMax
        self.depthMax = depthMax
        self.retainedByteCountMax = retainedByteCountMax
    }
}
