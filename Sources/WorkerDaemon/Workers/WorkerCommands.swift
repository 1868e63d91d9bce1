// The commands of workers in other processes: taking a job, saying how it ended, and who serves.

internal import Jobs
internal import RESP
internal import Wording

enum WorkerCommands {
    static let all: [CommandSpecification] = [
        CommandSpecification(
            "take", 3...CommandTable.manyArguments, .workers, .work,
            usage: "[AS name] [OWN thread] [WAIT ms] [STOPS] [TRACE] FROM selector [selector ...]",
            "Takes the next job of these selectors: number, token, thread, selector, attempt, "
                + "milliseconds left, label, payload; null if there is none in time.",
            execute: take),
        CommandSpecification(
            "done", 4...CommandTable.manyArguments, .workers, .work,
            usage: "id token [THEN TAKE ...] result",
            "Ends an attempt with its result; then takes the next job, if THEN says so.",
            execute: done),
        CommandSpecification(
            "fail", 4...6, .workers, .work, usage: "id token [FINAL | AGAIN ms] reason",
            "Ends an attempt as failed; with FINAL no other one follows, with AGAIN after a pause.",
            execute: fail),
        CommandSpecification(
            "giveback", 3...5, .workers, .work, usage: "id token [AFTER ms]",
            "Lets a job wait for another worker at its place; the attempt does not count.",
            execute: giveBack),
        CommandSpecification(
            "report", 5...5, .workers, .work, usage: "id token percent text",
            "Shows the progress of an attempt. Answers with 'go', or 'stop' if it is to end.",
            execute: report),
        CommandSpecification(
            "workers", 1...1, .workers, .observe, usage: "",
            "Lists the connections that serve selectors, and what they hold.", execute: workers),
    ]

    /// The longest name of a worker, and the most selectors of one TAKE.
    private static let nameByteCountMax = 64
    private static let waitMax = 24 * 3_600_000
    private static let pauseMax = 3_600_000

    private static func take(
        _ service: Service, _ session: Session, _ command: Command
    ) throws -> RESPValue? {
        let request = try takeRequest(command, from: 1, to: command.count, service, session.user)
        let reply = session.reserve()
        do throws(WireError) {
            try service.driver.exchange.take(request, reply, from: session.ends.process)
        } catch {
            session.fill(reply, with: error.reply)
        }
        return nil
    }

    /// Finds out whether this node would refuse the TAKE in a command.
    static func checkTake(
        in command: Command, from first: Int, to end: Int, _ service: Service, _ session: Session
    ) throws(WireError) {
        let request = try takeRequest(command, from: first, to: end, service, session.user)
        let exchange = service.driver.exchange
        try exchange.check(
            request, of: exchange.worker(session.number, session.ends.process))
    }

    /// Reads what a TAKE asks for.
    private static func takeRequest(
        _ command: Command, from first: Int, to end: Int, _ service: Service, _ user: User
    ) throws(WireError) -> TakeRequest {
        var request = TakeRequest(user: user)
        var index = first
        while index < end, !command.matches(index, "FROM") {
            if command.matches(index, "STOPS") {
                request.wantsStops = true
                index += 1
                continue
            }
            if command.matches(index, "TRACE") {
                request.wantsTrace = true
                index += 1
                continue
            }
            guard index + 1 < end else {
                throw WireError(.err, "what is \(quoted(command.text(at: index)))? \(takeUsage)")
            }
            if command.matches(index, "AS") {
                let name = command.text(at: index + 1)
                guard NameRule.accepts(name) else {
                    throw WireError(
                        .err, "the name of a worker, \(quoted(name)): \(NameRule.text)")
                }
                request.name = name
            } else if command.matches(index, "OWN") {
                try user.check(thread: command.text(at: index + 1))
                request.own = try member(command.text(at: index + 1), service)
            } else if command.matches(index, "WAIT") {
                request.patience = .milliseconds(
                    try command.count(at: index + 1, "WAIT", max: waitMax))
            } else {
                throw WireError(.err, "what is \(quoted(command.text(at: index)))? \(takeUsage)")
            }
            index += 2
        }
        guard index + 1 < end else {
            throw WireError(.err, "TAKE needs FROM and the selectors that it serves: \(takeUsage)")
        }
        for index in (index + 1)..<end {
            let selector = command.text(at: index)
            try user.check(selector: selector)
            guard let handler = service.driver.handlers[selector] else {
                throw WireError(
                    .noSelector, "no selector \(quoted(selector)); SELECTORS lists them all")
            }
            guard handler.isForWorkers else {
                throw WireError(
                    .err,
                    "selector \(selector) is not for workers: its configuration needs "
                        + "worker: true")
            }
            if !request.selectors.contains(selector) { request.selectors.append(selector) }
        }
        return request
    }

    /// The thread that a worker asks for.
    private static func member(
        _ name: String, _ service: Service
    ) throws(WireError) -> WorkerGroup.Member {
        let group: WorkerGroup
        do throws(JobError) {
            group = try service.driver.group(of: name)
        } catch {
            throw WireError(error)
        }
        guard let member = group.member(named: name) else {
            throw WireError(
                .err,
                "\(name) is a pool, and a worker can own a thread only: OWN \(name)/1, say")
        }
        return member
    }

    private static let takeUsage =
        "TAKE [AS name] [OWN thread] [WAIT ms] [STOPS] [TRACE] FROM selector [selector ...]"

    private static func done(
        _ service: Service, _ session: Session, _ command: Command
    ) throws -> RESPValue? {
        let last = command.count - 1
        var next: TakeRequest?
        if last > 3 {
            guard command.matches(3, "THEN"), command.matches(4, "TAKE") else {
                throw WireError(
                    .err,
                    "DONE id token [THEN TAKE ...] result: what is "
                        + "\(quoted(command.text(at: 3)))?")
            }
            next = try takeRequest(command, from: 5, to: last, service, session.user)
        }
        return try end(service, session, command, .done(command.bytes(at: last)), then: next)
    }

    private static func fail(
        _ service: Service, _ session: Session, _ command: Command
    ) throws -> RESPValue? {
        let retry: RetryWish
        switch command.count {
        case 4: retry = .asPlanned
        case 5 where command.matches(3, "FINAL"): retry = .never
        case 6 where command.matches(3, "AGAIN"):
            let pause = try command.count(at: 4, "AGAIN", max: pauseMax)
            retry = .after(milliseconds: Int64(pause))
        default:
            throw WireError(
                .err,
                "FAIL id token [FINAL | AGAIN ms] reason: what is "
                    + "\(quoted(command.text(at: 3)))?")
        }
        let scalars = command.text(at: command.count - 1).unicodeScalars
        let reason = String(scalars.prefix(Handler.reasonScalarCountMax))
        return try end(service, session, command, .failed(reason: reason, retry))
    }

    private static func giveBack(
        _ service: Service, _ session: Session, _ command: Command
    ) throws -> RESPValue? {
        var pause = WorkerExchange.usualPause
        if command.count > 3 {
            guard command.count == 5, command.matches(3, "AFTER") else {
                throw WireError(
                    .err, "GIVEBACK id token [AFTER ms]: what is \(quoted(command.text(at: 3)))?")
            }
            pause = try command.count(at: 4, "AFTER", max: pauseMax)
        }
        return try end(service, session, command, .givenBack(afterMilliseconds: pause))
    }

    /// The token of a command; nil for a text that is none, which no attempt has.
    private static func token(_ command: Command) -> JobHolder.Token? {
        JobHolder.Token(command.text(at: 2))
    }

    private static func end(
        _ service: Service, _ session: Session, _ command: Command, _ end: RemoteEnd,
        then next: TakeRequest? = nil
    ) throws -> RESPValue? {
        let (id, token) = (try JobCommands.id(command, at: 1), token(command))
        let reply = session.reserve()
        do throws(WireError) {
            try service.driver.exchange.end(
                id, token, end, then: next, reply, from: session.ends.process)
        } catch {
            session.fill(reply, with: error.reply)
        }
        return nil
    }

    private static func report(
        _ service: Service, _ session: Session, _ command: Command
    ) throws -> RESPValue? {
        let (id, token) = (try JobCommands.id(command, at: 1), token(command))
        guard let percent = Double(command.text(at: 3)), (0...100).contains(percent) else {
            throw WireError(
                .err,
                "the progress is a percentage from 0 to 100, is \(quoted(command.text(at: 3)))")
        }
        let said = command.text(at: 4)
        let progress = JobProgress(fraction: percent / 100, text: said.isEmpty ? nil : said)
        let stops = try service.driver.exchange.report(id, token, progress)
        return text(stops ? "stop" : "go")
    }

    private static func workers(
        _ service: Service, _ session: Session, _ command: Command
    ) throws -> RESPValue? {
        let (exchange, scope) = (service.driver.exchange, session.user.scope)
        // A worker that has asked for nothing that the user may touch is left out.
        let shown = exchange.workersThatHold.filter { worker in
            scope.isAll || worker.selectors.contains { scope.has(selector: $0) }
        }
        return .array(
            shown.sorted { ($0.client ?? 0) < ($1.client ?? 0) }
                .map { .map(describe($0, service, scope)) })
    }

    private static func describe(
        _ worker: WorkerExchange.Worker, _ service: Service, _ scope: JobScope
    ) -> [RESPValue.Entry] {
        let exchange = service.driver.exchange
        let owned = exchange.owners.filter { $0.value === worker }.keys.sorted()
        let held = exchange.held(by: worker).filter {
            scope.has(
                thread: $0.remote.member.name, selector: $0.remote.context.selector)
        }
        return [
            entry("client", worker.client.map { .integer(Int($0)) } ?? .null),
            entry("name", worker.name.map { text($0) } ?? .null),
            entry(
                "connected", .boolean(worker.client.map { service.sessions[$0] != nil } == true)),
            entry("pid", worker.process.map { .integer($0.id) } ?? .null),
            entry("uid", worker.process.map { .integer(Int($0.userID)) } ?? .null),
            entry("since", .integer(Int(worker.since))),
            entry(
                "selectors",
                .array(worker.selectors.filter { scope.has(selector: $0) }.map { text($0) })),
            entry("owns", .array(owned.filter { scope.has(thread: $0) }.map { text($0) })),
            entry("jobs", .array(held.map { .integer(Int($0.remote.context.id)) })),
        ]
    }
}
