// One command as the server sees it: a name and arguments, each a range of the input buffer. Knows
// no command by name.

/// A complete command.
///
/// A value: it does not change while it is kept, although it shares the memory of the input buffer
/// and nothing was copied. While a command is kept, the parser must take new memory when more bytes
/// arrive. So handle a command and release it, and copy with `bytes(at:)` what must live longer.
///
/// Argument 0 is the command's name, and is always there.
package struct Command: Sendable {
    private let storage: [UInt8]
    private let base: Int
    private let ranges: ArgumentRanges

    /// Creates a command over bytes that are not copied.
    ///
    /// - Parameter ranges: one for each argument, relative to `base`.
    init(storage: [UInt8], base: Int, ranges: ArgumentRanges) {
        assert(ranges.count > 0, "a command has a name")
        self.storage = storage
        self.base = base
        self.ranges = ranges
    }

    /// A command with these arguments, its name first.
    package init(_ arguments: [[UInt8]]) {
        precondition(!arguments.isEmpty, "a command has a name")
        var bytes: [UInt8] = []
        bytes.reserveCapacity(arguments.reduce(0) { $0 + $1.count })
        var slots: [ArgumentRanges.Slot] = []
        for argument in arguments {
            slots.append(ArgumentRanges.Slot(start: bytes.count, count: argument.count))
            bytes += argument
        }
        self.init(storage: bytes, base: 0, ranges: ArgumentRanges(slots, count: slots.count))
    }

    /// The number of arguments, the name included.
    package var count: Int { ranges.count }

    /// The bytes of an argument, without copying them.
    ///
    /// `command[1].span` is the `Span` of it.
    package subscript(index: Int) -> ArraySlice<UInt8> { storage[position(of: index)] }

    /// The length of an argument in bytes.
    package func byteCount(at index: Int) -> Int { ranges[index].count }

    /// A copy of the bytes of an argument.
    package func bytes(at index: Int) -> [UInt8] { Array(storage[position(of: index)]) }

    /// The text of an argument; invalid UTF-8 becomes U+FFFD.
    package func text(at index: Int) -> String {
        String(decoding: storage[position(of: index)], as: UTF8.self)
    }

    /// Whether an argument consists of these bytes.
    package func isEqual(to bytes: [UInt8], at index: Int) -> Bool {
        let range = position(of: index)
        guard bytes.count == range.count else { return false }
        let (known, given) = (bytes.span, storage.span.extracting(range))
        for place in known.indices where known[place] != given[place] { return false }
        return true
    }

    /// The integer that makes up the whole argument, in decimal, or nil.
    ///
    /// As strict as Redis: an optional minus and digits, no plus, no spaces, no leading zeros, and
    /// within the range of 64 bits.
    package func integer(at index: Int) -> Int? {
        DecimalInteger.parse(storage.span.extracting(position(of: index)))
    }

    /// Whether an argument is `word`, ignoring the case of ASCII letters.
    ///
    /// Allocates nothing. False if there is no such argument, so that options can be looked for
    /// without counting first.
    ///
    /// - Parameter word: in capital letters.
    package func matches(_ index: Int, _ word: StaticString) -> Bool {
        guard index < ranges.count else { return false }
        let range = position(of: index)
        guard range.count == word.utf8CodeUnitCount else { return false }
        let found = storage.span.extracting(range)
        // SAFETY: a literal lives as long as the program, and `found` has as many bytes as it.
        let wanted = unsafe word.utf8Start
        for offset in found.indices {
            let (byte, capital) = unsafe (found[unchecked: offset], wanted[offset])
            // Most clients send capitals.
            if byte != capital, Self.capital(byte) != capital { return false }
        }
        return true
    }

    /// Whether two arguments are the same word, ignoring the case of ASCII letters.
    ///
    /// Allocates nothing.
    package func matches(_ index: Int, _ other: Int) -> Bool {
        let (first, second) = (position(of: index), position(of: other))
        guard first.count == second.count else { return false }
        return zip(first, second).allSatisfy {
            Self.capital(storage[$0]) == Self.capital(storage[$1])
        }
    }

    /// A lower-case ASCII letter as its capital, any other byte unchanged.
    private static func capital(_ byte: UInt8) -> UInt8 {
        byte &- UInt8(ascii: "a") < 26 ? byte & 0xDF : byte
    }

    private func position(of index: Int) -> Range<Int> {
        let range = ranges[index]
        return base + range.lowerBound..<base + range.upperBound
    }
}

extension Command: CustomStringConvertible {
    /// The name and the sizes; never the arguments, which may be secret.
    package var description: String {
        let byteCount = (0..<count).reduce(0) { $0 + ranges[$1].count }
        let name = ASCII.printable(self[0].prefix(64))
        return "\(name) (\(count) arguments, \(byteCount) bytes)"
    }
}
