// Commands that hand in jobs, take them back, and ask after them.

internal import Jobs
internal import Kernel
internal import RESP
internal import Wording

enum JobCommands {
    static let performCommand =
        CommandSpecification(
            "perform", 4...24, .jobs,
            usage: "thread selector [WAIT [ms]] [DELAY ms | AT unix-ms] "
                + "[PRIORITY high|normal|low] [KEY k] [UNIQUE id] [TIMEOUT ms] [RETRY n "
                + "[BLOCK|ASIDE]] [VOLATILE] payload",
            "Accepts a job. Answers with its number, or with WAIT with its result.",
            execute: perform)

    static let all: [CommandSpecification] = [
        performCommand,
        CommandSpecification(
            "cancel", 2...4, .jobs, usage: "id | thread selector [payload]",
            "Takes back what has not begun; asks a running job to end. Answers what became of the "
                + "job, or how many were taken back.",
            execute: cancel),
        CommandSpecification(
            "buffer", 4...4, .jobs, usage: "thread selector payload",
            "Collects a job for a thread without waking it. Answers with its number.",
            execute: buffer),
        CommandSpecification(
            "fire", 2...2, .jobs, usage: "thread",
            "Hands over the jobs that were collected for a thread. Answers how many.",
            execute: fire),
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
    ) throws -> RESPValue? {
        let options = try PerformOptions(command, service.desk.wall)
        let desk = service.desk
        guard desk.isDurable(options.request) else {
            let id = try desk.accept(options.request)
            guard let wait = options.wait else { return .integer(Int(id.number)) }
            service.wait(for: id, session, token: session.reserve().number, within: wait)
            return nil
        }
        // The journal never answers at once: the place among the replies is taken before.
        let slot = session.reserve()
        // Only this of the options outlives the command.
        let wait = options.wait
        do throws(JobError) {
            try desk.acceptOrFind(options.request) { result in
                switch (result, wait) {
                case (.success(let id), let limit?):
                    service.wait(for: id, session, token: slot.number, within: limit)
                case (.success(let id), nil): session.fill(slot, with: .integer(Int(id.number)))
                case (.failure(let error), _): session.fill(slot, with: WireError(error).reply)
                }
            }
        } catch {
            session.fill(slot, with: WireError(error).reply)
        }
        return nil
    }

    private static func cancel(
        _ service: Service, _ session: Session, _ command: Command
    ) throws -> RESPValue? {
        let desk = service.desk
        guard command.count == 2 else {
            let payload = command.count == 4 ? command.bytes(at: 3) : nil
            let (thread, selector) = (command.text(at: 1), command.text(at: 2))
            guard desk.durable != nil else {
                let cancelled = try desk.cancel(
                    thread: thread, selector: selector, payload: payload)
                return .integer(cancelled.count)
            }
            let slot = Pledge(session)
            try desk.cancelDurably(thread: thread, selector: selector, payload: payload) {
                slot.fill($0.map { .integer($0) })
            }
            return slot.take()
        }
        let hint = "; for jobs of a thread: CANCEL thread selector [payload]"
        let id = try id(command, at: 1, else: hint)
        desk.forgetExpired()
        let answer = desk.cancel(id)
        if let answer, !desk.mustConfirm(answer, of: id) { return .simpleString(answer.rawValue) }
        let slot = Pledge(session)
        let reply = { (result: Result<CancelAnswer, JobError>) in
            slot.fill(result.map { .simpleString($0.rawValue) })
        }
        if let answer { desk.confirm(answer, reply) } else { desk.cancelParked(id, reply) }
        return slot.take()
    }

    private static func buffer(
        _ service: Service, _ session: Session, _ command: Command
    ) throws -> RESPValue? {
        let request = JobRequest(
            thread: command.text(at: 1), selector: command.text(at: 2),
            payload: command.bytes(at: 3), schedule: .buffered)
        guard service.desk.isDurable(request) else {
            return .integer(Int(try service.desk.accept(request).number))
        }
        let slot = Pledge(session)
        try service.desk.acceptDurably(request) {
            slot.fill($0.map { .integer(Int($0.number)) })
        }
        return slot.take()
    }

    private static func fire(
        _ service: Service, _ session: Session, _ command: Command
    ) throws -> RESPValue? {
        let (desk, thread) = (service.desk, command.text(at: 1))
        guard desk.durable != nil else {
            return .integer(desk.release(try desk.takeBuffered(thread)))
        }
        let slot = Pledge(session)
        try desk.fireDurably(thread) { slot.fill($0.map { .integer($0) }) }
        return slot.take()
    }

    private static func job(
        _ service: Service, _ session: Session, _ command: Command
    ) throws -> RESPValue? {
        let id = try id(command, at: 1)
        let desk = service.desk
        desk.noteRunning()
        desk.forgetExpired()
        if let job = desk.store.job(id) {
            return .map(describe(job, desk) + details(job) + progress(of: id, desk))
        }
        guard desk.durable != nil else { throw desk.noJob(id) }
        let slot = Pledge(session)
        service.ask(.lookup, byteCount: Service.descriptionByteCount, for: session) { grant in
            desk.lookUp(id) { found in
                defer { withExtendedLifetime(grant) {} }
                // It may have come into memory since, where more is known of it.
                slot.fill(
                    found.map {
                        let job = desk.store.job(id) ?? $0
                        return .map(
                            describe(job, desk) + details(job) + progress(of: id, desk))
                    })
            }
        }
        return slot.take()
    }

    private static func result(
        _ service: Service, _ session: Session, _ command: Command
    ) throws -> RESPValue? {
        let id = try id(command, at: 1)
        let desk = service.desk
        guard command.count > 2 else {
            desk.forgetExpired()
            if desk.live[id] != nil { return .null }
            guard desk.durable != nil, desk.store.job(id) == nil else {
                return try bulk(desk.result(of: id))
            }
            let slot = Pledge(session)
            service.ask(.lookup, byteCount: Service.resultByteCount, for: session) { grant in
                desk.lookUp(id) { found in
                    defer { withExtendedLifetime(grant) {} }
                    slot.fill(
                        found.flatMap { JobDesk.answer($0, id) }
                            .map { $0.map { .bulk($0) } ?? .null })
                }
            }
            return slot.take()
        }
        guard command.matches(2, "WAIT") else {
            throw WireError(
                .err, "RESULT id [WAIT [ms]]: \(quoted(command.text(at: 2))) is not WAIT")
        }
        let limit =
            command.count == 4
            ? try command.count(at: 3, "WAIT", max: PerformOptions.millisecondsMax) : nil
        service.wait(for: id, session, token: session.reserve().number, within: limit)
        return nil
    }

    private static func jobs(
        _ service: Service, _ session: Session, _ command: Command
    ) throws -> RESPValue? {
        var thread: String?
        var state: JobState?
        var isStuck = false
        var limit = 100
        var index = 1
        var options = OptionPlaces()
        while index < command.count {
            let word = command.text(at: index)
            if command.matches(index, "LIMIT") {
                try options.note(index, of: command)
                guard index + 1 < command.count else {
                    throw WireError(.err, "LIMIT needs a number behind it")
                }
                limit = try command.count(at: index + 1, "LIMIT", max: 10_000)
                index += 1
            } else if let known = JobState(rawValue: word.lowercased()), state == nil, !isStuck {
                state = known
            } else if command.matches(index, "STUCK"), state == nil, !isStuck {
                isStuck = true
            } else if thread == nil {
                try service.desk.checkKnown(word)
                thread = word
            } else {
                throw WireError(.err, "JOBS [thread] [state] [LIMIT n]: what is \(quoted(word))?")
            }
            index += 1
        }
        let desk = service.desk
        if isStuck {
            let jobs = desk.listStuck(thread: thread, limit: limit)
            return .array(jobs.map { .map(describe($0, desk)) })
        }
        list(service, session, thread, state, limit)
        return nil
    }

    /// Answers with a listing, which is written slice by slice.
    private static func list(
        _ service: Service, _ session: Session, _ thread: String?, _ state: JobState?, _ limit: Int
    ) {
        let (desk, slot, writer) = (service.desk, session.reserve(), session.writer)
        service.ask(.listing, byteCount: limit * Service.rowByteCount, for: session) { grant in
            var (count, rows) = (0, [UInt8]())
            let listing = Listing(
                thread: thread, state: state, limit: limit,
                take: { [weak session] jobs in
                    for job in jobs { writer.write(.map(describe(job, desk)), to: &rows) }
                    count += jobs.count
                    return session?.isOpen == true
                },
                then: { [weak session] result in
                    defer { withExtendedLifetime(grant) {} }
                    switch result {
                    case .failure(let error): session?.fill(slot, with: WireError(error).reply)
                    case .success:
                        var reply: [UInt8] = []
                        writer.writeArrayHeader(count: count, to: &reply)
                        session?.fill(slot, encoded: reply + rows)
                    }
                })
            desk.list(listing)
        }
    }

    private static func bulk(
        _ result: Result<[UInt8], JobError>
    ) throws(JobError) -> RESPValue {
        .bulk(try result.get())
    }

    /// The job's number at a place.
    ///
    /// - Parameter hint: what else could have been meant, behind what was wrong.
    static func id(
        _ command: Command, at index: Int, else hint: String = ""
    ) throws(WireError) -> JobID {
        guard let id = JobID(bytes: command[index]) else {
            let given = quoted(command.text(at: index))
            throw WireError(.err, "a job's number is a positive integer, not \(given)\(hint)")
        }
        return id
    }

    private static func describe(_ job: Job, _ desk: JobDesk) -> [RESPValue.Entry] {
        [
            entry("id", .integer(Int(job.id.number))),
            entry("thread", text(job.thread)),
            entry("selector", text(job.selector)),
            entry("state", text(desk.shownState(of: job))),
            entry("priority", text(job.priority.name)),
            entry("attempt", .integer(job.attempt)),
        ] + (desk.live[job.id]?.lastFailure.map { [entry("last-failure", text($0))] } ?? [])
    }

    /// Null once the job has ended, and before its handler has said something.
    private static func progress(of id: JobID, _ desk: JobDesk) -> [RESPValue.Entry] {
        let progress = desk.live[id]?.context.progress
        return [
            entry("progress", progress?.fraction.map { .double($0) } ?? .null),
            entry("progress-text", progress?.shownText.map(text) ?? .null),
        ]
    }

    private static func details(_ job: Job) -> [RESPValue.Entry] {
        let key = job.key.map { [entry("key", .bulk($0))] } ?? []
        return times(job) + key
    }

    private static func times(_ job: Job) -> [RESPValue.Entry] {
        func time(_ milliseconds: Int64?) -> RESPValue {
            milliseconds.map { .integer(Int($0)) } ?? .null
        }
        return [
            entry("accepted-at", time(job.acceptedAt)),
            entry("due-at", time(job.dueAt)),
            entry("started-at", time(job.startedAt)),
            entry("ended-at", time(job.endedAt)),
            entry("worker", job.workerName.map(text) ?? .null),
            entry("payload-bytes", .integer(job.state.isEnded ? 0 : job.payload.count)),
            entry("failure", job.outcome?.failureReason.map(text) ?? .null),
        ]
    }
}

extension Session: OutcomeReceiver {
    /// Whether the client has left.
    var isGone: Bool { !isOpen }

    /// Answers the command that waits under the token with a job's outcome.
    func receive(_ result: Result<[UInt8], JobError>, token: UInt64) {
        switch result {
        case .success(let bytes): fill(Slot(number: token), with: .bulk(bytes))
        case .failure(let error): fill(Slot(number: token), with: WireError(error).reply)
        }
    }
}

/// A pair of a map reply.
func entry(_ key: String, _ value: RESPValue) -> RESPValue.Entry {
    RESPValue.Entry(text(key), value)
}

/// Text as a bulk reply.
func text(_ text: String) -> RESPValue { .bulk(Array(text.utf8)) }
