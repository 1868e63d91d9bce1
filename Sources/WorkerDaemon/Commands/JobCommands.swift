// Commands that hand in jobs, take them back, and ask after them.

internal import Jobs
internal import Kernel
internal import RESP
internal import Wording

enum JobCommands {
    static let performCommand =
        CommandSpecification(
            "perform", 4...(32 + 2 * JobOptionReader.wordCountMax), .jobs, .submit,
            usage: PerformArguments.usage,
            "Accepts a job. Answers with its number, or with WAIT with its result.",
            execute: perform)

    static let all: [CommandSpecification] = [
        performCommand,
        CommandSpecification(
            "cancel", 2...4, .jobs, .submit.or(.operate).logged(showing: 2),
            usage: "id | thread selector [payload]",
            "Takes back what has not begun; asks a running job to end. Answers what became of the "
                + "job, or how many were taken back.",
            execute: cancel),
        CommandSpecification(
            "buffer", 4...4, .jobs, .submit, usage: "thread selector payload",
            "Collects a job for a thread without waking it. Answers with its number.",
            execute: buffer),
        CommandSpecification(
            "fire", 2...2, .jobs, .submit, usage: "thread",
            "Hands over the jobs that were collected for a thread. Answers how many.",
            execute: fire),
        CommandSpecification(
            "job", 2...2, .jobs, .observe, usage: "id", "Everything that is known of a job.",
            execute: job),
        CommandSpecification(
            "payload", 2...2, .jobs, .observe.withPayloads, usage: "id",
            "The payload of a job that has not ended, or has failed and is kept.",
            execute: payload),
        CommandSpecification(
            "result", 2...4, .jobs, .observe.withPayloads.orOnLinks(.submit),
            usage: "id [WAIT [ms]]",
            "The result of a job that has ended; null before that, unless WAIT.",
            execute: result),
        CommandSpecification(
            "output", 2...4, .jobs, .observe.withPayloads, usage: "id [ATTEMPT n]",
            "The end of what a job's program has written to its standard output and error; null if "
                + "nothing of it is kept.",
            execute: output),
        CommandSpecification(
            "jobs", 1...19, .jobs, .observe, usage: JobsArguments.usage, "Jobs, the newest first.",
            execute: jobs),
    ]

    private static func perform(
        _ service: Service, _ session: Session, _ command: Command
    ) throws -> RESPValue? {
        let arguments = try PerformArguments(
            command, service.driver.wall, &service.recentNames)
        if !session.user.mayDoAll { try check(arguments, session.user) }
        try service.driver.checkWords(of: arguments.request)
        let reply = session.reserve(
            arguments.patience, tellsWhetherNew: arguments.tellsWhetherNew)
        service.driver.perform(arguments.request, reply)
        return nil
    }

    /// Refuses a job that a user may not hand in, or whose result it may not see.
    private static func check(_ arguments: borrowing PerformArguments, _ user: User)
        throws(WireError)
    {
        try user.check(thread: arguments.request.thread, selector: arguments.request.selector)
        // A unique name may lead to a job of another user.
        if arguments.patience != nil { try user.checkSeesPayloads("perform|wait") }
    }

    private static func cancel(
        _ service: Service, _ session: Session, _ command: Command
    ) throws -> RESPValue? {
        guard command.count == 2 else {
            let (thread, selector) = (command.text(at: 1), command.text(at: 2))
            let payload = command.count == 4 ? command.bytes(at: 3) : nil
            try session.user.check(thread: thread, selector: selector)
            let reply = session.reserve()
            service.driver.input {
                $0.cancel(thread: thread, selector: selector, payload: payload, reply)
            }
            return nil
        }
        let hint = "; for jobs of a thread: CANCEL thread selector [payload]"
        let (id, driver) = (try id(command, at: 1, else: hint), service.driver)
        service.withJob(id, session, session.reserve()) { reply in
            driver.input { $0.cancel(id, reply) }
        }
        return nil
    }

    private static func buffer(
        _ service: Service, _ session: Session, _ command: Command
    ) throws -> RESPValue? {
        let request = JobRequest(
            thread: command.text(at: 1), selector: command.text(at: 2),
            payload: command.bytes(at: 3), schedule: .buffered)
        try session.user.check(thread: request.thread, selector: request.selector)
        service.driver.perform(request, session.reserve())
        return nil
    }

    private static func fire(
        _ service: Service, _ session: Session, _ command: Command
    ) throws -> RESPValue? {
        let thread = command.text(at: 1)
        try session.user.check(thread: thread)
        let reply = session.reserve()
        service.driver.input { $0.fire(thread, reply) }
        return nil
    }

    private static func job(
        _ service: Service, _ session: Session, _ command: Command
    ) throws -> RESPValue? {
        let (id, driver) = (try id(command, at: 1), service.driver)
        service.lookUp(id, byteCount: Service.descriptionByteCount, session, session.reserve()) {
            reply in
            driver.input { $0.describe(id, reply) }
        }
        return nil
    }

    private static func payload(
        _ service: Service, _ session: Session, _ command: Command
    ) throws -> RESPValue? {
        let (id, driver) = (try id(command, at: 1), service.driver)
        service.withJob(id, session, session.reserve()) { reply in
            let isInMemory = driver.input { $0.knowsPayload(of: id) }
            if isInMemory, !service.copiesResults(session) {
                driver.input { $0.payload(of: id, reply) }
            } else {
                let kind = isInMemory ? QuestionQueue.Kind.state : .lookup
                service.ask(kind, byteCount: Service.resultByteCount, session, reply) {
                    driver.input { $0.payload(of: id, reply) }
                }
            }
        }
        return nil
    }

    private static func result(
        _ service: Service, _ session: Session, _ command: Command
    ) throws -> RESPValue? {
        let (id, driver) = (try id(command, at: 1), service.driver)
        guard command.count > 2 else {
            service.withJob(id, session, session.reserve()) { reply in
                service.lookUp(id, byteCount: Service.resultByteCount, session, reply) { reply in
                    driver.input { $0.result(of: id, reply) }
                }
            }
            return nil
        }
        guard command.matches(2, "WAIT") else {
            throw WireError(
                .err, "RESULT id [WAIT [ms]]: \(quoted(command.text(at: 2))) is not WAIT")
        }
        var patience = ReplyToken.Patience.unlimited
        if command.count == 4 {
            patience = .milliseconds(
                try command.count(at: 3, "WAIT", max: JobOptionReader.millisecondsMax))
        }
        service.withJob(id, session, session.reserve(patience)) { reply in
            service.wait(for: id, session, reply)
        }
        return nil
    }

    private static func output(
        _ service: Service, _ session: Session, _ command: Command
    ) throws -> RESPValue? {
        let id = try id(command, at: 1)
        var attempt = 0
        if command.count > 2 {
            guard command.matches(2, "ATTEMPT") else {
                throw WireError(
                    .err, "OUTPUT id [ATTEMPT n]: \(quoted(command.text(at: 2))) is not ATTEMPT")
            }
            guard command.count == 4 else {
                throw WireError(.err, "ATTEMPT needs a number behind it")
            }
            attempt = try command.count(at: 3, "ATTEMPT", max: .max)
            guard attempt > 0 else { throw WireError(.err, "ATTEMPT must be at least 1") }
        }
        let driver = service.driver
        // The output itself is in memory. The lookup says whether the job is still kept.
        service.lookUp(
            id, byteCount: 2 * StreamTail.byteCountMax, session, session.reserve()
        ) { [attempt] reply in
            service.wantedOutputs[reply] = attempt
            driver.input { $0.describe(id, reply) }
        }
        return nil
    }

    private static func jobs(
        _ service: Service, _ session: Session, _ command: Command
    ) throws -> RESPValue? {
        let driver = service.driver
        let arguments = try JobsArguments(command, service, session.user)
        let conditions = arguments.conditions
        if conditions.isStuck {
            let jobs = driver.listStuck(
                thread: conditions.thread, limit: arguments.limit, in: arguments.span,
                where: conditions.filter)
            return .array(
                jobs.map {
                    session.user.shown(
                        .map($0.entries + (arguments.tellsFailures ? $0.failure : [])))
                })
        }
        let reply = session.reserve()
        let rowByteCount =
            Service.rowByteCount + (arguments.tellsFailures ? Service.failureByteCount : 0)
        service.ask(.listing, byteCount: arguments.limit * rowByteCount, session, reply) {
            let listing = Listing(
                thread: conditions.thread, state: conditions.state, limit: arguments.limit,
                in: arguments.span, where: conditions.filter,
                tellsFailures: arguments.tellsFailures, reply)
            driver.input { $0.goOn(listing) }
        }
        return nil
    }

    /// The job's number at a place.
    ///
    /// - Parameter hint: a name that could have been meant, for the end of the message.
    static func id(
        _ command: Command, at index: Int, else hint: String = ""
    ) throws(WireError) -> JobID {
        guard let id = JobID(bytes: command[index]) else {
            let given = quoted(command.text(at: index))
            throw WireError(.err, "a job's number is a positive integer, not \(given)\(hint)")
        }
        return id
    }
}
