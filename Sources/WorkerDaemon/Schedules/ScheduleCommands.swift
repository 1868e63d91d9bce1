// The commands about schedules.

internal import Jobs
internal import RESP
internal import Wording

enum ScheduleCommands {
    static let all: [CommandSpecification] = [
        CommandSpecification(
            "schedule", 7...(32 + 2 * JobOptionReader.wordCountMax), .jobs,
            .submit.logged(showing: 1),
            usage: "name CRON expression [ZONE zone] | name EVERY ms, then [MISSED once|all|none] "
                + "[OVERLAP one|skip|queue] [UNIQUE id [AGAIN] [FOR ms]] "
                + "\(JobOptionReader.usage) thread selector payload",
            "Makes a job again and again. Answers OK.", execute: schedule),
        CommandSpecification(
            "unschedule", 2...2, .jobs, .submit.or(.operate).logged(showing: 1), usage: "name",
            "Ends a schedule that a command gave. Answers how many.", execute: unschedule),
        CommandSpecification(
            "schedules", 1...1, .jobs, .observe, "Every schedule, and when it is due next.",
            execute: schedules),
    ]

    private static func schedule(
        _ service: Service, _ session: Session, _ command: Command
    ) throws -> RESPValue? {
        let definition = try ScheduleArguments(command).definition
        let request = definition.request
        try session.user.check(thread: request.thread, selector: request.selector)
        try service.driver.checkWords(of: definition.request)
        let placed = service.driver.spread.placed(definition)
        let reply = session.reserve()
        find(definition.name, for: placed.request.thread, service, session.user, reply) { _ in
            service.schedules.add(placed, reply)
        }
        return nil
    }

    private static func unschedule(
        _ service: Service, _ session: Session, _ command: Command
    ) throws -> RESPValue? {
        let (name, reply) = (command.text(at: 1), session.reserve())
        find(name, service, session.user, reply) { service.schedules.remove(name, $0, reply) }
        return nil
    }

    /// Finds the schedule that a command changes, and refuses the command if the schedule makes
    /// jobs that the user may not touch.
    private static func find(
        _ name: String, for thread: String? = nil, _ service: Service, _ user: User,
        _ reply: ReplyToken,
        then body: @escaping (StoredSchedule?) -> Void
    ) {
        service.schedules.find(name, for: thread) { found in
            do {
                let present = try found.get()
                if let present {
                    try user.check(thread: present.thread, selector: present.selector)
                }
                body(present)
            } catch let fault as StoreFault {
                service.answer(reply, WireError(JobError.storeFailed(fault)).reply)
            } catch {
                service.answer(reply, WireError(error).reply)
            }
        }
    }

    private static func schedules(
        _ service: Service, _ session: Session, _ command: Command
    ) throws -> RESPValue? {
        let scope = session.user.scope
        let entries = service.schedules.entries.values
            .filter {
                let request = $0.definition.request
                return scope.has(thread: request.thread, selector: request.selector)
            }
            .sorted { $0.definition.name < $1.definition.name }
        return .array(entries.map { .map(describe($0)) })
    }

    private static func describe(_ schedule: ScheduleEntry) -> [RESPValue.Entry] {
        let definition = schedule.definition
        var cron = RESPValue.null
        var zone = RESPValue.null
        var every = RESPValue.null
        switch definition.rhythm {
        case .cron(let expression, let name): (cron, zone) = (text(expression), text(name))
        case .every(let milliseconds): every = .integer(Int(milliseconds))
        }
        func number(_ number: Int64?) -> RESPValue { number.map { .integer(Int($0)) } ?? .null }
        return [
            entry("name", text(definition.name)),
            entry("from", text(schedule.isFromCommand ? "command" : "configuration")),
            entry("cron", cron),
            entry("zone", zone),
            entry("every-ms", every),
            entry("missed", text(definition.missed.rawValue)),
            entry("overlap", text(definition.overlap.rawValue)),
            entry("thread", text(PoolSlot.shown(definition.request.thread))),
            entry("selector", text(definition.request.selector)),
            entry("priority", text(definition.request.priority.name)),
            entry("next-due-at", number(schedule.dueAt)),
            entry("last-run-at", number(schedule.progress.lastRunAt)),
            entry("last-job", number(schedule.progress.lastJob.map { Int64($0.number) })),
            entry("left-out", .integer(schedule.leftOutSum)),
            entry("left-out-at", number(schedule.leftOutAt)),
        ]
    }
}

/// The arguments of SCHEDULE.
struct ScheduleArguments {
    private(set) var definition: ScheduleDefinition
    private var zone: String?
    private var overlap: OverlappingRuns?
    private var reader = JobOptionReader()
    private static let rest = "thread, selector and payload"

    init(_ command: Command) throws(WireError) {
        let end = command.count - 3
        let name = command.text(at: 1)
        guard NameRule.accepts(name) else {
            throw WireError(
                .err,
                "a schedule's name is 1 to 64 of the characters A-Z a-z 0-9 _ . -, not "
                    + quoted(name))
        }
        let byteCount = command.byteCount(at: end + 2)
        let byteCountMax = Configuration.Schedule.payloadByteCountMax
        guard byteCount <= byteCountMax else {
            throw WireError(
                .err, "a schedule's payload has at most \(byteCountMax) bytes, not \(byteCount)")
        }
        definition = ScheduleDefinition(
            name: name, rhythm: try Self.rhythm(command),
            request: JobRequest(
                thread: command.text(at: end), selector: command.text(at: end + 1),
                payload: command.bytes(at: end + 2)))
        var index = 4
        var options = OptionPlaces()
        while index < end {
            try options.note(index, of: command)
            index = try read(command, at: index, before: end)
        }
        definition.request.priority = reader.priority
        definition.request.options = reader.options
        try settleOverlap()
        guard let zone else { return }
        guard case .cron(let expression, _) = definition.rhythm else {
            throw WireError(.err, "ZONE is of no use without CRON")
        }
        definition.rhythm = .cron(expression, zone: zone)
    }

    private mutating func settleOverlap() throws(WireError) {
        definition.overlap = overlap ?? .standard(with: definition.missed)
        do throws(ScheduleFault) {
            try definition.overlap.check(with: definition.missed)
        } catch {
            throw WireError(.err, "MISSED all needs OVERLAP queue: \(error)")
        }
    }

    private static func rhythm(
        _ command: Command
    ) throws(WireError) -> ScheduleDefinition.Rhythm {
        if command.matches(2, "CRON") {
            do throws(ScheduleFault) {
                let expression = try CronExpression(command.text(at: 3))
                return .cron(expression.text, zone: ZoneFiles.defaultName)
            } catch {
                throw WireError(.err, "CRON \(quoted(command.text(at: 3))): \(error)")
            }
        }
        guard command.matches(2, "EVERY") else {
            throw WireError(
                .err, "SCHEDULE name CRON or EVERY: what is \(quoted(command.text(at: 2)))?")
        }
        let (least, most) = (Schedule.periodMillisecondsMin, Schedule.periodMillisecondsMax)
        let milliseconds = Int64(try command.count(at: 3, "EVERY", max: Int(most)))
        guard milliseconds >= least else {
            throw WireError(.err, "EVERY must be at least \(least) ms, is \(milliseconds)")
        }
        return .every(milliseconds: milliseconds)
    }

    /// Reads an option and its value.
    ///
    /// - Returns: the place behind it.
    private mutating func read(
        _ command: Command, at index: Int, before end: Int
    ) throws(WireError) -> Int {
        guard index + 1 < end else {
            throw WireError(
                .err, "\(quoted(command.text(at: index))) needs a value, and \(Self.rest) behind it"
            )
        }
        if command.matches(index, "ZONE") {
            zone = command.text(at: index + 1)
            return index + 2
        }
        if command.matches(index, "MISSED") {
            let word = command.text(at: index + 1).lowercased()
            guard let rule = MissedRuns(rawValue: word) else {
                throw WireError(.err, "MISSED must be once, all or none, is \(quoted(word))")
            }
            definition.missed = rule
            return index + 2
        }
        if command.matches(index, "OVERLAP") {
            let word = command.text(at: index + 1).lowercased()
            guard let rule = OverlappingRuns(rawValue: word) else {
                throw WireError(.err, "OVERLAP must be one, skip or queue, is \(quoted(word))")
            }
            overlap = rule
            return index + 2
        }
        if command.matches(index, "UNIQUE") {
            let unique = try UniqueArguments(command, at: index, before: end, Self.rest)
            if unique.tellsWhetherNew {
                throw WireError(.err, "TELL is of no use with SCHEDULE: nothing waits for a number")
            }
            definition.request.unique = unique.name
            return unique.end
        }
        if let next = try reader.read(command, at: index, before: end, Self.rest) { return next }
        throw WireError(
            .err,
            "unknown option \(quoted(command.text(at: index))); thread, selector and payload "
                + "are the last three arguments")
    }
}
