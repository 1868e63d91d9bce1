// The content of a JSON5 text, with the place of everything in it. Pure values: this file knows
// neither how the text is read nor what any of its keys mean.

/// A place in a text: line and column, both counted from 1.
///
/// A column is one Unicode scalar; CR, LF and CR LF end a line, as editors count them.
package struct JSON5Position: Sendable, Equatable, Comparable, CustomStringConvertible {
    package var line: Int
    package var column: Int

    package init(line: Int, column: Int) {
        self.line = line
        self.column = column
    }

    package static func < (left: JSON5Position, right: JSON5Position) -> Bool {
        (left.line, left.column) < (right.line, right.column)
    }

    /// `line 12, column 7`.
    package var description: String { "line \(line), column \(column)" }
}

/// A fault in a text that is not JSON5: its place, and the reason.
package struct JSON5Fault: Error, Sendable, Equatable, CustomStringConvertible {
    package let position: JSON5Position
    package let message: String

    package init(_ position: JSON5Position, _ message: String) {
        self.position = position
        self.message = message
    }

    /// `line 12, column 7: this string is not closed`.
    package var description: String { "\(position): \(message)" }
}

/// A JSON5 value and the place where it begins.
package indirect enum JSON5Value: Sendable, Equatable {
    case null(at: JSON5Position)
    case boolean(Bool, at: JSON5Position)
    /// The number, and as it was written, for faults.
    case number(Double, written: String, at: JSON5Position)
    case string(String, at: JSON5Position)
    case array([JSON5Value], at: JSON5Position)
    case object(JSON5Object, at: JSON5Position)

    /// Where the value begins: its quote, bracket, sign or first character.
    package var position: JSON5Position {
        switch self {
        case .null(let position), .boolean(_, let position), .number(_, _, let position),
            .string(_, let position), .array(_, let position), .object(_, let position):
            position
        }
    }
}

/// The members of an object in the order of the text, each key once.
package struct JSON5Object: Sendable, Equatable {
    /// One key with its value.
    package struct Member: Sendable, Equatable {
        package let key: String
        package let keyPosition: JSON5Position
        package let value: JSON5Value
        /// From the key to the end of the value, in Unicode scalars from the text's beginning.
        package let range: Range<Int>
    }

    /// A key that was given again, with both places.
    package struct Repetition: Sendable, Equatable {
        package let key: String
        package let first: JSON5Position
        package let again: JSON5Position
    }

    /// The first member of each key.
    package private(set) var members: [Member] = []
    /// The keys that were given again.
    ///
    /// JSON5 lets the last one win. A configuration reports them, because one of the two is not
    /// what its writer believes.
    package private(set) var repetitions: [Repetition] = []
    private var indexes: [String: Int] = [:]

    package init() {}

    package subscript(key: String) -> Member? { indexes[key].map { members[$0] } }

    /// Adds a member, or a repetition if the key is there already.
    mutating func add(
        _ key: String, at position: JSON5Position, _ value: JSON5Value, in range: Range<Int>
    ) {
        if let first = self[key] {
            repetitions.append(.init(key: key, first: first.keyPosition, again: position))
        } else {
            indexes[key] = members.count
            members.append(.init(key: key, keyPosition: position, value: value, range: range))
        }
    }
}
