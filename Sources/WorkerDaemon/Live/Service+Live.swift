// The contents of the live view: one look at the threads, without a look at each job.

internal import HTTP
internal import Jobs
internal import Kernel
internal import RESP
internal import Synchronization
internal import WorkerThreads

extension Service {
    /// The live view; nil unless HTTP is served.
    func makeLiveBoard() -> LiveBoard? {
        guard let timelines = driver.figures?.timelines else { return nil }
        return LiveBoard(
            epoch: epoch, loop: loop, timelines: timelines,
            look: { [unowned self] in lookAtAll() },
            follow: { [unowned self] isWanted in driver.followLive(isWanted ? live : nil) })
    }

    /// The source of a stream of the live view.
    func liveMessages(_ request: WebRequest, _ session: Session) throws -> any MessageSource {
        try request.checkQuery([])
        guard let live else { throw WireError(.err, "HTTP is not served") }
        let wall = driver.wall
        let messages = LiveMessages(live, showsPayloads: session.maySeePayloads) {
            wall.unixMilliseconds()
        }
        live.add(session.number) { [weak session] in session?.scheduleFlush() }
        return messages
    }

    private func lookAtAll() -> LiveBoard.Look {
        var look = LiveBoard.Look()
        var (delayedCount, waitingCount, heldCount, awaitingCount) = (0, 0, 0, 0)
        var runningCount = 0
        for group in driver.groups {
            guard let known = driver.scheduler.knownGroup(of: group.name) else { continue }
            let waiting = driver.scheduler.shownWaitingCount(of: known)
            let delayed = driver.scheduler.delayedCount(of: known)
            let awaiting =
                group.awaitingWorkerCount.load(ordering: .relaxed)
                + driver.exchange.lobby.count(of: group)
            waitingCount += waiting
            delayedCount += delayed
            heldCount += known.heldUpCount
            awaitingCount += awaiting
            look.pools.append(
                pool(group, known, waiting: waiting, delayed: delayed, awaiting: awaiting))
            for member in group.members {
                let row = thread(member, of: group, &look)
                if row.row.job != nil { runningCount += 1 }
                look.threads.append(row)
            }
        }
        if !health.isStoreWritable {
            // Its owner waits for the moment at which it can be written again.
            look.isChanging = true
            health.look { _ in }
        }
        look.server = server
        look.counts = LiveRow(
            entries: [
                ("waiting", waitingCount), ("held", heldCount), ("awaiting", awaitingCount),
                ("delayed", delayedCount), ("running", runningCount),
                ("stuck", driver.stuckCount), ("orphaned", driver.scheduler.orphanedCount),
            ].map { entry($0.0, .integer($0.1)) } + totals)
        look.selectors = selectorRows
        return look
    }

    private var server: LiveRow {
        LiveRow(entries: [
            entry("version", text(Service.version)), entry("epoch", text(epoch)),
            entry("started", .integer(Int(driver.startedAt))),
            entry("store", text(driver.store.isKeeping ? "file" : "memory")),
            entry("writable", .boolean(health.isStoreWritable)),
            entry("draining", .boolean(driver.isRefusing)),
        ])
    }

    private var totals: [RESPValue.Entry] {
        let totals = driver.scheduler.book.totals
        return [
            ("accepted", totals.accepted), ("done", totals.done), ("failed", totals.failed),
            ("cancelled", totals.cancelled), ("expired", totals.expired),
        ].map { entry($0.0, .integer(Int($0.1))) }
    }

    private func pool(
        _ group: WorkerGroup, _ known: ThreadGroup, waiting: Int, delayed: Int, awaiting: Int
    ) -> (row: LiveRow, line: Timeline?) {
        var entries = [
            entry("name", text(group.name)), entry("members", .integer(group.members.count)),
            entry("waiting", .integer(waiting)), entry("held", .integer(known.heldUpCount)),
            entry("awaiting", .integer(awaiting)), entry("delayed", .integer(delayed)),
            entry("max-queued", .integer(group.maxQueued)),
        ]
        if let oldest = driver.scheduler.oldestWaiting(of: known) {
            entries.append(entry("oldest", .integer(Int(oldest))))
        }
        if let holdUp = driver.scheduler.holdUp(ofThread: group.name) {
            entries.append(entry("held-by", holdUp.live))
        }
        if let figures = driver.figures {
            let waits = figures.waits[figures.pools.place(of: known.index)]
            if waits.count > 0 { entries.append(entry("wait", waits.live)) }
        }
        let line = driver.figures?.timelines.line(
            ofPool: group.name, memberCount: group.members.count)
        return (LiveRow(entries: entries), line)
    }

    private func thread(
        _ member: WorkerGroup.Member, of group: WorkerGroup, _ look: inout LiveBoard.Look
    ) -> (row: LiveRow, line: Timeline?) {
        let state = ThreadCommands.state(of: member, of: group, self)
        // Nothing tells of its end.
        if state == "stopping", member.current.withLock({ $0 }) == nil { look.isChanging = true }
        var row = LiveRow(entries: [
            entry("name", text(member.name)), entry("pool", text(group.name)),
            entry("state", text(state)),
            entry("done", .integer(member.doneCount.load(ordering: .relaxed))),
            entry("failed", .integer(member.failedCount.load(ordering: .relaxed))),
        ])
        if let context = member.current.withLock({ $0 }), let run = context.run {
            let active = driver.scheduler.book.active(JobID(context.id))
            row.job = LiveJob(
                id: context.id, selector: context.selector, since: run.startedAt,
                attempt: context.attempt, stuckSince: active?.stuckSince,
                options: context.options, progress: context.progress)
            // Progress rings once until the next look.
            if let active { driver.listen(to: active) }
        }
        if let awaited = driver.exchange.ready(on: member) {
            row.entries.append(
                entry(
                    "awaits-worker",
                    .map([
                        entry("job", .integer(Int(awaited.id.number))),
                        entry("selector", text(awaited.context.selector)),
                    ])))
        }
        if let holdUp = driver.scheduler.holdUp(ofThread: member.name) {
            row.entries.append(entry("held-by", holdUp.live))
        }
        return (row, driver.figures?.timelines.line(ofThread: member.name))
    }

    private var selectorRows: [LiveRow] {
        guard let figures = driver.figures else { return [] }
        // Selectors that are no longer served keep their places.
        let places = driver.selectorNames.enumerated().filter { driver.handlers[$1] != nil }
        return places.sorted { $0.element < $1.element }.map { index, name in
            let runs = figures.runs[figures.selectors.place(of: index)]
            return LiveRow(
                entries: [entry("name", text(name))]
                    + (runs.count == 0 ? [] : [entry("run", runs.live)]))
        }
    }
}

extension JobHoldUp {
    fileprivate var live: RESPValue {
        .map(
            [entry("job", .integer(Int(blocker.number)))]
                + (until.map { [entry("until", .integer(Int($0)))] } ?? []))
    }
}

extension ClassicHistogram {
    /// The upper end in milliseconds of the bucket that has this share of all; nil above the last.
    func milliseconds(below share: Double) -> Int? {
        let wanted = max(1, UInt64((Double(count) * share).rounded(.up)))
        var sum: UInt64 = 0
        for (bound, bucket) in zip(Self.bounds, buckets) {
            sum += bucket
            if sum >= wanted { return Int((bound * 1_000).rounded(.up)) }
        }
        return nil
    }

    fileprivate var live: RESPValue {
        .map([
            entry("count", .integer(Int(count))),
            entry("p50", milliseconds(below: 0.5).map { .integer($0) } ?? .null),
            entry("p99", milliseconds(below: 0.99).map { .integer($0) } ?? .null),
        ])
    }
}
