// Commands that push changes of jobs, or all events, to a client, and the form of the pushes about
// jobs on the wire.

internal import Jobs
internal import RESP

enum WatchCommands {
    static let all: [CommandSpecification] = [
        CommandSpecification(
            "observe", 2...CommandTable.manyArguments, .jobs, .observe, usage: "id [id …] [OUTPUT]",
            "Pushes what is so now, and each change of state and progress until the jobs have "
                + "ended; with OUTPUT also how much their programs write. Needs HELLO 3. Answers "
                + "how many jobs these are.",
            execute: observe),
        CommandSpecification(
            "unobserve", 1...CommandTable.manyArguments, .jobs, .observe, usage: "[id …]",
            "Pushes nothing more about these jobs, or any. Answers how many were observed.",
            execute: unobserve),
    ]

    private static func observe(
        _ service: Service, _ session: Session, _ command: Command
    ) throws -> RESPValue? {
        try session.checkPushes(of: "OBSERVE", else: "JOB")
        let (ids, asksForOutput) = try watchedJobs(command)
        let withOutput = asksForOutput && session.maySeePayloads
        // Ids that the client has not read yet count once each, or a client that never reads could
        // watch for ever.
        let client = session.number
        let isNew = { !service.driver.scheduler.audience.watches.isWatched($0, by: client) }
        let unreadCount = session.latestPushCount { number in
            isNew(JobID(number)) && !ids.contains(JobID(number))
        }
        let count =
            service.driver.scheduler.audience.watches.count(of: client) + ids.count(where: isNew)
            + unreadCount
        guard count <= JobWatches.countMax else {
            throw WireError(
                .err,
                "a connection may observe \(JobWatches.countMax) jobs at a time: UNOBSERVE some")
        }
        // In its place before the first push, unless earlier replies delay it.
        let (driver, reply) = (service.driver, session.reserve())
        service.withJobs(Array(ids), session, reply) { reply in
            driver.input { $0.watch(ids, withOutput: withOutput, reply) }
        }
        return nil
    }

    private static func unobserve(
        _ service: Service, _ session: Session, _ command: Command
    ) throws -> RESPValue? {
        if command.count == 1 {
            session.dropPushes()
            return .integer(service.driver.stopWatching(session.number))
        }
        let ids = try ids(command)
        session.dropPushes(about: Set(ids.map(\.number)))
        let client = session.number
        return .integer(
            service.driver.input { scheduler in
                ids.count { scheduler.audience.watches.remove(client, from: $0) }
            })
    }

    /// The jobs that are to be watched, and whether their output is.
    static func watchedJobs(
        _ command: Command
    ) throws(WireError) -> (ids: Set<JobID>, withOutput: Bool) {
        let last = command.count - 1
        let withOutput = last > 1 && command.matches(last, "OUTPUT")
        return (try ids(command, below: withOutput ? last : command.count), withOutput)
    }

    /// The jobs of OBSERVE, in order; nil if its arguments are wrong.
    static func jobs(of command: Command) -> [JobID]? {
        try? watchedJobs(command).ids.sorted { $0.number < $1.number }
    }

    private static func ids(
        _ command: Command, below end: Int? = nil
    ) throws(WireError) -> Set<JobID> {
        var ids: Set<JobID> = []
        for index in 1..<(end ?? command.count) {
            ids.insert(try JobCommands.id(command, at: index))
        }
        return ids
    }
}

extension Session {
    /// Finds out whether the client takes pushes.
    ///
    /// - Parameters:
    ///   - command: a command that pushes.
    ///   - other: a command that answers the same once.
    func checkPushes(of command: String, else other: String) throws(WireError) {
        guard version == .three else {
            throw WireError(
                .err,
                "\(command) pushes, which version 2 of the protocol can't: HELLO 3 first, or ask "
                    + "\(other) again and again")
        }
    }

    /// Pushes `job`, its number, its state, and a map with its other entries.
    func tell(_ news: JobUpdate) {
        var details = [entry("attempt", .integer(news.attempt))]
        if let worker = news.worker { details.append(entry("worker", text(worker))) }
        if let fraction = news.progress?.fraction {
            details.append(entry("progress", .double(fraction)))
        }
        if let shown = news.progress?.shownText {
            details.append(entry("progress-text", text(shown)))
        }
        if let written = news.written {
            details.append(entry("output-bytes", .integer(written.output)))
            details.append(entry("errors-bytes", .integer(written.errors)))
        }
        if let failure = news.failure { details.append(entry("failure", text(failure))) }
        if let last = news.lastFailure { details.append(entry("last-failure", text(last))) }
        details += news.options.shown.map { entry($0.name, .bulk($0.value)) }
        let number = news.id.number
        push(
            .push([
                text("job"), .integer(Int(number)), text(news.state), user.shown(.map(details)),
            ]),
            about: number)
    }
}

enum EventCommands {
    static let all: [CommandSpecification] = [
        CommandSpecification(
            "events", 1...CommandTable.manyArguments, .jobs, .observe,
            usage: "[SINCE epoch-number] [thread …]",
            "Pushes each change of state of jobs and threads, of all or of these threads. Needs "
                + "HELLO 3. Answers the place behind which the events begin.",
            execute: events)
    ]

    private static func events(
        _ service: Service, _ session: Session, _ command: Command
    ) throws -> RESPValue? {
        try session.checkPushes(of: "EVENTS", else: "JOBS")
        var index = 1
        var place: EventPlace?
        if command.count > 2, command.matches(1, "SINCE") {
            place = try Service.place(command.text(at: 2))
            index = 3
        }
        let threads = (index..<max(index, command.count)).map { command.text(at: $0) }
        try service.pushEvents(to: session, behind: place, of: threads)
        return nil
    }
}
