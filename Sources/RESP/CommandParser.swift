// From the bytes of a client to commands: the server's half of reading. Owns the input buffer;
// knows neither sockets nor the meaning of a command.

/// A request of a client.
package enum Request: Sendable {
    /// A complete command within the limits.
    case command(Command)

    /// A command with an oversized argument, which was discarded as it arrived.
    ///
    /// The connection is intact: answer with an error, in its turn, and go on.
    case tooLarge(OversizedArgument)
}

/// Reads commands from the bytes of one connection.
///
/// ```swift
/// parser.withUninitializedTail(atLeast: 16_384) { tail in ... read(2) into the tail ... }
/// while let request = try parser.next() { ... }
/// ```
///
/// Accepts what Redis accepts: arrays of bulk strings, and inline commands, a line of words as a
/// person types it. Empty lines and empty arrays are skipped, as in Redis. Each byte is parsed
/// once, however the bytes are cut into reads, and the buffer gets its final size as soon as a
/// large argument is announced.
///
/// - Thread: one at a time.
/// - Complexity: O(1) per byte over the life of the connection.
package struct CommandParser: ~Copyable, Sendable {
    /// The limits of the client, from the next header on.
    package var limits: CommandLimits

    private var buffer = InputBuffer()
    private var multibulk = MultibulkReader()
    /// The places of the arguments of the unfinished array; reused.
    private var slots: [ArgumentRanges.Slot] = []
    /// The bytes of an unfinished inline command that contain no line feed.
    private var searchedCount = 0
    private var skipper: ArgumentSkipper?
    private var failure: ProtocolError?

    /// The type of a record with a handshake of TLS (RFC 8446, 5.1).
    private static let tlsHandshake: UInt8 = 22

    /// Creates a parser that holds no memory yet.
    package init(limits: CommandLimits = CommandLimits()) {
        self.limits = limits
    }

    /// The memory that the parser holds, in bytes: the input buffer and the list of arguments.
    package var memoryByteCount: Int {
        buffer.capacity + slots.capacity * MemoryLayout<ArgumentRanges.Slot>.stride
    }

    /// How many bytes of the client wait for the rest of their command.
    package var pendingByteCount: Int { buffer.pendingCount }

    /// Whether a command has begun and isn't complete; if the client leaves now, it was cut off.
    package var isInsideCommand: Bool {
        buffer.pendingCount > 0 || skipper != nil
    }

    /// Lets `body` append bytes of the client in place, so that a read needs no buffer of its own.
    ///
    /// - Parameter minimum: the least room there is; often there is more, and when a large argument
    ///   was announced, enough for the rest of it.
    /// - Parameter body: initialises as many bytes of the tail as were read. If it throws, the
    ///   bytes that it had initialised count.
    package mutating func withUninitializedTail<Failure>(
        atLeast minimum: Int, _ body: (inout OutputSpan<UInt8>) throws(Failure) -> Void
    ) throws(Failure) {
        try buffer.withUninitializedTail(atLeast: minimum, missing: missingCount, body)
    }

    /// Takes the memory for the bytes to come from a buffer that the parsers of many connections
    /// share, if this one holds none.
    package mutating func takeMemory(_ spare: inout [UInt8]) { buffer.takeMemory(&spare) }

    /// Gives the memory back for the next parser, unless bytes wait for the rest of their command.
    ///
    /// - Complexity: O(1); in front of a command that is kept, its memory stays with the command.
    package mutating func giveMemory(_ spare: inout [UInt8]) { buffer.giveMemory(&spare) }

    /// Takes the next complete command out of the buffer.
    ///
    /// Call it until it returns nil, then read more. When it returns nil, it also gives back memory
    /// that a large request has left.
    ///
    /// - Returns: nil if more bytes are needed.
    /// - Throws: what was wrong, and the same on every later call. Reply with it, and close the
    ///   connection.
    package mutating func next() throws(ProtocolError) -> Request? {
        if let failure {
            buffer.removeAll()
            throw failure
        }
        do {
            if let request = try advance() { return request }
        } catch {
            failure = error
            buffer.removeAll()
            multibulk = MultibulkReader()
            skipper = nil
            slots = []
            throw error
        }
        buffer.releaseSurplus(missing: missingCount, retained: limits.retainedByteCountMax)
        return nil
    }

    /// The bytes that are known to come, up to the end of the announced argument.
    private var missingCount: Int { max(0, multibulk.announcedCount - buffer.pendingCount) }

    private mutating func advance() throws(ProtocolError) -> Request? {
        while true {
            if skipper != nil {
                guard let oversized = try finishSkipping() else { return nil }
                return .tooLarge(oversized)
            }
            guard buffer.pendingCount > 0 else { return nil }
            guard buffer.bytes[buffer.start] == ASCII.asterisk else {
                // It may go on without a line feed for long, and waits for an answer.
                if buffer.bytes[buffer.start] == Self.tlsHandshake { throw .tlsHandshake }
                guard let lineEnd = try findLineEnd() else { return nil }
                if let command = try takeLine(to: lineEnd) { return .command(command) }
                continue
            }
            switch try multibulk.read(buffer, limits, into: &slots) {
            case .incomplete: return nil
            case .complete:
                if let command = takeMultibulk() { return .command(command) }
            case .oversized(let byteCount): beginSkipping(byteCount)
            }
        }
    }

    /// Takes the complete array out of the buffer; nil if it is empty.
    private mutating func takeMultibulk() -> Command? {
        let base = buffer.start
        buffer.consume(multibulk.parsedCount)
        let count = multibulk.argumentCount
        multibulk = MultibulkReader()
        if count == 0 { return nil }
        let ranges = ArgumentRanges(slots, count: count)
        return Command(storage: buffer.bytes, base: base, ranges: ranges)
    }

    private mutating func beginSkipping(_ byteCount: Int) {
        let oversized = OversizedArgument(
            index: multibulk.argumentCount, byteCount: byteCount, limit: limits.argumentByteCountMax
        )
        skipper = ArgumentSkipper(
            oversized: oversized, remainingArguments: multibulk.remainingArguments,
            skippedByteCountMax: limits.skippedByteCountMax)
        buffer.consume(multibulk.parsedCount)
        multibulk = MultibulkReader()
    }

    private mutating func finishSkipping() throws(ProtocolError) -> OversizedArgument? {
        guard let oversized = try skipper?.advance(&buffer) else { return nil }
        skipper = nil
        return oversized
    }

    /// Looks for the line feed of an inline command, from the end of the last search.
    private mutating func findLineEnd() throws(ProtocolError) -> Int? {
        let limit = limits.inlineByteCountMax
        // The limit may have been lowered since the last search.
        let searched = min(searchedCount, limit)
        if let offset = buffer.firstOffset(of: ASCII.lineFeed, in: searched..<limit) {
            searchedCount = 0
            return buffer.start + offset
        }
        guard buffer.pendingCount < limit else { throw .inlineTooLong(limit: limit) }
        searchedCount = buffer.pendingCount
        return nil
    }

    /// Takes a line out of the buffer; nil if there are no words in it.
    private mutating func takeLine(to lineEnd: Int) throws(ProtocolError) -> Command? {
        let base = buffer.start
        let words = try InlineCommand.split(
            &buffer.bytes, from: base, to: lineEnd, countMax: limits.argumentCountMax)
        buffer.consume(lineEnd + 1 - base)
        if words.isEmpty { return nil }
        let ranges = ArgumentRanges(words, count: words.count)
        return Command(storage: buffer.bytes, base: base, ranges: ranges)
    }
}
