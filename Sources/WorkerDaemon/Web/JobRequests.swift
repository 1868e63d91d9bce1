// PERFORM and JOBS, whose options have names in the body or the query of a request.

internal import Jobs
internal import RESP
internal import Wording

/// What a POST of a job asks for.
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

/// What a GET of jobs asks for.
enum JobListRequest {
    private static let parameters = [
        "thread", "state", "limit", "order", "before", "after", "selector", "key", "older",
        "newer", "failures",
    ]
    private static let limitDefault = 100

    /// The arguments of JOBS.
    static func arguments(
        _ request: WebRequest, _ isThread: (String) -> Bool
    ) throws -> CommandArguments {
        try request.checkQuery(parameters)
        var arguments = CommandArguments("JOBS")
        // JOBS tells names from options by their place alone.
        if let thread = request.query("thread") {
            guard isThread(thread) else { throw JobError.unknownThread(thread) }
            arguments.add(thread)
        }
        if let state = request.query("state") {
            guard JobState(rawValue: state) != nil || state == "stuck" else {
                let known = JobState.allCases.map(\.rawValue) + ["stuck"]
                throw WireError(
                    .err,
                    "state must be one of \(known.joined(separator: ", ")), is \(quoted(state))")
            }
            arguments.add(state)
        }
        for name in ["limit", "before", "after", "selector", "key", "older", "newer"] {
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
