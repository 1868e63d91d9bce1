// The options that say more about a job, as PERFORM and SCHEDULE have them in common.

internal import Jobs
internal import RESP
internal import Wording

/// Reads the options of a job from a command.
struct JobOptionReader {
    /// How they are used.
    static let usage =
        ([
            "[PRIORITY high|normal|low] [KEY k] [TIMEOUT ms] [RETRY n [BLOCK|ASIDE]] [EXPIRE ms]"
        ] + JobOptions.allCarried.map(usage(of:))).joined(separator: " ")

    private static func usage(of option: JobOptions.Carried) -> String {
        switch option.form {
        case .text: "[\(option.name.uppercased()) text]"
        case .trace: "[\(option.name.uppercased()) traceparent]"
        case .words: "[\(option.name.uppercased()) n word …]"
        }
    }

    private(set) var priority = Priority.normal
    /// The given options: mostly none.
    private(set) var options = SharedJobOptions()
    private var given: JobOptions {
        get { options.value }
        set { options = SharedJobOptions(newValue) }
    }
    /// The longest key, label and unique name.
    private static let nameByteCountMax = 256
    /// The most words of a list.
    static let wordCountMax = 16
    /// The most bytes of the words of a list together: few, as they are not counted as payload.
    static let wordsByteCountMax = 1_024
    /// The longest time: a hundred years.
    static let millisecondsMax = 100 * 365 * 24 * 60 * 60 * 1_000

    /// Reads an option.
    ///
    /// - Parameter rest: the arguments that follow the options, for errors.
    /// - Returns: the place behind it; nil if it is none of these.
    mutating func read(
        _ command: Command, at index: Int, before end: Int, _ rest: String
    ) throws(WireError) -> Int? {
        if command.matches(index, "RETRY") {
            guard index + 1 < end else {
                throw WireError(.err, "RETRY needs a number, and \(rest) behind it")
            }
            // Each change of `given` makes new options; mostly there are none before.
            var changed = options.isEmpty ? JobOptions() : given
            changed.retryCountMax = try command.count(
                at: index + 1, "RETRY", max: Configuration.Selector.retryCountLimit)
            let isBlock = index + 2 < end && command.matches(index + 2, "BLOCK")
            let isAside = index + 2 < end && !isBlock && command.matches(index + 2, "ASIDE")
            if isBlock || isAside { changed.retryBlocks = isBlock }
            given = changed
            return index + (isBlock || isAside ? 3 : 2)
        }
        if command.matches(index, "PRIORITY") {
            guard index + 1 < end, let named = Priority(name: command[index + 1]) else {
                let given = index + 1 < end ? ", is \(quoted(command.text(at: index + 1)))" : ""
                throw WireError(.err, "PRIORITY must be high, normal or low\(given)")
            }
            priority = named
            return index + 2
        }
        if command.matches(index, "KEY") {
            given.key = try Self.name(command, at: index, before: end, "KEY", rest)
            return index + 2
        }
        if command.matches(index, "TIMEOUT") {
            let value = try Self.milliseconds(command, at: index, before: end, "TIMEOUT", rest)
            guard value > 0 else { throw WireError(.err, "TIMEOUT must be at least 1 ms") }
            given.timeoutMilliseconds = Int64(value)
            return index + 2
        }
        if command.matches(index, "EXPIRE") {
            let value = try Self.milliseconds(command, at: index, before: end, "EXPIRE", rest)
            guard value > 0 else { throw WireError(.err, "EXPIRE must be at least 1 ms") }
            given.expireMilliseconds = Int64(value)
            return index + 2
        }
        let name = command.text(at: index).lowercased()
        for option in JobOptions.allCarried where option.name == name {
            switch option.form {
            case .text:
                given[option] = try Self.name(
                    command, at: index, before: end, option.name.uppercased(), rest)
                return index + 2
            case .trace:
                given[option] = try Self.trace(command, at: index, before: end, rest)
                return index + 2
            case .words:
                let words = try Self.words(
                    command, at: index, before: end, option.name.uppercased(), rest)
                given[option] = words.count == 0 ? nil : words.bytes
                return index + 2 + words.count
            }
        }
        return nil
    }

    /// The time behind an option.
    static func milliseconds(
        _ command: Command, at index: Int, before end: Int, _ option: String, _ rest: String
    ) throws(WireError) -> Int {
        guard index + 1 < end else {
            throw WireError(.err, "\(option) needs a number, and \(rest) behind it")
        }
        return try command.count(at: index + 1, option, max: millisecondsMax)
    }

    /// The words behind an option and their number, parted by NUL.
    private static func words(
        _ command: Command, at index: Int, before end: Int, _ option: String, _ rest: String
    ) throws(WireError) -> (bytes: [UInt8], count: Int) {
        guard index + 1 < end else {
            throw WireError(.err, "\(option) needs a number, its words, and \(rest) behind them")
        }
        let count = try command.count(at: index + 1, option, max: wordCountMax)
        // A script gives as many words as it has, also none.
        guard count > 0 else { return ([], 0) }
        guard index + 1 + count < end else {
            throw WireError(
                .err,
                "\(option) \(count) needs \(count) words, and \(rest) behind them; the words are "
                    + "\(max(0, end - index - 2))")
        }
        var bytes: [UInt8] = []
        for place in (index + 2)..<(index + 2 + count) {
            let word = command.bytes(at: place)
            guard !word.isEmpty, !word.contains(0), String(validating: word, as: UTF8.self) != nil
            else {
                throw WireError(
                    .err,
                    "\(option): \(quoted(command.text(at: place))) is no word: UTF-8 without NUL, "
                        + "and not empty")
            }
            if place > index + 2 { bytes.append(0) }
            bytes += word
        }
        guard bytes.count <= wordsByteCountMax else {
            throw WireError(
                .err,
                "\(option) has at most \(wordsByteCountMax) bytes together, not \(bytes.count)")
        }
        return (bytes, count)
    }

    /// The place in a trace behind an option.
    private static func trace(
        _ command: Command, at index: Int, before end: Int, _ rest: String
    ) throws(WireError) -> [UInt8] {
        let bytes = try name(command, at: index, before: end, "TRACE", rest)
        guard TraceParent.isValid(bytes) else {
            throw WireError(
                .err,
                "TRACE must be a traceparent such as \(TraceParent.example), is "
                    + quoted(command.text(at: index + 1)))
        }
        return bytes
    }

    /// The bytes behind an option.
    static func name(
        _ command: Command, at index: Int, before end: Int, _ option: String, _ rest: String
    ) throws(WireError) -> [UInt8] {
        guard index + 1 < end else {
            throw WireError(.err, "\(option) needs a value, and \(rest) behind it")
        }
        let bytes = command.bytes(at: index + 1)
        guard (1...nameByteCountMax).contains(bytes.count) else {
            throw WireError(
                .err, "\(option) has 1 to \(nameByteCountMax) bytes, not \(bytes.count)")
        }
        return bytes
    }
}
