// The options by which a client says which jobs it means, for every command about many jobs.

internal import Jobs
internal import Kernel
internal import RESP
internal import Wording

/// Which jobs are meant: all conditions must be met.
struct ConditionArguments {
    /// How they are given.
    static let usage =
        "[thread] [state] [SELECTOR name] [KEY k] [OLDER ms] [NEWER ms] [REASON text]"
    private static let rest = "nothing"

    private(set) var thread: String?
    private(set) var state: JobState?
    /// Whether stuck jobs alone are meant.
    private(set) var isStuck = false
    private(set) var filter = JobFilter()

    /// Whether all jobs are meant.
    var areNone: Bool {
        var given = filter
        // No condition of the client's.
        given.scope = .all
        return thread == nil && state == nil && !isStuck && given.isEmpty
    }

    /// Reads all arguments from a place on.
    ///
    /// - Parameters:
    ///   - user: means jobs of its threads and selectors only.
    ///   - other: reads an option of the command's own, and returns the place behind it; nil if it
    ///     is none.
    mutating func readAll(
        _ command: Command, from start: Int, _ service: Service, _ user: User,
        other: (Int) throws(WireError) -> Int?
    ) throws {
        var index = start
        var options = OptionPlaces()
        let now = service.driver.wall.unixMilliseconds()
        while index < command.count {
            if let next = try other(index) ?? readOption(command, at: index, now: now) {
                try options.note(index, of: command)
                index = next
                continue
            }
            let word = command.text(at: index)
            let isRead = try readWord(word) { name throws(WireError) in
                try user.check(thread: name)
                return service.isThread(name)
            }
            guard isRead else {
                let name = command.text(at: 0).uppercased()
                throw WireError(.err, "\(name): what is \(quoted(word))? Conditions: \(Self.usage)")
            }
            index += 1
        }
        try limit(to: user, command.text(at: 0).lowercased())
    }

    /// Refuses conditions by which a user could find out what it may not see.
    private mutating func limit(to user: User, _ command: String) throws(WireError) {
        if filter.key != nil { try user.checkSeesPayloads("\(command)|key") }
        if filter.failure != nil { try user.checkSeesPayloads("\(command)|reason") }
        if let selector = filter.selector { try user.check(selector: selector) }
        filter.scope = user.scope
    }

    /// Reads an option with its value.
    ///
    /// - Returns: the place behind it; nil if it is none.
    private mutating func readOption(
        _ command: Command, at index: Int, now: Int64
    ) throws(WireError) -> Int? {
        func value(_ option: String, _ kind: String) throws(WireError) -> Int {
            try JobsArguments.place(behind: option, command, at: index, kind)
        }
        func moment(_ option: String) throws(WireError) -> Int64 {
            now
                - Int64(
                    try command.count(
                        at: value(option, "number"), option, max: JobOptionReader.millisecondsMax))
        }
        if command.matches(index, "SELECTOR") {
            filter.selector = command.text(at: try value("SELECTOR", "name"))
        } else if command.matches(index, "KEY") {
            _ = try value("KEY", "key")
            filter.key = try JobOptionReader.name(
                command, at: index, before: command.count, "KEY", Self.rest)
        } else if command.matches(index, "OLDER") {
            filter.acceptedUntil = try moment("OLDER")
        } else if command.matches(index, "NEWER") {
            filter.acceptedAfter = try moment("NEWER")
        } else if command.matches(index, "REASON") {
            filter.failure = FailurePattern(command.text(at: try value("REASON", "text")))
        } else {
            return nil
        }
        return index + 2
    }

    /// Reads a thread or a state.
    ///
    /// - Returns: whether it is one.
    private mutating func readWord(
        _ word: String, isThread: (String) throws(WireError) -> Bool
    ) throws -> Bool {
        if let known = JobState(rawValue: word.lowercased()), state == nil, !isStuck {
            state = known
        } else if word.lowercased() == "stuck", state == nil, !isStuck {
            isStuck = true
        } else if thread == nil {
            guard try isThread(word) else { throw JobError.unknownThread(word) }
            thread = word
        } else {
            return false
        }
        return true
    }
}
