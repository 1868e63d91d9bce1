// Commands that show the worker threads and steer them.

internal import Jobs
internal import Kernel
internal import RESP
internal import Synchronization
internal import WorkerThreads

enum ThreadCommands {
    static let all: [CommandSpecification] = [
        CommandSpecification(
            "threads", 1...1, .threads, "Every worker thread, and what it does.",
            execute: { service, _, _ throws(WireError) in
                let missing = service.desk.stored.orphans.threads
                return .array(
                    service.desk.lanes.flatMap { lane in
                        lane.members.map { .map(describe($0, of: lane, service)) }
                    } + missing.map { .map(describe(orphaned: $0.name, count: $0.count)) })
            }),
        CommandSpecification(
            "thread", 2...2, .threads, usage: "name", "One worker thread or pool, in detail.",
            execute: thread),
        CommandSpecification(
            "pause", 2...2, .threads, usage: "name",
            "Holds what waits for a thread or pool; what runs is finished.",
            execute: { service, session, command in
                try steer(service, session, command, isPaused: true)
            }),
        CommandSpecification(
            "resume", 2...2, .threads, usage: "name", "Goes on with what was held.",
            execute: { service, session, command in
                try steer(service, session, command, isPaused: false)
            }),
        CommandSpecification(
            "stop", 2...2, .threads, usage: "name",
            "Ends a thread or pool once its waiting jobs are done; refuses new ones at once.",
            execute: stop),
        CommandSpecification(
            "selectors", 1...1, .threads, "Every selector, and what handles it.",
            execute: selectors),
    ]

    private static func thread(
        _ service: Service, _ session: Session, _ command: Command
    ) throws -> RESPValue? {
        let name = command.text(at: 1)
        if let count = service.desk.stored.orphans.count(of: name), count > 0 {
            return .map(describe(orphaned: name, count: count))
        }
        let lane = try service.desk.lane(of: name)
        if let member = lane.member(named: name) {
            return .map(
                describe(member, of: lane, service) + [
                    entry("pool", text(lane.name)),
                    entry("max-queued", .integer(lane.maxQueued)),
                ])
        }
        return .map([
            entry("name", text(lane.name)),
            entry("members", .array(lane.members.map { text($0.thread.name) })),
            entry("waiting", .integer(service.desk.shownWaitingCount(of: lane))),
            entry("running", .integer(lane.members.count { $0.current.withLock { $0 } != nil })),
            entry("max-queued", .integer(lane.maxQueued)),
        ])
    }

    private static func stop(
        _ service: Service, _ session: Session, _ command: Command
    ) throws -> RESPValue? {
        let name = command.text(at: 1)
        let lane = try service.desk.lane(of: name)
        if lane.name == name {
            lane.pool.resume()
            lane.pool.stop(.finishQueued)
        } else if let member = lane.member(named: name) {
            member.thread.stop(.finishQueued)
        }
        service.desk.forgetPause(of: name)
        service.log.notice("thread \(name) was told to stop by client \(session.number)")
        return .simpleString("OK")
    }

    private static func steer(
        _ service: Service, _ session: Session, _ command: Command, isPaused: Bool
    ) throws -> RESPValue? {
        service.desk.steer(command.text(at: 1), isPaused: isPaused, session.reserve())
        return nil
    }

    private static func describe(
        _ member: Lane.Member, of lane: Lane, _ service: Service
    ) -> [RESPValue.Entry] {
        let job = member.current.withLock { $0 }
        let state =
            if let job, service.desk.isStuck(JobID(job.id)) {
                "stuck"
            } else if member.thread.isStopped {
                member.thread.hasEnded ? "stopped" : "stopping"
            } else if job != nil {
                member.thread.isPaused ? "pausing" : "running"
            } else {
                member.thread.isPaused ? "paused" : "idle"
            }
        let runtime = job?.run.map { WallClock.unixMilliseconds() - $0.startedAt }
        return describe(
            member.thread.name, state, waitingCount: service.desk.shownWaitingCount(of: lane),
            doneCount: member.doneCount.load(ordering: .relaxed),
            failedCount: member.failedCount.load(ordering: .relaxed),
            job: job.map { Int($0.id) }, selector: job?.selector, runtime: runtime)
    }

    /// What is to say of a thread that is configured no more and has jobs in the journal.
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
        let missing = service.desk.stored.unserved.bySelector
        return .array(
            service.desk.handlers.sorted { $0.key < $1.key }.map { name, handler in
                .map([
                    entry("name", text(name)), entry("handler", text(handler.description)),
                ])
            }
                + missing.map { name, count in
                    .map([
                        entry("name", text(name)), entry("handler", text("none")),
                        entry("orphaned", .integer(count)),
                    ])
                })
    }
}
