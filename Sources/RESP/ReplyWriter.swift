// From replies to bytes, in the version that the connection speaks: the server's half of writing.
// Appends to an array that the caller owns; knows nothing of when and where it is sent.

/// Appends replies to a byte array.
///
/// Types that version 2 lacks are written as Redis writes them there: a null as `$-1`, a boolean as
/// 1 or 0, a double, a big number and a verbatim string as a bulk string, a set and a push as an
/// array, a map as an array of twice the length. So a command writes its reply once.
///
/// An aggregate is written as a header and then its elements, one by one; they are not counted
/// here.
package struct ReplyWriter: Sendable {
    /// The version that the connection speaks; `HELLO` changes it.
    package var version: ProtocolVersion

    /// Creates a writer.
    package init(version: ProtocolVersion = .two) {
        self.version = version
    }

    // MARK: Lines

    /// Appends a short text of one line, such as `OK`; CR and LF in it become spaces.
    package func writeSimpleString(_ text: String, to output: inout [UInt8]) {
        output.append(UInt8(ascii: "+"))
        appendLine(text, to: &output)
    }

    /// Appends an error: a word that a program can match, and a message for people.
    ///
    /// CR and LF become spaces, so that nothing in a message can pass for another reply.
    package func writeError(_ word: String, _ message: String, to output: inout [UInt8]) {
        output.append(ASCII.minus)
        let start = output.count
        output.append(contentsOf: word.utf8)
        if !message.isEmpty {
            output.append(ASCII.space)
            output.append(contentsOf: message.utf8)
        }
        finishLine(from: start, &output)
    }

    /// Appends an integer.
    package func writeInteger(_ value: Int, to output: inout [UInt8]) {
        DecimalInteger.appendLine(ASCII.colon, value, to: &output)
    }

    /// Appends a null.
    package func writeNull(to output: inout [UInt8]) {
        output.append(contentsOf: version == .three ? "_\r\n".utf8 : "$-1\r\n".utf8)
    }

    /// Appends true or false.
    package func writeBoolean(_ value: Bool, to output: inout [UInt8]) {
        switch version {
        case .two: writeInteger(value ? 1 : 0, to: &output)
        case .three: output.append(contentsOf: value ? "#t\r\n".utf8 : "#f\r\n".utf8)
        }
    }

    /// Appends a floating-point number, in the fewest digits that read back as the same.
    package func writeDouble(_ value: Double, to output: inout [UInt8]) {
        // Version 1.4 of the specification allows one spelling of NaN.
        let text = value.isNaN ? "nan" : value.description
        writeNumeral(text, marker: UInt8(ascii: ","), to: &output)
    }

    /// Appends an integer of any size.
    ///
    /// - Parameter digits: decimal digits, with a minus in front if it is negative.
    package func writeBigNumber(_ digits: String, to output: inout [UInt8]) {
        writeNumeral(digits, marker: UInt8(ascii: "("), to: &output)
    }

    private func writeNumeral(_ text: String, marker: UInt8, to output: inout [UInt8]) {
        guard version == .three else { return writeBulk(text, to: &output) }
        output.append(marker)
        appendLine(text, to: &output)
    }

    private func appendLine(_ text: String, to output: inout [UInt8]) {
        let start = output.count
        output.append(contentsOf: text.utf8)
        finishLine(from: start, &output)
    }

    private func finishLine(from start: Int, _ output: inout [UInt8]) {
        var line = output.mutableSpan
        for index in start..<line.count
        where line[index] == ASCII.carriageReturn || line[index] == ASCII.lineFeed {
            line[index] = ASCII.space
        }
        appendLineEnd(to: &output)
    }
}

// MARK: Bulk strings

extension ReplyWriter {
    /// Appends bytes.
    package func writeBulk(_ bytes: [UInt8], to output: inout [UInt8]) {
        writeBulkHeader(byteCount: bytes.count, to: &output)
        output.append(contentsOf: bytes)
        writeBulkTrailer(to: &output)
    }

    /// Appends a text as UTF-8.
    ///
    /// A literal is neither copied nor allocated, so there is no special form for it.
    package func writeBulk(_ text: String, to output: inout [UInt8]) {
        writeBulkHeader(byteCount: text.utf8.count, to: &output)
        output.append(contentsOf: text.utf8)
        writeBulkTrailer(to: &output)
    }

    /// Appends the header of a bulk string whose bytes the caller sends from elsewhere.
    ///
    /// ```swift
    /// writer.writeBulkHeader(byteCount: result.count, to: &chunk)
    /// queue(chunk); queue(result)                              // the result isn't copied
    /// writer.writeBulkTrailer(to: &nextChunk)
    /// ```
    package func writeBulkHeader(byteCount: Int, to output: inout [UInt8]) {
        DecimalInteger.appendLine(ASCII.dollar, byteCount, to: &output)
    }

    /// Appends the line end behind the bytes of a bulk string.
    package func writeBulkTrailer(to output: inout [UInt8]) {
        appendLineEnd(to: &output)
    }

    /// Appends a text for people, such as that of `INFO`.
    ///
    /// - Parameter format: three ASCII characters: `txt`, or `mkd` for Markdown.
    package func writeVerbatim(_ text: [UInt8], format: String, to output: inout [UInt8]) {
        guard version == .three else { return writeBulk(text, to: &output) }
        precondition(format.utf8.count == 3, "a format has three bytes, not \(format)")
        DecimalInteger.appendLine(UInt8(ascii: "="), text.count + 4, to: &output)
        output.append(contentsOf: format.utf8)
        output.append(ASCII.colon)
        output.append(contentsOf: text)
        appendLineEnd(to: &output)
    }

    private func appendLineEnd(to output: inout [UInt8]) {
        output.append(ASCII.carriageReturn)
        output.append(ASCII.lineFeed)
    }
}

// MARK: Aggregates

extension ReplyWriter {
    /// Begins an array; `count` values must follow.
    package func writeArrayHeader(count: Int, to output: inout [UInt8]) {
        DecimalInteger.appendLine(ASCII.asterisk, count, to: &output)
    }

    /// Begins a map; `count` times a key and a value must follow.
    package func writeMapHeader(count: Int, to output: inout [UInt8]) {
        switch version {
        case .two: writeArrayHeader(count: 2 * count, to: &output)
        case .three: DecimalInteger.appendLine(UInt8(ascii: "%"), count, to: &output)
        }
    }

    /// Begins a set; `count` values must follow.
    package func writeSetHeader(count: Int, to output: inout [UInt8]) {
        writeHeader(count, marker: UInt8(ascii: "~"), to: &output)
    }

    /// Begins a push, which no command asked for; `count` values must follow, the first a string
    /// that names its kind.
    ///
    /// In version 2 it can't be told from a reply: send it only to a client that expects it.
    package func writePushHeader(count: Int, to output: inout [UInt8]) {
        writeHeader(count, marker: UInt8(ascii: ">"), to: &output)
    }

    private func writeHeader(_ count: Int, marker: UInt8, to output: inout [UInt8]) {
        let marker = version == .three ? marker : ASCII.asterisk
        DecimalInteger.appendLine(marker, count, to: &output)
    }
}
