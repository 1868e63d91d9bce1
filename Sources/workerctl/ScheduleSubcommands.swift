// Commands that show schedules, give them and end them.

internal import WorkerClient

enum ScheduleSubcommands {
    static var all: [Subcommand] {
        [
            Subcommand(
                name: "schedules", arguments: "",
                summary: "Every schedule, and when it is due next.", wordCount: 0...0,
                run: schedules),
            Subcommand(
                name: "schedule", arguments: "NAME THREAD SELECTOR [PAYLOAD | -]",
                summary: "Makes a job again and again, with --cron or --every.",
                details: """
                    A cron expression has the fields minute, hour, day of month, month and day of
                    week, or six with the second first. A schedule of the same name is replaced.
                    """, wordCount: 3...4,
                options: [
                    .cron, .zone, .every, .missed, .overlap, .priority, .key, .unique, .again,
                    .uniqueFor, .timeout, .retry, .block, .expire, .label, .argument, .variable,
                    .file,
                ],
                run: schedule),
            Subcommand(
                name: "unschedule", arguments: "SCHEDULE", summary: "Ends a schedule.",
                wordCount: 1...1, run: unschedule),
        ]
    }

    private static func schedules(_ invocation: Invocation) throws(Failure) {
        let reply = try invocation.withDaemon("can't list the schedules") {
            (client) throws(WorkerClientError) in try client.command(["SCHEDULES"])
        }
        guard case .list(let schedules) = reply else { return }
        if invocation.isJSON { return try Output.write(.array(schedules.map(json))) }
        var table = Table([
            ("SCHEDULE", .left), ("WHEN", .left), ("MISSED", .left), ("OVERLAP", .left),
            ("THREAD", .left),
            ("SELECTOR", .left), ("NEXT", .left), ("LAST JOB", .right),
            ("LEFT OUT", .right), ("FROM", .left),
        ])
        for schedule in schedules {
            table.add([
                shown(schedule["name"]), rhythm(of: schedule), shown(schedule["missed"]),
                shown(schedule["overlap"]),
                shown(schedule["thread"]), shown(schedule["selector"]),
                time(schedule["next-due-at"]), shown(schedule["last-job"]),
                shown(schedule["left-out"]), shown(schedule["from"]),
            ])
        }
        try Output.write(table.text(invocation.style))
    }

    private static func schedule(_ invocation: Invocation) throws(Failure) {
        let name = invocation.word(0)
        let rhythm = try rhythm(invocation)
        let options = try scheduleOptions(invocation)
        let payload = try Payload.read(invocation, at: 3) ?? []
        try invocation.withDaemon("can't schedule '\(name)'") {
            (client) throws(WorkerClientError) in
            try client.schedule(
                name, rhythm, onThread: invocation.word(1), selector: invocation.word(2),
                payload: payload, options: options)
        }
        try invocation.isJSON
            ? Output.write(.object([("scheduled", .string(name))]))
            : Output.write("scheduled \(name)\n")
    }

    private static func rhythm(_ invocation: Invocation) throws(Failure) -> ScheduleRhythm {
        let zone = invocation.text(.zone)
        switch (invocation.text(.cron), try invocation.duration(.every)) {
        case (let expression?, nil): return .cron(expression, zone: zone ?? "UTC")
        case (nil, let period?) where zone == nil: return .every(period)
        case (nil, _?): throw .usage("--zone goes with --cron", try: "--cron '30 3 * * *'")
        default:
            throw .usage(
                "--cron or --every: one of them", try: "workerctl help \(invocation.command.name)")
        }
    }

    private static func scheduleOptions(
        _ invocation: Invocation
    ) throws(Failure) -> ScheduleOptions {
        let job = try JobSubcommands.performOptions(invocation)
        var options = ScheduleOptions()
        if let name = invocation.text(.missed)?.lowercased() {
            guard let rule = ScheduleOptions.Missed(rawValue: name) else {
                throw .usage("--missed is once, all or none, not '\(name)'", try: "--missed once")
            }
            options.missed = rule
        }
        if let name = invocation.text(.overlap)?.lowercased() {
            guard let rule = ScheduleOptions.Overlap(rawValue: name) else {
                throw .usage(
                    "--overlap is one, skip or queue, not '\(name)'", try: "--overlap skip")
            }
            options.overlap = rule
        }
        (options.uniqueName, options.uniqueRule) = (job.uniqueName, job.uniqueRule)
        (options.priority, options.timeLimit) = (job.priority, job.timeLimit)
        (options.expiry, options.label) = (job.expiry, job.label)
        (options.key, options.retry) = (job.key, job.retry)
        (options.arguments, options.environment) = (job.arguments, job.environment)
        return options
    }

    private static func unschedule(_ invocation: Invocation) throws(Failure) {
        let name = invocation.word(0)
        let isEnded = try invocation.withDaemon("can't end schedule '\(name)'") {
            (client) throws(WorkerClientError) in try client.unschedule(name)
        }
        if invocation.isJSON { return try Output.write(.object([("ended", .boolean(isEnded))])) }
        try Output.write(isEnded ? "ended \(name)\n" : "there is no schedule \(name)\n")
    }

    // MARK: - How they are shown

    private static func rhythm(of schedule: Reply) -> String {
        if case .integer(let milliseconds)? = schedule["every-ms"] {
            return "every " + Durations.span(Int64(milliseconds))
        }
        return "\(shown(schedule["cron"])) \(shown(schedule["zone"]))"
    }

    private static func shown(_ reply: Reply?) -> String {
        if case .integer(let number)? = reply { return "\(number)" }
        return reply?.text ?? "-"
    }

    private static func time(_ reply: Reply?) -> String {
        guard case .integer(let milliseconds)? = reply, milliseconds >= 0 else { return "-" }
        return Durations.time(Int64(milliseconds))
    }

    private static func json(_ schedule: Reply) -> JSON {
        guard case .map(let entries) = schedule else { return .null }
        return .object(
            entries.map { entry in
                let key = String((entry.key.text ?? "").map { $0 == "-" ? "_" : $0 })
                if case .integer(let number) = entry.value { return (key, .integer(number)) }
                return (key, entry.value.text.map(JSON.string) ?? .null)
            })
    }
}
