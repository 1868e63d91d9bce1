// PERFORM and JOBS, whose options have names in the body or the query of a request.

internal import Jobs
internal import RESP
internal import Wording

/// A request to hand in a job, from a POST.
enum NewJobRequest {
    private static let keys =
        [
            "thread", "selector", "payload", "wait", "delay", "at", "unique", "again", "for",
            "volatile", "priority", "key", "timeout", "retry", "retry-mode", "expire",
        ] + JobOptions.allCarried.map(\.name)

    /// The arguments of PERFORM.
    static func arguments(_ request: WebRequest) throws(WireError) -> CommandArguments {
        try request.checkMembers(keys)
        var arguments = CommandArguments("PERFORM")
        arguments.add(try request.required("thread"))
        arguments.add(try request.required("selector"))
        let waits = try addWait(request, to: &arguments)
        arguments.add("DELAY", try request.number("delay"))
        arguments.add("AT", try request.number("at"))
        try addUnique(request, tells: !waits, to: &arguments)
        arguments.addFlag("VOLATILE", try request.flag("volatile"))
        arguments.add("PRIORITY", try request.bytes("priority"))
        arguments.add("KEY", try request.bytes("key"))
        arguments.add("TIMEOUT", try request.number("timeout"))
        try addRetry(request, to: &arguments)
        arguments.add("EXPIRE", try request.number("expire"))
        for option in JobOptions.allCarried {
            switch option.form {
            case .text: arguments.add(option.name.uppercased(), try request.bytes(option.name))
            case .trace:
                arguments.add(
                    option.name.uppercased(), try request.bytes(option.name) ?? request.trace)
            case .words:
                guard let words = try request.words(option.name) else { continue }
                arguments.add(option.name.uppercased(), "\(words.count)")
                for word in words { arguments.add(word) }
            }
        }
        arguments.add(try request.bytes("payload") ?? [])
        return arguments
    }

    /// - Returns: whether the client waits for the result.
    private static func addWait(
        _ request: WebRequest, to arguments: inout CommandArguments
    ) throws(WireError) -> Bool {
        if case .boolean(let waits) = request.member("wait") {
            arguments.addFlag("WAIT", waits)
            return waits
        }
        let milliseconds = try request.number("wait")
        arguments.add("WAIT", milliseconds)
        return milliseconds != nil
    }

    private static func addUnique(
        _ request: WebRequest, tells: Bool, to arguments: inout CommandArguments
    ) throws(WireError) {
        guard let name = try request.bytes("unique") else {
            for key in ["again", "for"] where request.member(key) != nil {
                throw WireError(.err, "\(key) is of no use without unique")
            }
            return
        }
        arguments.add("UNIQUE", name)
        arguments.addFlag("TELL", tells)
        arguments.addFlag("AGAIN", try request.flag("again"))
        arguments.add("FOR", try request.number("for"))
    }

    private static func addRetry(
        _ request: WebRequest, to arguments: inout CommandArguments
    ) throws(WireError) {
        let mode = try request.bytes("retry-mode").map { String(decoding: $0, as: UTF8.self) }
        guard let count = try request.number("retry") else {
            guard mode == nil else {
                throw WireError(.err, "retry-mode is of no use without retry")
            }
            return
        }
        arguments.add("RETRY", count)
        guard let mode else { return }
        guard ["block", "aside"].contains(mode) else {
            throw WireError(.err, "retry-mode must be block or aside, is \(quoted(mode))")
        }
        arguments.add(mode.uppercased())
    }
}

/// Conditions on jobs, in the query or in the body of a request.
enum ConditionsRequest {
    static let keys = ["thread", "state", "selector", "key", "older", "newer", "reason"]

    /// Adds the conditions to a command.
    ///
    /// - Parameters:
    ///   - value: the value of a key; nil if it is missing.
    ///   - isThread: whether there is a thread of a name. Commands tell names from options by their
    ///     place alone.
    static func add(
        to arguments: inout CommandArguments, _ isThread: (String) -> Bool,
        _ value: (String) throws -> [UInt8]?
    ) throws {
        func text(_ key: String) throws -> String? {
            try value(key).map { String(decoding: $0, as: UTF8.self) }
        }
        if let thread = try text("thread") {
            guard isThread(thread) else { throw JobError.unknownThread(thread) }
            arguments.add(thread)
        }
        if let state = try text("state") {
            guard JobState(rawValue: state) != nil || state == "stuck" else {
                let known = JobState.allCases.map(\.rawValue) + ["stuck"]
                throw WireError(
                    .err,
                    "state must be one of \(known.joined(separator: ", ")), is \(quoted(state))")
            }
            arguments.add(state)
        }
        for name in keys.dropFirst(2) { arguments.add(name.uppercased(), try value(name)) }
    }

    /// Adds the conditions of a query.
    static func add(
        to arguments: inout CommandArguments, of request: WebRequest, isThread: (String) -> Bool
    ) throws {
        try add(to: &arguments, isThread) { request.query($0).map { Array($0.utf8) } }
    }
}

/// A request to list jobs, from a GET.
enum JobListRequest {
    private static let parameters =
        ConditionsRequest.keys + ["limit", "order", "before", "after", "failures"]
    private static let limitDefault = 100

    /// The arguments of JOBS.
    static func arguments(
        _ request: WebRequest, _ isThread: (String) -> Bool
    ) throws -> CommandArguments {
        try request.checkQuery(parameters)
        var arguments = CommandArguments("JOBS")
        try ConditionsRequest.add(to: &arguments, of: request, isThread: isThread)
        for name in ["limit", "before", "after"] {
            arguments.add(name.uppercased(), request.query(name))
        }
        switch request.query("order") {
        case nil, "newest": break
        case "oldest": arguments.add("OLDEST")
        case .some(let order):
            throw WireError(.err, "order must be newest or oldest, is \(quoted(order))")
        }
        switch request.query("failures") {
        case nil, "false": break
        case "true": arguments.add("FAILURES")
        case .some(let word):
            throw WireError(.err, "failures must be true or false, is \(quoted(word))")
        }
        return arguments
    }

    /// The most rows of the answer.
    static func limit(_ request: WebRequest) -> Int {
        request.query("limit").flatMap { Int($0) } ?? limitDefault
    }
}

/// A request about many jobs, from a POST.
enum BulkRequest {
    private static let keys = ConditionsRequest.keys + ["action", "dry", "up-to", "limit"]
    private static let numbers: Set = ["older", "newer"]

    /// The arguments of BULK.
    static func arguments(
        _ request: WebRequest, _ isThread: (String) -> Bool
    ) throws -> CommandArguments {
        try request.checkQuery([])
        try request.checkMembers(keys)
        let action = String(decoding: try request.required("action"), as: UTF8.self)
        guard BulkAction(rawValue: action) != nil else {
            throw WireError(
                .err, "action must be cancel, retry or drop, is \(quoted(action))")
        }
        var arguments = CommandArguments("BULK", action.uppercased())
        arguments.addFlag("DRY", try request.flag("dry"))
        arguments.add("UPTO", try request.number("up-to"))
        arguments.add("LIMIT", try request.number("limit"))
        try ConditionsRequest.add(to: &arguments, isThread) { key in
            numbers.contains(key) ? try request.number(key) : try request.bytes(key)
        }
        return arguments
    }
}
