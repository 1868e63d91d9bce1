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
        ] + JobOptions.allCarried.map { "[\($0.name.uppercased()) text]" })
        .joined(separator: " ")

    private(set) var priority = Priority.normal
    /// Those that are given: mostly none.
    private(set) var options = SharedJobOptions()
    private var given: JobOptions {
        get { options.value }
        set { options = SharedJobOptions(newValue) }
    }
    /// The longest key, label and unique name.
    private static let nameByteCountMax = 256
    /// The longest time: a hundred years.
    static let millisecondsMax = 100 * 365 * 24 * 60 * 60 * 1_000

    /// Reads an option.
    ///
    /// - Parameter rest: what has to stand behind the options, for errors.
    /// - Returns: the place behind it; nil if it is none of these.
    mutating func read(
        _ command: Command, at index: Int, before end: Int, _ rest: String
    ) throws(WireError) -> Int? {
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
        if command.matches(index, "RETRY") {
            guard index + 1 < end else {
                throw WireError(.err, "RETRY needs a number, and \(rest) behind it")
            }
            given.retryCountMax = try command.count(
                at: index + 1, "RETRY", max: Configuration.Selector.retryCountLimit)
            let isBlock = index + 2 < end && command.matches(index + 2, "BLOCK")
            let isAside = index + 2 < end && command.matches(index + 2, "ASIDE")
            guard isBlock || isAside else { return index + 2 }
            given.retryBlocks = isBlock
            return index + 3
        }
        let name = command.text(at: index).lowercased()
        for option in JobOptions.allCarried where option.name == name {
            given[option] = try Self.name(
                command, at: index, before: end, option.name.uppercased(), rest)
            return index + 2
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
