// The options of PERFORM, by which a client says when, where in the order and how often its job
// runs.

internal import Jobs
internal import Kernel
internal import RESP
internal import Wording

/// The arguments of PERFORM.
struct PerformArguments: ~Copyable {
    /// How it is used.
    static let usage =
        "thread selector [WAIT [ms]] [DELAY ms | AT unix-ms] "
        + "[UNIQUE id [TELL] [AGAIN] [FOR ms]] [VOLATILE] "
        + "\(JobOptionReader.usage) payload"
    private static let rest = "a payload"

    /// How long the client waits for the outcome; nil if it wants the job's number.
    private(set) var patience: ReplyToken.Patience?
    /// The job that the command asks for.
    private(set) var request: JobRequest
    /// Whether the client wants to be told if a job of its name was there already.
    private(set) var tellsWhetherNew = false
    private var reader = JobOptionReader()

    /// - Parameter names: those of the command before; of this one on return.
    init(
        _ command: Command, _ wall: WallTime, _ names: inout RecentNames
    ) throws(WireError) {
        let payloadIndex = command.count - 1
        names.read(command)
        request = JobRequest(
            thread: names.thread, selector: names.selector,
            payload: command.bytes(at: payloadIndex))
        var index = 3
        var places = OptionPlaces()
        while index < payloadIndex {
            try places.note(index, of: command)
            index = try read(command, at: index, before: payloadIndex, wall)
        }
        if tellsWhetherNew, patience != nil {
            throw WireError(
                .err, "TELL answers with the job's number, and WAIT with its result: one of them")
        }
        request.priority = reader.priority
        request.options = reader.options
    }

    /// - Returns: the place behind the option.
    private mutating func read(
        _ command: Command, at index: Int, before end: Int, _ wall: WallTime
    ) throws(WireError) -> Int {
        func milliseconds(_ option: String) throws(WireError) -> Int {
            try JobOptionReader.milliseconds(command, at: index, before: end, option, Self.rest)
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
        if command.matches(index, "VOLATILE") {
            request.isVolatile = true
            return index + 1
        }
        if command.matches(index, "UNIQUE") {
            let read = try UniqueArguments(command, at: index, before: end, Self.rest)
            request.unique = read.name
            tellsWhetherNew = read.tellsWhetherNew
            return read.end
        }
        if let next = try reader.read(command, at: index, before: end, Self.rest) { return next }
        throw WireError(
            .err,
            "unknown option \(quoted(command.text(at: index))); the payload is the last argument, "
                + "in quotes if it has spaces")
    }

    private static func isNumeric(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: "-") || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
    }
}

/// The thread and the selector of the latest PERFORM: mostly those of the next one, which then need
/// not be made from its bytes again.
struct RecentNames {
    private struct Name {
        var bytes: [UInt8] = []
        var text = ""

        mutating func read(_ command: Command, at index: Int) {
            guard !command.isEqual(to: bytes, at: index) else { return }
            bytes = command.bytes(at: index)
            text = command.text(at: index)
        }
    }

    private var names = (thread: Name(), selector: Name())

    var thread: String { names.thread.text }
    var selector: String { names.selector.text }

    mutating func read(_ command: Command) {
        names.thread.read(command, at: 1)
        names.selector.read(command, at: 2)
    }
}

/// Which arguments of a command are the names of its options.
struct OptionPlaces {
    /// Bit n says that argument n is one.
    private var places: UInt128 = 0

    /// Notes an option.
    ///
    /// - Throws: that it was given before.
    mutating func note(_ index: Int, of command: Command) throws(WireError) {
        var others = places
        while others != 0 {
            let other = others.trailingZeroBitCount
            guard !command.matches(index, other) else {
                throw WireError(
                    .err, "\(command.text(at: other).uppercased()) is given twice; once is enough")
            }
            others &= others - 1
        }
        places |= 1 << UInt128(index)
    }
}
