// From a JSON5 text to a value (https://spec.json5.org). Our own, because existing readers do not
// suit a configuration that people write: FoundationEssentials' JSONDecoder with `allowsJSON5`
// neither names the place of a fault nor notices a key that is given twice. It must not know the
// meaning of any key.

/// Reads JSON5: the whole of it, with limits on size and depth.
package struct JSON5Reader {
    /// 1 MiB: a configuration is written by people, so a larger file is the wrong one.
    package static let byteCountMax = 1 << 20
    /// Deeper than any configuration, shallow enough for every thread's stack.
    package static let depthMax = 64

    private var scanner: JSON5Scanner

    /// Reads a text that contains exactly one value.
    ///
    /// - Parameter bytes: the text in UTF-8, with or without a byte order mark.
    /// - Returns: the value; keys that were given twice are in `JSON5Object.repetitions`.
    /// - Throws: the first place that is not JSON5, not UTF-8 or too deep; or that the text is over
    ///   1 MiB.
    /// - Thread: any thread.
    /// - Blocks: never.
    /// - Complexity: O(bytes).
    package static func read(_ bytes: [UInt8]) throws(JSON5Fault) -> JSON5Value {
        guard bytes.count <= byteCountMax else {
            throw JSON5Fault(
                JSON5Position(line: 1, column: 1),
                "the file has \(bytes.count.grouped) bytes,"
                    + " at most \(byteCountMax.grouped) are read"
            )
        }
        var reader = JSON5Reader(scanner: try JSON5Scanner(bytes))
        let value = try reader.readValue(depth: 0)
        try reader.scanner.skipBlanks()
        guard reader.scanner.next == nil else {
            throw JSON5Fault(
                reader.scanner.position, "expected the end of the file, \(reader.scanner.found)")
        }
        return value
    }

    private init(scanner: JSON5Scanner) {
        self.scanner = scanner
    }

    /// Reads blanks and then a value, which `depth` brackets enclose.
    private mutating func readValue(depth: Int) throws(JSON5Fault) -> JSON5Value {
        try scanner.skipBlanks()
        let start = scanner.position
        let found = scanner.found
        switch scanner.next {
        case "{", "[":
            guard depth < Self.depthMax else {
                throw JSON5Fault(start, "more than \(Self.depthMax) brackets inside each other")
            }
            return try scanner.next == "{" ? readObject(depth + 1) : readArray(depth + 1)
        case "\"", "'":
            return .string(try scanner.readString(), at: start)
        case "+", "-", ".", "0", "1", "2", "3", "4", "5", "6", "7", "8", "9":
            return try scanner.readNumber()
        default:
            break
        }
        guard let name = try scanner.readName() else {
            throw JSON5Fault(start, "expected a value, \(found)")
        }
        switch name {
        case "null": return .null(at: start)
        case "true": return .boolean(true, at: start)
        case "false": return .boolean(false, at: start)
        case "Infinity": return .number(.infinity, written: name, at: start)
        case "NaN": return .number(.nan, written: name, at: start)
        default: throw JSON5Fault(start, "a string needs quotes: \(name.quoted)")
        }
    }

    private mutating func readObject(_ depth: Int) throws(JSON5Fault) -> JSON5Value {
        let start = scanner.position
        scanner.advance()
        var object = JSON5Object()
        while true {
            try scanner.skipBlanks()
            if scanner.skip("}") { return .object(object, at: start) }
            let (keyPosition, keyOffset) = (scanner.position, scanner.offset)
            let key = try readKey(openedAt: start)
            try scanner.skipBlanks()
            guard scanner.skip(":") else {
                throw JSON5Fault(
                    scanner.position, "expected \":\" after the key \(key.quoted), \(scanner.found)"
                )
            }
            let value = try readValue(depth: depth)
            object.add(key, at: keyPosition, value, in: keyOffset..<scanner.offset)
            try expectComma(or: "}", openedAt: start)
        }
    }

    private mutating func readKey(openedAt start: JSON5Position) throws(JSON5Fault) -> String {
        if scanner.next == "\"" || scanner.next == "'" { return try scanner.readString() }
        let place = scanner.position
        let found = scanner.found
        if let name = try scanner.readName() { return name }
        throw JSON5Fault(place, "expected a key, or \"}\" for the \"{\" of \(start), \(found)")
    }

    private mutating func readArray(_ depth: Int) throws(JSON5Fault) -> JSON5Value {
        let start = scanner.position
        scanner.advance()
        var values: [JSON5Value] = []
        while true {
            try scanner.skipBlanks()
            if scanner.skip("]") { return .array(values, at: start) }
            values.append(try readValue(depth: depth))
            try expectComma(or: "]", openedAt: start)
        }
    }

    /// Steps over a comma; leaves the closing bracket to the caller.
    private mutating func expectComma(
        or end: Unicode.Scalar, openedAt start: JSON5Position
    ) throws(JSON5Fault) {
        try scanner.skipBlanks()
        if scanner.skip(",") || scanner.next == end { return }
        let open = end == "}" ? "{" : "["
        throw JSON5Fault(
            scanner.position,
            "expected \",\", or \"\(end)\" for the \"\(open)\" of \(start), \(scanner.found)")
    }
}
