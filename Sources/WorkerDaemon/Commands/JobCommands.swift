// Commands that hand in jobs, take them back, and ask after them.

internal import Jobs
internal import Kernel
internal import RESP

enum JobCommands {
    /// The longest delay and wait: a hundred years, in milliseconds.
    private static let millisecondsMax = 100 * 365 * 24 * 60 * 60 * 1_000

    static let performCommand =
        CommandSpecification(
            "perform", 4...24, .jobs,
            usage: "thread selector [WAIT [ms]] [DELAY ms | AT unix-ms] "
                + "[PRIORITY high|normal|low] [TIMEOUT ms] [VOLATILE] payload",
            "Accepts a job. Answers with its number, or with WAIT with its result.",
            execute: perform)

    static let all: [CommandSpecification] = [
        performCommand,
        CommandSpecification(
            "cancel", 2...4, .jobs, usage: "id | thread selector [payload]",
            "Takes back what has not begun; asks a running job to end. Answers how many.",
            execute: cancel),
        CommandSpecification(
            "buffer", 4...4, .jobs, usage: "thread selector payload",
            "Collects a job for a thread without waking it. Answers with its number.",
            execute: buffer),
        CommandSpecification(
            "fire", 2...2, .jobs, usage: "thread",
            "Hands over the jobs that were collected for a thread. Answers how many.",
            execute: { service, _, command throws(WireError) in
                .integer(try service.desk.fire(command.text(at: 1)))
            }),
        CommandSpecification(
            "job", 2...2, .jobs, usage: "id", "Everything that is known of a job.", execute: job),
        CommandSpecification(
            "result", 2...4, .jobs, usage: "id [WAIT [ms]]",
            "The result of a job that has ended; null before that, unless WAIT.",
            execute: result),
        CommandSpecification(
            "jobs", 1...5, .jobs, usage: "[thread] [state] [LIMIT n]",
            "Jobs, the newest first.", execute: jobs),
    ]

    private static func perform(
        _ service: Service, _ session: Session, _ command: Command
    ) throws(WireError) -> RESPValue? {
        let options = try PerformOptions(command)
        let id = try service.desk.accept(options.request(command))
        guard let wait = options.wait else { return .integer(Int(id.number)) }
        service.desk.wait(for: id, session, token: session.reserve().number, within: wait)
        return nil
    }

    private static func cancel(
        _ service: Service, _ session: Session, _ command: Command
    ) throws(WireError) -> RESPValue? {
        if command.count == 2 {
            return .integer(try service.desk.cancel(try id(command, at: 1)) ? 1 : 0)
        }
        let payload = command.count == 4 ? command.bytes(at: 3) : nil
        return .integer(
            try service.desk.cancel(
                thread: command.text(at: 1), selector: command.text(at: 2), payload: payload))
    }

    private static func buffer(
        _ service: Service, _ session: Session, _ command: Command
    ) throws(WireError) -> RESPValue? {
        let request = JobDesk.Request(
            thread: command.text(at: 1), selector: command.text(at: 2),
            payload: command.bytes(at: 3))
        return .integer(Int(try service.desk.accept(request, hold: true).number))
    }

    private static func job(
        _ service: Service, _ session: Session, _ command: Command
    ) throws(WireError) -> RESPValue? {
        let id = try id(command, at: 1)
        service.desk.noteRunning()
        guard let job = service.desk.store.job(id) else {
            throw WireError(.noJob, "there is no job \(id), or it ended too long ago to be kept")
        }
        return .map(describe(job) + details(job))
    }

    private static func result(
        _ service: Service, _ session: Session, _ command: Command
    ) throws(WireError) -> RESPValue? {
        let id = try id(command, at: 1)
        guard command.count > 2 else {
            if service.desk.live[id] != nil { return .null }
            return try bulk(service.desk.result(of: id))
        }
        guard command.matches(2, "WAIT") else {
            throw WireError(
                .err, "RESULT id [WAIT [ms]]: \(quoted(command.text(at: 2))) is not WAIT")
        }
        let limit =
            command.count == 4
            ? try command.count(at: 3, "WAIT", max: millisecondsMax) : nil
        service.desk.wait(for: id, session, token: session.reserve().number, within: limit)
        return nil
    }

    private static func jobs(
        _ service: Service, _ session: Session, _ command: Command
    ) throws(WireError) -> RESPValue? {
        var thread: String?
        var state: JobState?
        var limit = 100
        var index = 1
        while index < command.count {
            let word = command.text(at: index)
            if command.matches(index, "LIMIT") {
                guard index + 1 < command.count else {
                    throw WireError(.err, "LIMIT needs a number behind it")
                }
                limit = try command.count(at: index + 1, "LIMIT", max: 10_000)
                index += 1
            } else if let known = JobState(rawValue: word.lowercased()), state == nil {
                state = known
            } else if thread == nil {
                _ = try service.desk.lane(of: word)
                thread = word
            } else {
                throw WireError(.err, "JOBS [thread] [state] [LIMIT n]: what is \(quoted(word))?")
            }
            index += 1
        }
        service.desk.noteRunning()
        let found = service.desk.store.list(
            thread: thread, state: state, limit: limit, order: .newestFirst)
        return .array(found.map { .map(describe($0)) })
    }

    private static func bulk(
        _ result: Result<[UInt8], WireError>
    ) throws(WireError) -> RESPValue {
        .bulk(try result.get())
    }

    private static func id(_ command: Command, at index: Int) throws(WireError) -> JobID {
        guard let id = JobID(bytes: command[index]) else {
            throw WireError(
                .err, "a job's number is a positive integer, not \(quoted(command.text(at: index)))"
            )
        }
        return id
    }

    private static func describe(_ job: Job) -> [RESPValue.Entry] {
        [
            entry("id", .integer(Int(job.id.number))),
            entry("thread", text(job.thread)),
            entry("selector", text(job.selector)),
            entry("state", text(job.state.rawValue)),
            entry("priority", text(job.priority.name)),
            entry("attempt", .integer(job.attempt)),
        ]
    }

    private static func details(_ job: Job) -> [RESPValue.Entry] {
        func time(_ milliseconds: Int64?) -> RESPValue {
            milliseconds.map { .integer(Int($0)) } ?? .null
        }
        let failure: String? =
            switch job.outcome {
            case .failed(let reason): reason
            case .timedOut: "took longer than its time limit"
            case .cancelled, .done, nil: nil
            }
        return [
            entry("accepted-at", time(job.acceptedAt)),
            entry("due-at", time(job.dueAt)),
            entry("started-at", time(job.startedAt)),
            entry("ended-at", time(job.endedAt)),
            entry("worker", job.workerName.map(text) ?? .null),
            entry("payload-bytes", .integer(job.payload.count)),
            entry("failure", failure.map(text) ?? .null),
        ]
    }
}

extension Session: OutcomeReceiver {
    /// Whether the client has left.
    var isGone: Bool { !isOpen }

    /// Answers the command that waits under the token with a job's outcome.
    func receive(_ result: Result<[UInt8], WireError>, token: UInt64) {
        switch result {
        case .success(let bytes): fill(Slot(number: token), with: .bulk(bytes))
        case .failure(let error): fill(Slot(number: token), with: error.reply)
        }
    }
}

/// A pair of a map reply.
func entry(_ key: String, _ value: RESPValue) -> RESPValue.Entry {
    RESPValue.Entry(text(key), value)
}

/// Text as a bulk reply.
func text(_ text: String) -> RESPValue { .bulk(Array(text.utf8)) }

/// The options of a PERFORM: everything between the selector and the payload.
struct PerformOptions {
    /// Present with WAIT; inside, how long in milliseconds, or nil for as long as it takes.
    private(set) var wait: Int??
    private(set) var priority = Priority.normal
    private(set) var dueAt: Int64?
    private(set) var timeoutMilliseconds: Int?

    private static let millisecondsMax = 100 * 365 * 24 * 60 * 60 * 1_000

    init(_ command: Command) throws(WireError) {
        var index = 3
        let payloadIndex = command.count - 1
        while index < payloadIndex {
            index = try read(command, at: index, before: payloadIndex)
        }
    }

    /// The job that the command asks for.
    func request(_ command: Command) -> JobDesk.Request {
        JobDesk.Request(
            thread: command.text(at: 1), selector: command.text(at: 2),
            payload: command.bytes(at: command.count - 1), priority: priority, dueAt: dueAt,
            timeoutMilliseconds: timeoutMilliseconds)
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
            wait = .some(nil)
            guard index + 1 < end, command[index + 1].first.map(Self.isNumeric) == true else {
                return index + 1
            }
            wait = .some(try milliseconds("WAIT"))
            return index + 2
        }
        if command.matches(index, "DELAY") || command.matches(index, "AT") {
            guard dueAt == nil else { throw WireError(.err, "DELAY and AT: one of them, once") }
            let isDelay = command.matches(index, "DELAY")
            let value = Int64(try milliseconds(isDelay ? "DELAY" : "AT"))
            dueAt = isDelay ? WallClock.unixMilliseconds() + value : value
            return index + 2
        }
        if command.matches(index, "TIMEOUT") {
            let value = try milliseconds("TIMEOUT")
            guard value > 0 else { throw WireError(.err, "TIMEOUT must be at least 1 ms") }
            timeoutMilliseconds = value
            return index + 2
        }
        if command.matches(index, "PRIORITY") {
            guard index + 1 < end, let named = Priority(name: command[index + 1]) else {
                throw WireError(.err, "PRIORITY must be high, normal or low")
            }
            priority = named
            return index + 2
        }
        // Everything is volatile while the store is memory.
        if command.matches(index, "VOLATILE") { return index + 1 }
        for option: StaticString in ["KEY", "UNIQUE", "RETRY"] where command.matches(index, option)
        {
            throw WireError(
                .err, "\(option) needs a durable store, which this version does not have yet")
        }
        throw WireError(
            .err,
            "unknown option \(quoted(command.text(at: index))); the payload is the last argument, "
                + "in quotes if it has spaces")
    }

    private static func isNumeric(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: "-") || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
    }
}
