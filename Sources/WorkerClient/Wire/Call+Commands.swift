// Every command of the daemon as a call.

internal import Kernel
internal import RESP

extension Call where Value == UInt64 {
    static func perform(
        _ thread: String, _ selector: String, _ payload: [UInt8], _ options: PerformOptions
    ) -> Call {
        Call(
            ["PERFORM", .text(thread), .text(selector)] + options.commandArguments
                + [.bytes(payload)],
            read: Read.id)
    }

    static func buffer(_ thread: String, _ selector: String, _ payload: [UInt8]) -> Call {
        Call(["BUFFER", .text(thread), .text(selector), .bytes(payload)], read: Read.id)
    }
}

extension Call where Value == UniqueJob {
    static func performOnce(
        _ thread: String, _ selector: String, _ payload: [UInt8], _ options: PerformOptions
    ) -> Call {
        Call(
            ["PERFORM", .text(thread), .text(selector)] + options.commandArguments(telling: true)
                + [.bytes(payload)], read: UniqueJob.init)
    }
}

extension Call where Value == [UInt8] {
    static func performAndWait(
        _ thread: String, _ selector: String, _ payload: [UInt8], _ options: PerformOptions,
        _ wait: JobWait
    ) -> Call {
        Call(
            ["PERFORM", .text(thread), .text(selector)] + wait.arguments
                + options.commandArguments
                + [.bytes(payload)], wait: wait, read: Read.bytes)
    }

    static func payload(_ id: UInt64) -> Call {
        Call(["PAYLOAD", .text("\(id)")], read: Read.bytes)
    }

    static func result(_ id: UInt64, _ wait: JobWait) -> Call {
        Call(["RESULT", .text("\(id)")] + wait.arguments, wait: wait, read: Read.bytes)
    }
}

extension Call where Value == [UInt8]? {
    static func result(_ id: UInt64) -> Call {
        Call(["RESULT", .text("\(id)")]) { (reply) throws(WorkerClientError) in
            reply.isNull ? nil : try Read.bytes(reply)
        }
    }
}

extension Call where Value == JobOutput? {
    static func output(_ id: UInt64, _ attempt: Int?) -> Call {
        let which: [CommandArgument] = attempt.map { ["ATTEMPT", .integer(max(1, $0))] } ?? []
        return Call(["OUTPUT", .text("\(id)")] + which) { (reply) throws(WorkerClientError) in
            reply.isNull ? nil : try JobOutput(reply)
        }
    }
}

extension Call where Value == CancelAnswer {
    static func cancel(_ id: UInt64) -> Call {
        Call(["CANCEL", .text("\(id)")]) { (reply) throws(WorkerClientError) in
            guard let word = reply.text else { throw Read.unexpected(reply, "a word") }
            return CancelAnswer(rawValue: word)
        }
    }
}

extension Call where Value == Int {
    static func cancel(_ thread: String, _ selector: String, _ payload: [UInt8]?) -> Call {
        Call(
            ["CANCEL", .text(thread), .text(selector)] + (payload.map { [.bytes($0)] } ?? []),
            read: Read.integer)
    }

    static func observe(_ id: UInt64, withOutput: Bool = false) -> Call {
        Call(
            ["OBSERVE", .text("\(id)")] + (withOutput ? ["OUTPUT"] : []), read: Read.integer)
    }

    static func unobserve(_ id: UInt64) -> Call {
        Call(["UNOBSERVE", .text("\(id)")], read: Read.integer)
    }

    /// RETRY and DROP of one job, or of all of a selector.
    static func failed(_ command: String, _ id: UInt64) -> Call {
        Call([.text(command), .text("\(id)")], read: Read.integer)
    }

    static func failed(_ command: String, allOf selector: String) -> Call {
        Call([.text(command), "ALL", .text(selector)], read: Read.integer)
    }

    static func fire(_ thread: String) -> Call {
        Call(["FIRE", .text(thread)], read: Read.integer)
    }

    static func unschedule(_ name: String) -> Call {
        Call(["UNSCHEDULE", .text(name)], read: Read.integer)
    }
}

extension Call where Value == JobDescription {
    static func job(_ id: UInt64) -> Call {
        Call(["JOB", .text("\(id)")], read: JobDescription.init)
    }
}

extension Call where Value == [JobSummary] {
    static func jobs(
        _ thread: String?, _ state: JobSummary.State?, _ limit: Int?, _ conditions: JobConditions
    ) -> Call {
        var arguments: [CommandArgument] = ["JOBS"]
        // The state first: a thread may have the name of a state.
        if let state { arguments.append(.text(state.rawValue)) }
        if let thread { arguments.append(.text(thread)) }
        if let limit { arguments += ["LIMIT", .integer(max(0, limit))] }
        arguments += conditions.arguments
        return Call(arguments) { (reply) throws(WorkerClientError) in
            try Read.list(reply, JobSummary.init)
        }
    }
}

extension Call where Value == BulkCount {
    static func count(
        _ operation: BulkOperation, _ thread: String?, _ state: JobSummary.State?,
        _ conditions: JobConditions
    ) -> Call {
        Call(
            Self.bulk(operation, ["DRY"], thread, state, conditions), read: BulkCount.init)
    }
}

extension Call where Value == BulkDescription {
    static func begin(
        _ operation: BulkOperation, _ thread: String?, _ state: JobSummary.State?,
        _ conditions: JobConditions, upTo: UInt64?, limit: Int?
    ) -> Call {
        var options: [CommandArgument] = []
        if let upTo { options += ["UPTO", .text("\(upTo)")] }
        if let limit { options += ["LIMIT", .integer(max(0, limit))] }
        return Call(
            Self.bulk(operation, options, thread, state, conditions), read: BulkDescription.init)
    }

    static func bulkStatus(_ id: Int, _ patience: Duration?) -> Call {
        let wait = patience.map(JobWait.atMost)
        return Call(
            ["BULK", "STATUS", .integer(id)] + (wait?.arguments ?? []), wait: wait,
            read: BulkDescription.init)
    }

    static func stopBulk(_ id: Int) -> Call {
        Call(["BULK", "STOP", .integer(id)], read: BulkDescription.init)
    }
}

extension Call where Value == [BulkDescription] {
    static var bulkRuns: Call {
        Call(["BULK", "LIST"]) { (reply) throws(WorkerClientError) in
            try Read.list(reply, BulkDescription.init)
        }
    }
}

extension Call where Value == [FailureGroup] {
    static func failures(_ thread: String?, _ conditions: JobConditions) -> Call {
        Call(
            ["FAILURES"] + (thread.map { [.text($0)] } ?? []) + conditions.filterArguments
        ) { (reply) throws(WorkerClientError) in
            try Read.list(reply, FailureGroup.init)
        }
    }
}

extension Call {
    /// The arguments of BULK with an operation.
    fileprivate static func bulk(
        _ operation: BulkOperation, _ options: [CommandArgument], _ thread: String?,
        _ state: JobSummary.State?, _ conditions: JobConditions
    ) -> [CommandArgument] {
        // The state first: a thread may have the name of a state.
        ["BULK", .text(operation.rawValue)] + options
            + (state.map { [.text($0.rawValue)] } ?? []) + (thread.map { [.text($0)] } ?? [])
            + conditions.filterArguments
    }
}

extension Call where Value == [ScheduleDescription] {
    static var schedules: Call {
        Call(["SCHEDULES"]) { (reply) throws(WorkerClientError) in
            try Read.list(reply, ScheduleDescription.init)
        }
    }
}

extension Call where Value == [ThreadDescription] {
    static var threads: Call {
        Call(["THREADS"]) { (reply) throws(WorkerClientError) in
            try Read.list(reply, ThreadDescription.init)
        }
    }
}

extension Call where Value == [WorkerDescription] {
    static var workers: Call {
        Call(["WORKERS"]) { (reply) throws(WorkerClientError) in
            try Read.list(reply, WorkerDescription.init)
        }
    }
}

extension Call where Value == [NodeDescription] {
    static var nodes: Call {
        Call(["NODES"]) { (reply) throws(WorkerClientError) in
            try Read.list(reply, NodeDescription.init)
        }
    }
}

extension Call where Value == ThreadOrPool {
    static func thread(_ name: String) -> Call {
        Call(["THREAD", .text(name)], read: ThreadOrPool.init)
    }
}

extension Call where Value == [SelectorDescription] {
    static var selectors: Call {
        Call(["SELECTORS"]) { (reply) throws(WorkerClientError) in
            try Read.list(reply, SelectorDescription.init)
        }
    }
}

extension Call where Value == String {
    static func information(_ section: String?) -> Call {
        Call(["INFO"] + (section.map { [.text($0)] } ?? [])) { (reply) throws(WorkerClientError) in
            guard let text = reply.text else { throw Read.unexpected(reply, "a text") }
            return text
        }
    }

    static var page: Call {
        Call(["PAGE"]) { (reply) throws(WorkerClientError) in
            guard let address = reply["url"]?.text else { throw Read.unexpected(reply, "a url") }
            return address
        }
    }

    static func backup(_ name: String, replaces: Bool) -> Call {
        Call(
            ["BACKUP", .text(name)] + (replaces ? ["REPLACE"] : []), wait: .forever
        ) { (reply) throws(WorkerClientError) in
            guard let path = reply.text else { throw Read.unexpected(reply, "a path") }
            return path
        }
    }
}

extension Call where Value == [String] {
    static func reload(isDry: Bool) -> Call {
        Call(["RELOAD"] + (isDry ? ["DRY"] : []), wait: .forever) {
            (reply) throws(WorkerClientError) in
            try Read.list(reply) { (line) throws(WorkerClientError) in
                guard let text = line.text else { throw Read.unexpected(line, "a line") }
                return text
            }
        }
    }
}

extension Call where Value == Void {
    static func steer(_ command: String, _ thread: String) -> Call {
        Call([.text(command), .text(thread)], read: Read.nothing)
    }

    static func schedule(
        _ name: String, _ rhythm: ScheduleRhythm, _ thread: String, _ selector: String,
        _ payload: [UInt8], _ options: ScheduleOptions
    ) -> Call {
        Call(
            ["SCHEDULE", .text(name)] + rhythm.arguments + options.commandArguments
                + [.text(thread), .text(selector), .bytes(payload)], read: Read.nothing)
    }

    static var ping: Call { Call(["PING"], read: Read.nothing) }

    static var live: Call { Call(["THREADS", "LIVE"], read: Read.nothing) }

    static func shutdown(_ manner: ShutdownManner) -> Call {
        Call(["SHUTDOWN"] + manner.arguments, wait: .forever, read: Read.nothing)
    }
}

extension Call where Value == Reply {
    static func raw(_ parts: [CommandPart], wait: JobWait?) -> Call {
        require(!parts.isEmpty, "a command has a name")
        return Call(parts.map(\.argument), wait: wait) { (reply) in Reply(reply) }
    }
}

/// Readers of replies, one for each kind of answer.
enum Read {
    @Sendable static func id(_ reply: RESPValue) throws(WorkerClientError) -> UInt64 {
        guard let id = reply.integer.flatMap({ UInt64(exactly: $0) }) else {
            throw unexpected(reply, "a job's number")
        }
        return id
    }

    @Sendable static func integer(_ reply: RESPValue) throws(WorkerClientError) -> Int {
        guard let value = reply.integer else { throw unexpected(reply, "a number") }
        return value
    }

    @Sendable static func bytes(_ reply: RESPValue) throws(WorkerClientError) -> [UInt8] {
        guard let bytes = reply.bytes else { throw unexpected(reply, "bytes") }
        return bytes
    }

    @Sendable static func nothing(_ reply: RESPValue) throws(WorkerClientError) {
        guard reply.text != nil else { throw unexpected(reply, "OK") }
    }

    static func list<Element>(
        _ reply: RESPValue, _ read: (RESPValue) throws(WorkerClientError) -> Element
    ) throws(WorkerClientError) -> [Element] {
        guard let elements = reply.elements else { throw unexpected(reply, "a list") }
        var list: [Element] = []
        list.reserveCapacity(elements.count)
        for element in elements { list.append(try read(element)) }
        return list
    }

    static func unexpected(_ reply: RESPValue, _ expected: String) -> WorkerClientError {
        .protocolFault("\(reply.kind) came where \(expected) was expected")
    }
}

extension TakeWish {
    /// The words of a TAKE.
    fileprivate var arguments: [CommandArgument] {
        let own: [CommandArgument] = ownThread.map { ["OWN", .text($0)] } ?? []
        return ["TAKE", "AS", .text(name)] + own
            + ["WAIT", .integer(Int(wait.wholeMilliseconds)), "STOPS", "TRACE", "FROM"]
            + selectors.map { .text($0) }
    }
}

extension Call where Value == TakenJob? {
    static func take(_ wish: TakeWish) -> Call {
        Call(wish.arguments, read: TakenJob.init)
    }

    /// DONE, FAIL or GIVEBACK.
    ///
    /// - Parameter next: asks for the next job with a result; other ends take no heed of it.
    static func end(
        _ end: ServedEnd, _ id: UInt64, _ token: String, then next: TakeWish?
    ) -> Call {
        let delivery: [CommandArgument] = [.text("\(id)"), .text(token)]
        switch end {
        case .done(let result):
            let then = next.map { ["THEN"] + $0.arguments } ?? []
            return Call(["DONE"] + delivery + then + [.bytes(result)]) {
                (reply) throws(WorkerClientError) in
                next == nil ? nil : try TakenJob(reply)
            }
        case .failed(let failure):
            let following: [CommandArgument] =
                switch failure.next {
                case .asPlanned: []
                case .final: ["FINAL"]
                case .again(let pause): ["AGAIN", .integer(pause.againMilliseconds)]
                }
            return Call(["FAIL"] + delivery + following + [.text(failure.reason)]) { _ in nil }
        case .givenBack: return Call(["GIVEBACK"] + delivery + ["AFTER", 0]) { _ in nil }
        }
    }
}

extension Call where Value == String {
    static func report(
        _ id: UInt64, _ token: String, _ percent: Double, _ text: String
    ) -> Call {
        Call(["REPORT", .text("\(id)"), .text(token), .text("\(percent)"), .text(text)]) {
            (reply) throws(WorkerClientError) in
            guard let word = reply.text else { throw Read.unexpected(reply, "a word") }
            return word
        }
    }
}

extension Duration {
    /// A pause as FAIL takes it: an hour at most.
    fileprivate var againMilliseconds: Int {
        Int(min(max(self, .zero), .seconds(3_600)).wholeMilliseconds)
    }
}
