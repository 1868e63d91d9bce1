// The kinds of plain values in a configuration: numbers, sizes, durations, choices, paths. A rule
// reads one value or reports what it must be; rules of a single section are beside it.

/// How one kind of value is read and checked.
struct ValueRule<Value> {
    /// Reads the value; nil if it is invalid, in which case at least one fault was reported.
    let read: (_ value: JSON5Value, _ place: Place) -> Value?
}

extension Place {
    /// Reports that the value is of another type than `expected`.
    func wrongType(_ value: JSON5Value, expected: String) {
        report("must be \(expected), is \(value.kind)")
    }
}

extension JSON5Value {
    /// The kind of the value, in a sentence.
    var kind: String {
        switch self {
        case .null: "null"
        case .boolean(let value, _): "\(value)"
        case .number: "a number"
        case .string: "a string"
        case .array: "a list"
        case .object: "a section"
        }
    }
}

extension ValueRule {
    /// Accepts strings, and gives each to `check`, which reports its own faults.
    static func string(
        such example: String, hint: String = "", check: @escaping (String, Place) -> Value?
    ) -> ValueRule {
        ValueRule { value, place in
            guard case .string(let text, _) = value else {
                var sentence = "must be a string such as \"\(example)\", is \(value.kind)"
                if case .number = value { sentence += hint }
                place.report(sentence)
                return nil
            }
            return check(text, place)
        }
    }
}

extension ValueRule<Bool> {
    static var boolean: ValueRule {
        ValueRule { value, place in
            if case .boolean(let flag, _) = value { return flag }
            place.wrongType(value, expected: "true or false")
            return nil
        }
    }
}

extension ValueRule<Int> {
    /// A whole number in a range.
    static func whole(_ range: ClosedRange<Int>) -> ValueRule {
        ValueRule { value, place in
            guard case .number(let number, let written, _) = value else {
                place.wrongType(value, expected: "a number")
                return nil
            }
            return wholeNumber(
                number, written, in: range, place,
                range: "\(range.lowerBound.grouped)…\(range.upperBound.grouped)")
        }
    }

    /// A number of bytes: a string with a unit (binary multiples), or a plain number.
    static func size(_ range: ClosedRange<Int>) -> ValueRule {
        let shownRange = "\(ByteCount.show(range.lowerBound))…\(ByteCount.show(range.upperBound))"
        return ValueRule { value, place in
            switch value {
            case .number(let number, let written, _):
                return wholeNumber(number, written, in: range, place, range: shownRange)
            case .string(let text, _):
                guard let byteCount = ByteCount.read(text) else {
                    place.report(
                        "must be a size such as \"64KB\", \"8MB\" or \"1GB\", is \(text.quoted)")
                    return nil
                }
                guard range.contains(byteCount) else {
                    place.report("must be \(shownRange), is \(text.quoted)")
                    return nil
                }
                return byteCount
            default:
                place.wrongType(value, expected: "a size such as \"8MB\"")
                return nil
            }
        }
    }

    private static func wholeNumber(
        _ number: Double, _ written: String, in range: ClosedRange<Int>, _ place: Place,
        range shownRange: String
    ) -> Int? {
        let shown = String(written.prefix(64))
        // NaN is in no range. Limits are below 2^53, where every whole number is exact.
        guard number >= Double(range.lowerBound), number <= Double(range.upperBound) else {
            place.report("must be \(shownRange), is \(shown)")
            return nil
        }
        guard number.rounded() == number else {
            place.report("must be a whole number, is \(shown)")
            return nil
        }
        return Int(number)
    }
}

extension ValueRule<Duration> {
    /// A duration with its unit; a plain number is a fault, because its unit is not visible.
    static func duration(_ range: ClosedRange<Duration>) -> ValueRule {
        durationString(range, orNone: false) { $0 }
    }
}

extension ValueRule<Duration?> {
    /// A duration, or "none".
    static func durationOrNone(_ range: ClosedRange<Duration>) -> ValueRule {
        durationString(range, orNone: true) { $0 }
    }
}

extension ValueRule {
    fileprivate static func durationString(
        _ range: ClosedRange<Duration>, orNone: Bool, _ wrap: @escaping (Duration?) -> Value?
    ) -> ValueRule {
        let none = orNone ? " or \"none\"" : ""
        return .string(such: "30s", hint: ": add its unit (ms, s, m or h)") { text, place in
            if orNone, text == "none" { return wrap(nil) }
            guard let duration = Duration(configured: text) else {
                place.report(
                    "must be a duration such as \"250ms\", \"30s\", \"5m\" or \"1h\"\(none),"
                        + " is \(text.quoted)")
                return nil
            }
            guard range.contains(duration) else {
                let limits = "\(range.lowerBound.configured)…\(range.upperBound.configured)"
                place.report("must be \(limits)\(none), is \(text.quoted)")
                return nil
            }
            return wrap(duration)
        }
    }
}

extension ValueRule where Value: CaseIterable & RawRepresentable<String> {
    /// One of the words that are the cases of a type.
    static var choice: ValueRule {
        let words = Value.allCases.map { "\"\($0.rawValue)\"" }
        let expected = words.count == 1 ? words[0] : "one of " + words.joined(separator: ", ")
        return ValueRule { value, place in
            guard case .string(let text, _) = value else {
                place.wrongType(value, expected: expected)
                return nil
            }
            if let choice = Value(rawValue: text) { return choice }
            place.report("must be \(expected), is \(text.quoted)")
            return nil
        }
    }
}

extension ValueRule<String> {
    /// Any text that a C string can contain, of at most `byteCountMax` bytes.
    static func text(such example: String, byteCountMax: Int) -> ValueRule {
        .string(such: example) { text, place in
            if text.utf8.contains(0) {
                place.report("must not contain a zero byte")
                return nil
            }
            guard text.utf8.count <= byteCountMax else {
                place.report(
                    "must have at most \(byteCountMax.grouped) bytes,"
                        + " has \(text.utf8.count.grouped)")
                return nil
            }
            return text
        }
    }

    /// An absolute path: a relative one depends on where the daemon was started.
    ///
    /// - Parameter byteCountMax: PATH_MAX without the zero byte, unless the kernel has a lower
    ///   limit.
    static func absolutePath(such example: String, byteCountMax: Int = 4095) -> ValueRule {
        ValueRule { value, place in
            let rule = text(such: example, byteCountMax: byteCountMax)
            guard let path = rule.read(value, place) else { return nil }
            guard path.hasPrefix("/") else {
                place.report("must be an absolute path such as \"\(example)\", is \(path.quoted)")
                return nil
            }
            return path
        }
    }

    /// The absolute path of a directory that exists.
    static var directory: ValueRule {
        ValueRule { value, place in
            guard let path = absolutePath(such: "/var/lib/images").read(value, place) else {
                return nil
            }
            switch place.files.kind(path) {
            case .directory: return path
            case .missing: place.report("\(path.quoted) does not exist")
            case .program, .other: place.report("\(path.quoted) is not a directory")
            }
            return nil
        }
    }
}
