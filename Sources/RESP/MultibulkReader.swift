// Reads a command in the form of programs, an array of bulk strings, and remembers its progress.
// Looks at the buffer and never changes it; knows nothing of inline commands.

/// The progress of reading one array of bulk strings.
///
/// All offsets are relative to the asterisk, so they stay right when the buffer moves its bytes.
struct MultibulkReader: Sendable {
    /// The state of a command after the bytes that are there.
    enum Progress {
        /// More bytes are needed.
        case incomplete
        /// All arguments are there.
        case complete
        /// The last header announces more bytes than an argument may have.
        case oversized(byteCount: Int)
    }

    /// The bytes that were read, up to the last complete header or argument.
    private(set) var parsedCount = 0
    /// Arguments still to come; 0 before the first header.
    private(set) var remainingArguments = 0
    /// The number of complete arguments.
    private(set) var argumentCount = 0
    /// The length of the argument announced last, or -1 if a header comes next.
    private var bodyCount = -1
    private var commandByteCount = 0

    /// The bytes from the asterisk to the end of the announced argument; 0 if there is none.
    var announcedCount: Int { bodyCount < 0 ? 0 : parsedCount + bodyCount + 2 }

    /// Reads on.
    ///
    /// - Parameter buffer: its pending bytes begin with the asterisk.
    /// - Parameter slots: receives the places of the arguments; must be left alone between two
    ///   calls for the same command.
    mutating func read(
        _ buffer: borrowing InputBuffer, _ limits: CommandLimits,
        into slots: inout [ArgumentRanges.Slot]
    ) throws(ProtocolError) -> Progress {
        let bytes = buffer.bytes.span
        let base = buffer.start
        if parsedCount == 0 {
            guard let header = try LengthHeader.read(bytes, at: base, .multibulk)
            else { return .incomplete }
            guard header.length <= limits.argumentCountMax else {
                throw .lengthOverLimit(
                    .multibulk, length: header.length, limit: limits.argumentCountMax)
            }
            parsedCount = header.end - base
            remainingArguments = header.length
            // While the last command is still held, it keeps the array, and this is a new one.
            slots.fit(header.length)
        }
        // Asked for once, so that the array is checked for other owners once per call.
        var slots = slots.mutableSpan
        while remainingArguments > 0 {
            if bodyCount < 0 {
                let offset = base &+ parsedCount
                guard offset < bytes.count else { return .incomplete }
                guard bytes[offset] == ASCII.dollar else {
                    throw .unexpectedByte(expected: ASCII.dollar, found: bytes[offset])
                }
                guard let header = try LengthHeader.read(bytes, at: offset, .bulk)
                else { return .incomplete }
                parsedCount = header.end &- base
                if try isOversized(header.length, limits) {
                    return .oversized(byteCount: header.length)
                }
                bodyCount = header.length
            }
            guard try isBodyComplete(bytes, to: base &+ parsedCount &+ bodyCount)
            else { return .incomplete }
            slots[argumentCount] = ArgumentRanges.Slot(start: parsedCount, count: bodyCount)
            argumentCount &+= 1
            parsedCount = parsedCount &+ bodyCount &+ 2
            bodyCount = -1
            remainingArguments &-= 1
        }
        return .complete
    }

    /// Checks the announced length of an argument against the limits, before memory is reserved.
    ///
    /// - Returns: true if it is too large but may be skipped.
    @inline(__always)
    private mutating func isOversized(
        _ length: Int, _ limits: CommandLimits
    ) throws(ProtocolError) -> Bool {
        if argumentCount == 0 && length > limits.nameByteCountMax {
            throw .commandNameTooLong(length: length, limit: limits.nameByteCountMax)
        }
        if length > limits.argumentByteCountMax {
            guard length <= limits.skippedByteCountMax else {
                throw .lengthOverLimit(.bulk, length: length, limit: limits.argumentByteCountMax)
            }
            return true
        }
        commandByteCount &+= length
        guard commandByteCount <= limits.commandByteCountMax else {
            throw .commandTooLarge(byteCount: commandByteCount, limit: limits.commandByteCountMax)
        }
        return false
    }

    @inline(__always)
    private func isBodyComplete(_ bytes: Span<UInt8>, to end: Int) throws(ProtocolError) -> Bool {
        guard end < bytes.count else { return false }
        guard bytes[end] == ASCII.carriageReturn else {
            throw .unterminatedBulk(byteCount: bodyCount)
        }
        guard end &+ 1 < bytes.count else { return false }
        guard bytes[end &+ 1] == ASCII.lineFeed else {
            throw .unterminatedBulk(byteCount: bodyCount)
        }
        return true
    }
}
