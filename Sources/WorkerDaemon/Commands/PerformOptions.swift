// The options of PERFORM, by which a client says when, where in the order and how often its job runs.

internal import Jobs
internal import Kernel
internal import RESP
internal import Wording

/// What a PERFORM asks for.
struct PerformOptions {
    /// How long the client waits for the outcome; nil if it wants the job's number.
    private(set) var patience: ReplyToken.Patience?
    /// The job that the command asks for.
    private(set) var request: JobRequest
    /// The longest key and unique name.
    private static let nameByteCountMax = 256
    /// The longest delay and wait: a hundred years.
    static let millisecondsMax = 100 * 365 * 24 * 60 * 60 * 1_000

    private let wall: WallTime

    init(_ command: Command, _ wall: WallTime) throws(WireError) {
        self.wall = wall
        let payloadIndex = command.count - 1
        request = JobRequest(thread: command.text(at: 1), selector: command.text(at: 2))
        var index = 3
        var options = OptionPlaces()
        while index < payloadIndex {
            try options.note(index, of: command)
            index = try read(command, at: index, before: payloadIndex)
        }
        request.payload = command.bytes(at: payloadIndex)
    }

    /// - Returns: the place behind the option.
    private mutating func read(
        _ command: Command, at index: Int, before end: Int
    ) throws(WireError) -> Int {
        func milliseconds(_ option: String) throws(WireError) -> Int {
            guard index + 1 < end else {
                throw WireError(.err, "\(option) needs a number, and a payload behind it")
            }
            return try command.count(at: index + 1, option, max: Self.millisecondsMax)
        }
        if command.matches(index, "WAIT") {
            patience = .unlimited
            guard index + 1 < end, command[index + 1].first.map(Self.isNumeric) == true else {
                return index + 1
            }
            patience = .milliseconds(try milliseconds("WAIT"))
            return index + 2
        }
        if command.matches(index, "DELAY") || command.matches(index, "AT") {
            guard request.schedule == .now else {
                throw WireError(.err, "DELAY and AT: one of them, once")
            }
            let isDelay = command.matches(index, "DELAY")
            let value = Int64(try milliseconds(isDelay ? "DELAY" : "AT"))
            request.schedule =
                isDelay && value > 0
                ? .at(wall.unixMillisecondsRoundedUp() + value, byClock: false)
                : .at(value, byClock: !isDelay)
            return index + 2
        }
        if command.matches(index, "TIMEOUT") {
            let value = try milliseconds("TIMEOUT")
            guard value > 0 else { throw WireError(.err, "TIMEOUT must be at least 1 ms") }
            request.options.timeoutMilliseconds = Int64(value)
            return index + 2
        }
        if command.matches(index, "PRIORITY") {
            guard index + 1 < end, let named = Priority(name: command[index + 1]) else {
                let given = index + 1 < end ? ", is \(quoted(command.text(at: index + 1)))" : ""
                throw WireError(.err, "PRIORITY must be high, normal or low\(given)")
            }
            request.priority = named
            return index + 2
        }
        if command.matches(index, "VOLATILE") {
            request.isVolatile = true
            return index + 1
        }
        if command.matches(index, "RETRY") {
            guard index + 1 < end else {
                throw WireError(.err, "RETRY needs a number, and a payload behind it")
            }
            request.options.retryCountMax = try command.count(
                at: index + 1, "RETRY", max: Configuration.Selector.retryCountLimit)
            let isBlock = index + 2 < end && command.matches(index + 2, "BLOCK")
            let isAside = index + 2 < end && command.matches(index + 2, "ASIDE")
            guard isBlock || isAside else { return index + 2 }
            request.options.retryBlocks = isBlock
            return index + 3
        }
        if command.matches(index, "KEY") {
            request.options.key = try name(command, at: index + 1, before: end, "KEY")
            return index + 2
        }
        if command.matches(index, "UNIQUE") {
            request.uniqueName = try name(command, at: index + 1, before: end, "UNIQUE")
            return index + 2
        }
        throw WireError(
            .err,
            "unknown option \(quoted(command.text(at: index))); the payload is the last argument, "
                + "in quotes if it has spaces")
    }

    private func name(
        _ command: Command, at index: Int, before end: Int, _ option: String
    ) throws(WireError) -> [UInt8] {
        guard index < end else {
            throw WireError(.err, "\(option) needs a value, and a payload behind it")
        }
        let bytes = command.bytes(at: index)
        guard (1...Self.nameByteCountMax).contains(bytes.count) else {
            throw WireError(
                .err, "\(option) has 1 to \(Self.nameByteCountMax) bytes, not \(bytes.count)")
        }
        return bytes
    }

    private static func isNumeric(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: "-") || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
    }
}
