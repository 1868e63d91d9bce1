// Commands about many jobs at once: BULK and FAILURES.

internal import Jobs
internal import RESP
internal import Wording

enum BulkCommands {
    static let all: [CommandSpecification] = [
        CommandSpecification(
            "bulk", 2...19, .jobs,
            .operate(showing: 2).except(["status": .oversee, "list": .oversee]),
            usage: "CANCEL|RETRY|DROP [DRY] [UPTO id] [LIMIT n] " + ConditionArguments.usage
                + " | STATUS n [WAIT ms] | STOP n | LIST",
            "Cancels, retries or drops all jobs that meet the conditions, or with DRY counts them.",
            execute: bulk),
        CommandSpecification(
            "failures", 1...12, .jobs, .observe, usage: ConditionArguments.usage,
            "The failed jobs, grouped by selector and reason.", execute: failures),
    ]

    private static func bulk(
        _ service: Service, _ session: Session, _ command: Command
    ) throws -> RESPValue? {
        let word = command.text(at: 1).lowercased()
        if let action = BulkAction(rawValue: word) {
            return try begin(action, service, session, command)
        }
        switch (word, command.count) {
        case ("list", 2): return .array(service.bulk.values(for: session.user))
        case ("status", 3):
            return try service.bulk.run(number(command), for: session.user).value
        case ("status", 5) where command.matches(3, "WAIT"):
            let run = try service.bulk.run(number(command), for: session.user)
            let patience = try command.count(at: 4, "WAIT", max: JobOptionReader.millisecondsMax)
            service.bulk.wait(for: run, milliseconds: patience, session.reserve())
            return nil
        case ("stop", 3): return try service.bulk.stop(number(command), for: session.user).value
        default:
            throw WireError(
                .err,
                "BULK CANCEL, RETRY or DROP with conditions, STATUS n, STOP n or LIST: what is "
                    + "\(quoted(command.text(at: 1)))?")
        }
    }

    private static func number(_ command: Command) throws(WireError) -> Int {
        try command.count(at: 2, "the number of a run", max: .max)
    }

    private static func begin(
        _ action: BulkAction, _ service: Service, _ session: Session, _ command: Command
    ) throws -> RESPValue? {
        let arguments = try BulkArguments(action, command, service, session.user)
        guard arguments.isDry else { return try service.bulk.begin(arguments.order).value }
        let order = arguments.order
        digest(JobCount(order, where: service.driver.isOpen), service, session) {
            order.listing(order.span, limit: .max, $0)
        }
        return nil
    }

    private static func failures(
        _ service: Service, _ session: Session, _ command: Command
    ) throws -> RESPValue? {
        var conditions = ConditionArguments()
        try conditions.readAll(command, from: 1, service, session.user) { _ in nil }
        guard conditions.state == nil || conditions.state == .failed, !conditions.isStuck else {
            throw WireError(.err, "FAILURES is about failed jobs: leave the state out")
        }
        digest(FailureGroups(), service, session) { [conditions] reply in
            Listing(
                thread: conditions.thread, state: .failed, limit: .max,
                where: conditions.filter, tellsFailures: true, reply)
        }
        return nil
    }

    /// Answers with what is made of a listing, when there is room for one more listing.
    private static func digest(
        _ digest: any ListingDigest, _ service: Service, _ session: Session,
        of listing: @escaping (ReplyToken) -> Listing
    ) {
        let reply = session.reserve()
        service.ask(
            .listing, byteCount: Service.descriptionByteCount, session, reply
        ) { [unowned service] in
            service.openAnswers[reply]?.digest = digest
            service.driver.input { $0.goOn(listing(reply)) }
        }
    }
}

/// The arguments of BULK with an action.
private struct BulkArguments {
    let order: BulkOrder
    /// Whether the jobs are only counted.
    let isDry: Bool

    init(
        _ action: BulkAction, _ command: Command, _ service: Service, _ user: User
    ) throws {
        var (conditions, isDry, limit) = (ConditionArguments(), false, Int.max)
        // Later jobs are not meant, however long it takes.
        var upTo = JobID(service.driver.scheduler.book.nextNumber - 1)
        try conditions.readAll(command, from: 2, service, user) { index throws(WireError) in
            func value(_ option: String) throws(WireError) -> Int {
                try JobsArguments.place(behind: option, command, at: index, "number")
            }
            if command.matches(index, "DRY") {
                isDry = true
                return index + 1
            } else if command.matches(index, "UPTO") {
                // The count of a daemon without jobs says 0.
                let place = try value("UPTO")
                let isNone = command.matches(place, "0")
                upTo = min(upTo, isNone ? JobID(0) : try JobCommands.id(command, at: place))
            } else if command.matches(index, "LIMIT") {
                limit = try command.count(at: value("LIMIT"), "LIMIT", max: .max)
            } else {
                return nil
            }
            return index + 2
        }
        if let thread = conditions.thread, service.isElsewhere(thread) {
            throw WireError(
                .noThread,
                "BULK is about the node that is asked, and node \(service.nodeName) has no thread "
                    + quoted(thread))
        }
        let name = action.rawValue.uppercased()
        guard !conditions.areNone else {
            throw WireError(
                .err, "BULK \(name) needs a condition, such as a thread, a state or SELECTOR")
        }
        if let state = conditions.state?.rawValue ?? (conditions.isStuck ? "stuck" : nil),
            conditions.isStuck || conditions.state.map(action.takes) == false
        {
            let hint =
                action == .cancel
                ? "waiting, delayed, buffered and running ones are cancelled"
                : "failed ones can be"
            throw WireError(.err, "BULK \(name) is not for \(state) jobs: \(hint)")
        }
        order = BulkOrder(
            action: action, conditions: conditions, upTo: upTo, limit: limit, user: user.name)
        self.isDry = isDry
    }
}
