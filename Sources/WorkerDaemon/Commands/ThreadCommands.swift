// Commands that show the worker threads and steer them.

internal import Jobs
internal import Kernel
internal import RESP
internal import Synchronization
internal import WorkerThreads

enum ThreadCommands {
    static let all: [CommandSpecification] = [
        CommandSpecification(
            "threads", 1...2, .threads, .observe, usage: "[LIVE]",
            "Every worker thread, and what it does; with LIVE pushes the live view, and what "
                + "changes of it. LIVE needs HELLO 3.",
            execute: threads),
        CommandSpecification(
            "thread", 2...2, .threads, .observe, usage: "name",
            "One worker thread or pool, in detail.",
            execute: thread),
        CommandSpecification(
            "pause", 2...2, .threads, .operate(showing: 1), usage: "name",
            "Pauses a thread or pool: jobs wait, running ones are finished.",
            execute: { service, session, command in
                try steer(service, session, command, isPaused: true)
            }),
        CommandSpecification(
            "resume", 2...2, .threads, .operate(showing: 1), usage: "name",
            "Resumes a thread or pool, with its waiting jobs.",
            execute: { service, session, command in
                try steer(service, session, command, isPaused: false)
            }),
        CommandSpecification(
            "stop", 2...2, .threads, .operate(showing: 1), usage: "name",
            "Ends a thread or pool once its waiting jobs are done; refuses new ones at once.",
            execute: stop),
        CommandSpecification(
            "selectors", 1...1, .threads, .observe, "Every selector, and what handles it.",
            execute: selectors),
    ]

    private static func threads(
        _ service: Service, _ session: Session, _ command: Command
    ) throws -> RESPValue? {
        if command.count > 1 {
            guard command.matches(1, "LIVE") else {
                throw WireError(.err, "THREADS takes LIVE or nothing")
            }
            try session.checkPushes(of: "THREADS LIVE", else: "THREADS")
            try service.pushLive(to: session)
            return nil
        }
        let scope = session.user.scope
        let missing = service.driver.scheduler.queues.orphans.threads.filter {
            scope.has(thread: $0.name)
        }
        return .array(
            service.driver.groups.flatMap { group in
                group.members.filter { scope.has(thread: $0.name) }
                    .map { .map(describe($0, of: group, service, scope)) }
            } + missing.map { .map(describe(orphaned: $0.name, count: $0.count)) })
    }

    private static func thread(
        _ service: Service, _ session: Session, _ command: Command
    ) throws -> RESPValue? {
        let name = command.text(at: 1)
        try session.user.check(thread: name)
        if let count = service.driver.scheduler.queues.orphans.count(of: name), count > 0 {
            return .map(describe(orphaned: name, count: count))
        }
        let group = try service.driver.group(of: name)
        if let member = group.member(named: name) {
            return .map(
                describe(member, of: group, service, session.user.scope) + [
                    entry("pool", text(group.name)),
                    entry("max-queued", .integer(group.maxQueued)),
                ] + placeEntries(of: member, service))
        }
        let awaitingCount = service.driver.exchange.lobby.count(of: group)
        return .map(
            [
                entry("name", text(group.name)),
                entry("members", .array(group.members.map { text($0.thread.name) })),
                entry("waiting", .integer(service.driver.shownWaitingCount(of: group))),
                entry(
                    "running", .integer(group.members.count { $0.current.withLock { $0 } != nil })),
                entry("max-queued", .integer(group.maxQueued)),
            ] + (service.driver.scheduler.holdUp(ofThread: name)?.entries ?? [])
                + (awaitingCount == 0
                    ? [] : [entry("awaiting-workers", .integer(awaitingCount))]))
    }

    /// Where the thread hangs, if its job is stuck.
    private static func placeEntries(
        of member: WorkerGroup.Member, _ service: Service
    ) -> [RESPValue.Entry] {
        guard let job = member.current.withLock({ $0 }),
            let places = service.driver.places(ofStuck: JobID(job.id))
        else { return [] }
        return [entry("hangs-at", .array(places.map(text)))]
    }

    private static func stop(
        _ service: Service, _ session: Session, _ command: Command
    ) throws -> RESPValue? {
        let name = command.text(at: 1)
        try session.user.check(thread: name)
        let group = try service.driver.group(of: name)
        try checkIsOne(name, service)
        group.stop(name)
        service.driver.exchange.leaveStopped()
        service.driver.input { $0.threadsWereStopped() }
        service.driver.forgetPause(of: name)
        service.driver.noteChange(of: name, .stopped)
        service.log.notice("thread \(name) was told to stop by client \(session.number)")
        return .simpleString("OK")
    }

    /// Refuses a command for one thread of a pool of which each node has one of that name.
    private static func checkIsOne(_ name: String, _ service: Service) throws {
        guard name.contains("/"), service.isOfSpreadPool(name) else { return }
        let pool = try service.driver.group(of: name).name
        throw WireError(
            .err, "\(pool) has slots on several nodes, each with a thread \(name): name \(pool)")
    }

    private static func steer(
        _ service: Service, _ session: Session, _ command: Command, isPaused: Bool
    ) throws -> RESPValue? {
        try session.user.check(thread: command.text(at: 1))
        try checkIsOne(command.text(at: 1), service)
        service.driver.steer(command.text(at: 1), isPaused: isPaused, session.reserve())
        return nil
    }

    /// - Parameter scope: a running job of a selector outside is left out.
    private static func describe(
        _ member: WorkerGroup.Member, of group: WorkerGroup, _ service: Service,
        _ scope: JobScope
    ) -> [RESPValue.Entry] {
        let job = member.current.withLock { $0 }.flatMap {
            scope.has(selector: $0.selector) ? $0 : nil
        }
        let awaited = service.driver.exchange.ready(on: member)
        let state = state(of: member, of: group, service)
        let runtime = job?.run.map { WallClock.unixMilliseconds() - $0.startedAt }
        return describe(
            member.thread.name, state, waitingCount: service.driver.shownWaitingCount(of: group),
            doneCount: member.doneCount.load(ordering: .relaxed),
            failedCount: member.failedCount.load(ordering: .relaxed),
            job: job.map { Int($0.id) }, selector: job?.selector, runtime: runtime)
            + (service.driver.scheduler.holdUp(ofThread: member.name)?.entries ?? [])
            + (awaited?.entries ?? []) + service.driver.exchange.ownerEntries(of: member)
    }

    /// All states of a configured thread.
    static let states = [
        "stuck", "stopped", "stopping", "pausing", "running", "paused", "held", "idle",
    ]

    /// The state of a thread, as a word.
    static func state(
        of member: WorkerGroup.Member, of group: WorkerGroup, _ service: Service
    ) -> String {
        let job = member.current.withLock { $0 }
        if let job, service.driver.isStuck(JobID(job.id)) { return "stuck" }
        if member.thread.isStopped { return member.thread.hasEnded ? "stopped" : "stopping" }
        if job != nil { return member.thread.isPaused ? "pausing" : "running" }
        if member.thread.isPaused { return "paused" }
        let isHeld =
            service.driver.exchange.ready(on: member) != nil
            || service.driver.isHeldUp(member, of: group)
        return isHeld ? "held" : "idle"
    }

    /// Describes a thread that is no longer configured and has jobs in the journal.
    private static func describe(orphaned name: String, count: Int) -> [RESPValue.Entry] {
        describe(name, "orphaned", waitingCount: count)
    }

    private static func describe(
        _ name: String, _ state: String, waitingCount: Int, doneCount: Int = 0,
        failedCount: Int = 0, job: Int? = nil, selector: String? = nil, runtime: Int64? = nil
    ) -> [RESPValue.Entry] {
        [
            entry("name", text(name)),
            entry("state", text(state)),
            entry("waiting", .integer(waitingCount)),
            entry("done", .integer(doneCount)),
            entry("failed", .integer(failedCount)),
            entry("job", job.map { .integer($0) } ?? .null),
            entry("selector", selector.map(text) ?? .null),
            entry("running-ms", runtime.map { .integer(Int($0)) } ?? .null),
        ]
    }

    private static func selectors(
        _ service: Service, _ session: Session, _ command: Command
    ) throws -> RESPValue? {
        let scope = session.user.scope
        let missing = service.driver.scheduler.queues.unserved.bySelector.filter {
            scope.has(selector: $0.name)
        }
        return .array(
            service.driver.handlers.filter { scope.has(selector: $0.key) }
                .sorted { $0.key < $1.key }.map { name, handler in
                    .map(
                        [
                            entry("name", text(name)), entry("handler", text(handler.description)),
                        ]
                            + (!handler.isForWorkers
                                ? []
                                : [
                                    entry(
                                        "workers", .integer(service.driver.exchange.count(of: name))
                                    )
                                ])
                    )
                }
                + missing.map { name, count in
                    .map([
                        entry("name", text(name)), entry("handler", text("none")),
                        entry("orphaned", .integer(count)),
                    ])
                })
    }
}
