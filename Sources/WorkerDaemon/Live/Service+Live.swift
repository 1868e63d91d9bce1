// The contents of the live view: one look at the threads, without a look at each job.

internal import HTTP
internal import Jobs
internal import Kernel
internal import RESP
internal import Synchronization
internal import WorkerThreads

extension Service {
    func makeLiveBoard() -> LiveBoard {
        LiveBoard(
            epoch: epoch, loop: loop,
            timelines: { [unowned self] in driver.figures?.timelines },
            look: { [unowned self] in lookAtAll() },
            follow: { [unowned self] isWanted in driver.followLive(isWanted ? live : nil) })
    }

    /// The source of a stream of the live view.
    func liveMessages(_ request: WebRequest, _ session: Session) throws -> any MessageSource {
        try request.checkQuery([])
        let messages = liveMessages(for: session.user)
        live.add(session.number) { [weak session] in
            messages.isDue = true
            session?.scheduleFlush()
        }
        return messages
    }

    private func liveMessages(for user: User) -> LiveMessages {
        let wall = driver.wall
        return LiveMessages(live, for: user) { wall.unixMilliseconds() }
    }

    /// Has a session of RESP pushed the live view, in place of an earlier stream.
    func pushLive(to session: Session) throws {
        try streams.check(session)
        let number = session.number
        endStream(of: number)
        let slot = session.reserve()
        let messages = liveMessages(for: session.user)
        session.begin(LivePushes(slot, messages))
        live.add(number) { [unowned self, weak session] in
            // The client may have gone back to version 2 of the protocol.
            guard let session, session.stream != nil else { return endStream(of: number) }
            messages.isDue = true
            session.scheduleFlush()
        }
        streams.add(session, nil)
        session.fill(slot, with: .simpleString("OK"))
    }

    private func lookAtAll() -> LiveBoard.Look {
        var look = LiveBoard.Look()
        for group in driver.groups {
            guard let known = driver.scheduler.knownGroup(of: group.name) else { continue }
            addPool(group, known, to: &look)
            for member in group.members { addThread(member, of: group, to: &look) }
        }
        addOrphans(to: &look)
        if !health.isStoreWritable {
            // Its owner waits for the moment at which it can be written again.
            look.isChanging = true
            health.look { _ in }
        }
        look.server = server
        var counts = look.parts.reduce(into: LiveCounts()) { $0 += $1.counts }
        counts.stuck = driver.stuckCount
        look.counts = LiveRow(entries: counts.entries + totals)
        look.selectors = selectorRows
        return look
    }

    /// Adds the jobs of threads and selectors that are not served.
    private func addOrphans(to look: inout LiveBoard.Look) {
        let queues = driver.scheduler.queues
        for (thread, count) in queues.orphans.threads {
            look.parts.append(
                (.orphans(thread: thread, selector: nil), LiveCounts(orphaned: count)))
        }
        for (selector, thread, count) in queues.unserved.byThread {
            look.parts.append(
                (.orphans(thread: thread, selector: selector), LiveCounts(orphaned: count)))
        }
    }

    private var server: LiveRow {
        LiveRow(entries: [
            entry("version", text(Service.version)), entry("epoch", text(epoch)),
            entry("started", .integer(Int(driver.startedAt))),
            entry("store", text(driver.store.kind.rawValue)),
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

    private func addPool(
        _ group: WorkerGroup, _ known: ThreadGroup, to look: inout LiveBoard.Look
    ) {
        var counts = LiveCounts()
        counts.waiting = driver.scheduler.shownWaitingCount(of: known)
        counts.held = known.heldUpCount
        counts.awaiting =
            group.awaitingWorkerCount.load(ordering: .relaxed)
            + driver.exchange.lobby.count(of: group)
        counts.delayed = driver.scheduler.delayedCount(of: known)
        var row = LiveRow(
            subject: .thread(group.name),
            entries: [
                entry("name", text(group.name)), entry("members", .integer(group.members.count)),
                entry("waiting", .integer(counts.waiting)), entry("held", .integer(counts.held)),
                entry("awaiting", .integer(counts.awaiting)),
                entry("delayed", .integer(counts.delayed)),
                entry("max-queued", .integer(group.maxQueued)),
            ])
        if let oldest = driver.scheduler.oldestWaiting(of: known) {
            row.entries.append(entry("oldest", .integer(Int(oldest))))
        }
        addOwner(of: group.name, to: &row)
        addHoldUp(of: group.name, to: &row)
        if let figures = driver.figures {
            let waits = figures.waits[figures.pools.place(of: known.index)]
            if waits.count > 0 {
                let wait = entry("wait", waits.live)
                if figures.pools.isOwn(known.index) {
                    row.entries.append(wait)
                } else {
                    row.entriesOfAllThreads.append(wait)
                }
            }
        }
        let line = driver.figures?.timelines.line(
            ofPool: group.name, memberCount: group.members.count)
        look.parts.append((row.subject, counts))
        look.pools.append((row, line))
    }

    private func addThread(
        _ member: WorkerGroup.Member, of group: WorkerGroup, to look: inout LiveBoard.Look
    ) {
        let state = ThreadCommands.state(of: member, of: group, self)
        // Nothing tells of its end.
        if state == "stopping", member.current.withLock({ $0 }) == nil { look.isChanging = true }
        var counts = LiveCounts(stuck: state == "stuck" ? 1 : 0)
        counts.done = member.doneCount.load(ordering: .relaxed)
        counts.failed = member.failedCount.load(ordering: .relaxed)
        var row = LiveRow(
            subject: .thread(member.name),
            entries: [
                entry("name", text(member.name)), entry("pool", text(group.name)),
                entry("state", text(state)), entry("done", .integer(counts.done)),
                entry("failed", .integer(counts.failed)),
            ])
        if let context = member.current.withLock({ $0 }), let run = context.run {
            counts.running = 1
            let active = driver.scheduler.book.active(JobID(context.id))
            row.job = LiveJob(
                id: context.id, selector: context.selector, since: run.startedAt,
                attempt: context.attempt, stuckSince: active?.stuckSince,
                options: context.options, progress: context.progress)
            // Progress rings once until the next look.
            if let active { driver.listen(to: active) }
        }
        if let awaited = driver.exchange.ready(on: member) {
            let selector = awaited.context.selector
            let described = entry(
                "awaits-worker",
                .map([
                    entry("job", .integer(Int(awaited.id.number))),
                    entry("selector", text(selector)),
                ]))
            row.jobEntries.append(LiveRow.JobEntry(selector: selector, entry: described))
        }
        addHoldUp(of: member.name, to: &row)
        look.parts.append((row.subject, counts))
        look.threads.append((row, driver.figures?.timelines.line(ofThread: member.name)))
    }

    /// Adds the node that has a thread or pool, if it is not this one.
    ///
    /// Of a spread pool, adds how many of its slots this node has.
    private func addOwner(of group: String, to row: inout LiveRow) {
        if let owners, driver.spread.count(of: group) > 1 {
            let slots = driver.spread.slots(of: group)
            let ownCount = slots.count { owners.owner(of: $0) == .here }
            row.entries.append(
                entry("slots", .array([.integer(ownCount), .integer(slots.count)])))
            return
        }
        switch owners?.owner(of: group) {
        case nil, .here?: break
        case .nobody?: row.entries.append(entry("node", .null))
        case .node(let node)?:
            row.entries.append(
                entry(
                    "node",
                    .map([
                        entry("name", text(node.name)),
                        entry("http", node.requests.map { text($0) } ?? .null),
                    ])))
        }
    }

    private func addHoldUp(of thread: String, to row: inout LiveRow) {
        guard let holdUp = driver.scheduler.holdUp(ofThread: thread) else { return }
        let blocker = driver.scheduler.book.job(holdUp.blocker)
        row.jobEntries.append(
            LiveRow.JobEntry(selector: blocker?.selector, entry: entry("held-by", holdUp.live)))
    }

    private var selectorRows: [LiveRow] {
        guard let figures = driver.figures else { return [] }
        // Selectors that are no longer served keep their places.
        let places = driver.selectorNames.enumerated().filter { driver.handlers[$1] != nil }
        return places.sorted { $0.element < $1.element }.map { index, name in
            let runs = figures.runs[figures.selectors.place(of: index)]
            return LiveRow(
                subject: .selector(name), entries: [entry("name", text(name))],
                entriesOfAllThreads: runs.count == 0 ? [] : [entry("run", runs.live)])
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
