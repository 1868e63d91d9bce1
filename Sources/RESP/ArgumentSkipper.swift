// Discards the rest of a command whose argument is over the limit, holding no more of it than one
// read brought. Knows nothing of the command but the lengths.

/// An argument that a client announced and that was too large to be kept.
package struct OversizedArgument: Sendable, Equatable {
    /// The argument's index in the command; 0 would be the name.
    package let index: Int

    /// Its length in bytes.
    package let byteCount: Int

    /// The limit that it exceeds, in bytes.
    package let limit: Int

    /// Describes such an argument.
    package init(index: Int, byteCount: Int, limit: Int) {
        self.index = index
        self.byteCount = byteCount
        self.limit = limit
    }
}

/// Reads to the end of a command and discards all of it.
struct ArgumentSkipper: Sendable {
    private let oversized: OversizedArgument
    private let skippedByteCountMax: Int
    private var remainingArguments: Int
    /// The announced length of the current argument.
    private var byteCount: Int
    /// The part of it that is still to be discarded, or -1 if a header comes next.
    private var bodyCount: Int
    private var announcedCount: Int

    /// Begins behind the header of the oversized argument.
    ///
    /// - Parameter remainingArguments: the arguments to come, the oversized one included.
    init(oversized: OversizedArgument, remainingArguments: Int, skippedByteCountMax: Int) {
        self.oversized = oversized
        self.skippedByteCountMax = skippedByteCountMax
        self.remainingArguments = remainingArguments
        byteCount = oversized.byteCount
        bodyCount = oversized.byteCount
        announcedCount = oversized.byteCount
    }

    /// Discards the bytes in the buffer.
    ///
    /// - Returns: the oversized argument, once the command is over.
    mutating func advance(
        _ buffer: inout InputBuffer
    ) throws(ProtocolError) -> OversizedArgument? {
        while remainingArguments > 0 {
            if bodyCount < 0 {
                guard try readHeader(&buffer) else { return nil }
            }
            let dropped = min(bodyCount, buffer.pendingCount)
            buffer.consume(dropped)
            bodyCount -= dropped
            guard bodyCount == 0, try readLineEnd(&buffer) else { return nil }
            bodyCount = -1
            remainingArguments -= 1
        }
        return oversized
    }

    private mutating func readHeader(_ buffer: inout InputBuffer) throws(ProtocolError) -> Bool {
        guard buffer.pendingCount > 0 else { return false }
        let marker = buffer.bytes[buffer.start]
        guard marker == ASCII.dollar else {
            throw .unexpectedByte(expected: ASCII.dollar, found: marker)
        }
        let header = try LengthHeader.read(buffer.bytes.span, at: buffer.start, .bulk)
        guard let header else { return false }
        announcedCount += header.length
        guard announcedCount <= skippedByteCountMax else {
            throw .commandTooLarge(byteCount: announcedCount, limit: skippedByteCountMax)
        }
        byteCount = header.length
        bodyCount = header.length
        buffer.consume(header.end - buffer.start)
        return true
    }

    private func readLineEnd(_ buffer: inout InputBuffer) throws(ProtocolError) -> Bool {
        guard buffer.pendingCount >= 2 else { return false }
        let start = buffer.start
        guard buffer.bytes[start] == ASCII.carriageReturn,
            buffer.bytes[start + 1] == ASCII.lineFeed
        else { throw .unterminatedBulk(byteCount: byteCount) }
        buffer.consume(2)
        return true
    }
}
