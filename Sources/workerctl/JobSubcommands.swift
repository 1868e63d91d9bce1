// Commands that hand in jobs, take them back, and ask after them.

internal import Wording
internal import WorkerClient

enum JobSubcommands {
    static let waitDetails = """
        After --wait, a word that is a number, such as 500 or 2s, is the time to wait; to wait
        without end, put --wait last, or -- behind it.
        """

    static var all: [Subcommand] {
        [
            Subcommand(
                name: "perform", arguments: "THREAD SELECTOR [PAYLOAD | - | --each FILE…]",
                summary: "Hands in a job; prints its number, or with --wait its result.",
                details: """
                    The payload is the third argument, what a file contains, or with - what comes on
                    standard input; without one it is empty. A payload that begins with - goes
                    behind --. The result is printed as it is.
                    """ + "\n\n" + waitDetails + "\n\n" + BatchSubcommand.details, wordCount: 2...3,
                options: [
                    .wait, .file, .delay, .at, .priority, .timeout, .key, .unique, .again,
                    .uniqueFor,
                    .tell, .retry, .block, .expire, .label, .trace, .argument, .variable, .volatile,
                ] + BatchSubcommand.options, lifted: .each, run: perform),
            Subcommand(
                name: "cancel", arguments: "ID | THREAD SELECTOR [PAYLOAD | -]",
                summary: "Takes back what has not begun; asks a running job to end.",
                details: """
                    With a number, that job. With a thread and a selector, all their jobs that have
                    not begun, or only those with this payload.
                    """, wordCount: 1...3, options: [.file], run: cancel),
            Subcommand(
                name: "job", arguments: "ID", summary: "Everything that is known of a job.",
                wordCount: 1...1, options: [.payload], run: job),
            Subcommand(
                name: "observe", arguments: "ID",
                summary: "Prints a line for each change of a job until it has ended.",
                details: "With --json, each line is a document.", wordCount: 1...1, run: observe),
            Subcommand(
                name: "result", arguments: "ID",
                summary: "The result of a job, as it is.", details: waitDetails,
                wordCount: 1...1, options: [.wait], run: result),
            WaitSubcommand.subcommand,
            OutputSubcommand.subcommand,
            OutputSubcommand.following,
            Subcommand(
                name: "jobs", arguments: "", summary: "Jobs, the newest first.",
                wordCount: 0...0,
                options: [
                    .thread, .state, .limit, .oldest, .before, .after, .selector, .key, .older,
                    .newer, .failures,
                ], summaries: [.key: BulkSubcommands.keyFilter], run: jobs),
            Subcommand(
                name: "buffer", arguments: "THREAD SELECTOR [PAYLOAD | -]",
                summary: "Collects a job for a thread without waking it; prints its number.",
                wordCount: 2...3, options: [.file], run: buffer),
            Subcommand(
                name: "fire", arguments: "THREAD",
                summary: "Hands over the jobs that were collected for a thread.",
                wordCount: 1...1, run: fire),
        ]
    }

    private static func perform(_ invocation: Invocation) throws(Failure) {
        if try BatchSubcommand.isAsked(invocation) {
            return try BatchSubcommand.perform(invocation)
        }
        let (thread, selector) = (invocation.word(0), invocation.word(1))
        let options = try performOptions(invocation)
        let wait = try invocation.jobWait()
        let payload = try Payload.read(invocation, at: 2) ?? []
        let what = "can't perform '\(selector)' on thread '\(thread)'"
        if invocation.has(.tell), let name = options.uniqueName {
            let job = try invocation.withDaemon(what) { (client) throws(WorkerClientError) in
                try client.performOnce(
                    as: name, onThread: thread, selector: selector, payload: payload,
                    options: options)
            }
            let id = Int(clamping: job.id)
            return try invocation.isJSON
                ? Output.write(.object([("id", .integer(id)), ("new", .boolean(job.isNew))]))
                : Output.write("\(id) \(job.isNew ? "new" : "known")\n")
        }
        guard let wait else {
            let id = try invocation.withDaemon(what) { (client) throws(WorkerClientError) in
                try client.perform(
                    onThread: thread, selector: selector, payload: payload, options: options)
            }
            return try invocation.isJSON
                ? Output.write(.object([("id", .integer(Int(clamping: id)))]))
                : Output.write("\(id)\n")
        }
        let result = try invocation.withDaemon(what) { (client) throws(WorkerClientError) in
            try client.performAndWait(
                onThread: thread, selector: selector, payload: payload, options: options, wait: wait
            )
        }
        try write(result: result, invocation)
    }

    /// The options of a job, as far as the command has them.
    static func performOptions(_ invocation: Invocation) throws(Failure) -> PerformOptions {
        var options = PerformOptions()
        if invocation.has(.delay) && invocation.has(.at) {
            throw .usage("--delay and --at: one of them", try: "workerctl help perform")
        }
        if let delay = try invocation.duration(.delay) { options.schedule = .after(delay) }
        if let moment = try invocation.moment(.at) {
            options.schedule = .at(unixMilliseconds: moment)
        }
        if let name = invocation.text(.priority) {
            guard let priority = PerformOptions.Priority(rawValue: name.lowercased()) else {
                throw .usage(
                    "--priority is high, normal or low, not '\(name)'", try: "--priority high")
            }
            options.priority = priority
        }
        options.timeLimit = try invocation.duration(.timeout)
        if options.timeLimit == .zero {
            throw .usage("--timeout is at least 1 ms", try: "--timeout 30s")
        }
        options.expiry = try invocation.duration(.expire)
        if options.expiry == .zero {
            throw .usage("--expire is at least 1 ms", try: "--expire 10m")
        }
        options.label = invocation.text(.label)
        options.trace = invocation.text(.trace)
        options.arguments = invocation.texts(.argument)
        options.environment = try invocation.variables()
        options.isVolatile = invocation.has(.volatile)
        options.key = invocation.text(.key).map { Array($0.utf8) }
        options.uniqueName = invocation.text(.unique).map { Array($0.utf8) }
        options.uniqueRule = try uniqueRule(invocation)
        if let count = try invocation.count(.retry, 0...100) {
            options.retry = PerformOptions.Retry(
                count: count, manner: invocation.has(.block) ? .block : nil)
        } else if invocation.has(.block) {
            throw .usage("--block goes with --retry", try: "--retry 3 --block")
        }
        return options
    }

    private static func uniqueRule(
        _ invocation: Invocation
    ) throws(Failure) -> PerformOptions.UniqueRule? {
        for option in [Option.again, .uniqueFor, .tell]
        where invocation.has(option) && !invocation.has(.unique) {
            throw .usage(
                "\(option.rawValue) goes with --unique", try: "--unique ID \(option.rawValue)")
        }
        if invocation.has(.tell), invocation.has(.wait) {
            throw .usage("--tell and --wait: one of them", try: "workerctl help perform")
        }
        let duration = try invocation.duration(.uniqueFor)
        if let duration, duration == .zero || duration > .seconds(365 * 24 * 3_600) {
            throw .usage("--for is from 1 ms to 365d", try: "--for 7d")
        }
        guard invocation.has(.again) || duration != nil else { return nil }
        return PerformOptions.UniqueRule(againWhenEnded: invocation.has(.again), holds: duration)
    }

    private static func cancel(_ invocation: Invocation) throws(Failure) {
        if invocation.words.count == 1 { return try cancelOne(invocation) }
        let (thread, selector) = (invocation.word(0), invocation.word(1))
        let payload = try Payload.read(invocation, at: 2)
        let count = try invocation.withDaemon("can't cancel '\(selector)' on thread '\(thread)'") {
            (client) throws(WorkerClientError) in
            try client.cancel(onThread: thread, selector: selector, payload: payload)
        }
        if invocation.isJSON {
            return try Output.write(.object([("cancelled", .integer(count))]))
        }
        let none = "nothing to cancel: no such job has still to begin\n"
        try Output.write(count == 0 ? none : "cancelled \(counted(count, "job"))\n")
    }

    private static func cancelOne(_ invocation: Invocation) throws(Failure) {
        if invocation.has(.file) {
            throw .usage("--file is for THREAD SELECTOR", try: "workerctl help cancel")
        }
        let id = try invocation.id(0)
        let answer = try invocation.withDaemon("can't cancel job \(id)") {
            (client) throws(WorkerClientError) in try client.cancel(id)
        }
        if invocation.isJSON {
            return try Output.write(
                .object([("id", .integer(Int(clamping: id))), ("answer", .string("\(answer)"))]))
        }
        let sentence =
            switch answer {
            case .cancelled: "cancelled job \(id): it never runs"
            case .requested: "asked job \(id) to end: it runs"
            case .tooLate: "too late: job \(id) has ended"
            case .stuck: "job \(id) is stuck: it runs, and does not listen"
            default: "job \(id): \(answer)"
            }
        try Output.write(sentence + "\n")
    }

    private static func result(_ invocation: Invocation) throws(Failure) {
        let id = try invocation.id(0)
        let wait = try invocation.jobWait()
        let result = try invocation.withDaemon("no result of job \(id)") {
            (client) throws(WorkerClientError) -> [UInt8]? in
            guard let wait else { return try client.result(of: id) }
            return try client.result(of: id, wait: wait)
        }
        guard let result else {
            throw Failure(
                what: "no result of job \(id)", reason: "it has not ended",
                advice: "\(invocation.program) result \(id) --wait",
                status: .tryLater)
        }
        try write(result: result, invocation)
    }

    private static func write(result: [UInt8], _ invocation: Invocation) throws(Failure) {
        try invocation.isJSON
            ? Output.write(.object([("result", .bytes(result))])) : Output.writeResult(result)
    }

    private static func job(_ invocation: Invocation) throws(Failure) {
        let id = try invocation.id(0)
        if invocation.has(.payload) { return try writePayload(of: id, invocation) }
        let job = try invocation.withDaemon("can't show job \(id)") {
            (client) throws(WorkerClientError) in try client.job(id)
        }
        if invocation.isJSON { return try Output.write(job.json) }
        let runtime = job.startedAt.flatMap { start in job.endedAt.map { $0 - start } }
        try Output.write(
            nameList(
                [
                    ("job", "\(id)"), ("thread", job.summary.thread),
                    ("selector", job.summary.selector), ("state", job.summary.state.rawValue),
                    ("progress", Progress.text(job.progress, job.progressText)),
                    ("failure", job.failure), ("label", job.summary.label),
                    ("key", job.key), ("trace", job.summary.trace),
                    ("priority", job.summary.priority),
                    ("attempt", "\(job.summary.attempt)"),
                    ("last failure", job.summary.lastFailure),
                    ("held by", job.holdUp?.text), ("waits for", job.waitsFor),
                    ("accepted", Durations.time(job.acceptedAt)),
                    ("due", job.dueAt.map(Durations.time)),
                    ("expires", job.expiresAt.map(Durations.time)),
                    ("started", job.startedAt.map(Durations.time)),
                    ("ended", job.endedAt.map(Durations.time)),
                    ("took", runtime.map(Durations.span)), ("worker", job.worker),
                    ("arguments", words(job.arguments)), ("variables", words(job.environment)),
                    ("payload", counted(job.payloadByteCount, "byte")),
                ], invocation.style))
    }

    private static func words(_ words: [String]) -> String? {
        words.isEmpty ? nil : words.joined(separator: " ")
    }

    private static func writePayload(of id: UInt64, _ invocation: Invocation) throws(Failure) {
        let payload = try invocation.withDaemon("no payload of job \(id)") {
            (client) throws(WorkerClientError) in try client.payload(of: id)
        }
        try invocation.isJSON
            ? Output.write(.object([("payload", .bytes(payload))])) : Output.writeResult(payload)
    }

    private static func observe(_ invocation: Invocation) throws(Failure) {
        let id = try invocation.id(0)
        var failure: Failure?
        try invocation.withDaemon("can't observe job \(id)") { (client) throws(WorkerClientError) in
            try client.observe(id) { news in
                do throws(Failure) {
                    try write(news, invocation)
                } catch {
                    failure = error
                }
                return failure == nil
            }
        }
        if let failure { throw failure }
    }

    private static func write(_ news: JobNews, _ invocation: Invocation) throws(Failure) {
        if invocation.isJSON { return try Output.write(news.json) }
        let again = news.lastFailure.map { "attempt \(news.attempt) failed: \($0)" }
        let details = [Progress.text(news.progress, news.progressText), news.failure, again]
        let parts =
            [invocation.style.state(news.state.rawValue)]
            + details.compactMap { $0.map(Terminal.printable) }
        try Output.write(parts.joined(separator: "  ") + "\n")
    }

    private static func jobs(_ invocation: Invocation) throws(Failure) {
        let limit = try invocation.count(.limit, 0...10_000)
        let state = try invocation.jobState()
        let thread = invocation.text(.thread)
        var conditions = try invocation.conditions()
        conditions.withFailures = invocation.has(.failures)
        conditions.oldestFirst = invocation.has(.oldest)
        conditions.before = try invocation.count(.before, 1...Int.max).map { UInt64($0) }
        conditions.after = try invocation.count(.after, 1...Int.max).map { UInt64($0) }
        let what = "can't list the jobs" + (thread.map { " of thread '\($0)'" } ?? "")
        let jobs = try invocation.withDaemon(what) { (client) throws(WorkerClientError) in
            try client.jobs(thread: thread, state: state, limit: limit, where: conditions)
        }
        if invocation.isJSON { return try Output.write(.array(jobs.map(\.json))) }
        let tellsFailures = conditions.withFailures
        var table = Table(
            [
                ("ID", .right), ("STATE", .left), ("THREAD", .left), ("SELECTOR", .left),
                ("PRIORITY", .left), ("ATTEMPT", .right),
            ] + (tellsFailures ? [("ENDED", .left), ("FAILURE", .left)] : []))
        for job in jobs {
            let ended = job.endedAt.map(Durations.time) ?? "-"
            table.add(
                [
                    "\(job.id)", job.state.rawValue, job.thread, job.selector, job.priority,
                    "\(job.attempt)",
                ] + (tellsFailures ? [ended, job.failure ?? "-"] : []))
        }
        try Output.write(table.text(invocation.style))
    }

    private static func buffer(_ invocation: Invocation) throws(Failure) {
        let (thread, selector) = (invocation.word(0), invocation.word(1))
        let payload = try Payload.read(invocation, at: 2) ?? []
        let id = try invocation.withDaemon("can't buffer '\(selector)' for thread '\(thread)'") {
            (client) throws(WorkerClientError) in
            try client.buffer(onThread: thread, selector: selector, payload: payload)
        }
        try invocation.isJSON
            ? Output.write(.object([("id", .integer(Int(clamping: id)))])) : Output.write("\(id)\n")
    }

    private static func fire(_ invocation: Invocation) throws(Failure) {
        let thread = invocation.word(0)
        let count = try invocation.withDaemon("can't fire thread '\(thread)'") {
            (client) throws(WorkerClientError) in try client.fire(thread)
        }
        try invocation.isJSON
            ? Output.write(.object([("fired", .integer(count))]))
            : Output.write("handed over \(counted(count, "job"))\n")
    }
}
