// The share that this daemon has of the threads. It looks at all daemons once a second, or twice if
// something is to be done, takes up the threads that are to be its own, and gives others away.
//
// A spread pool is shared by its slots: each has an owner as a thread has.
//
// A thread is open from the moment when all its stored jobs are known here until it is to be given
// away: only then are commands for it executed here.

internal import Jobs
internal import Kernel
internal import RunLoops
internal import Wording
internal import WorkerThreads

/// The threads of a daemon that shares them with others.
///
/// Confined to the driver's thread.
final class ThreadSharing {
    /// The pause between two looks: one statement each.
    static let lookPause = Duration.milliseconds(500)
    /// The time after which the other nodes have looked, also at a busy database.
    private static let othersLookTime = Duration.seconds(5)

    private let driver: SchedulerDriver
    private let schedules: ScheduleRunner
    private let seat: Int64
    let linkSecret: String
    private let startedAt: Instant
    private let log: Log
    /// The schedules of the configuration in force.
    private let configured: () -> [Configuration.Schedule]
    private var plan: SharingPlan
    /// The daemons at the latest look.
    private(set) var nodes = StoreNodes()
    private var missingNodes = MissingNodes()
    private(set) var known: KnownThreads
    /// The names of the threads, pools and slots in this node's configuration.
    private let own: Set<String>
    /// The threads, pools and slots whose commands are executed here.
    private(set) var open: Set<String> = []
    /// Threads and pools on their way here or away.
    private var moving: Set<String> = []
    private var drains = ThreadDrains()
    /// The schedules of threads that are on their way here.
    private var recovered: [String: [ScheduleRecord]] = [:]
    /// The nodes whose threads were compared with the threads of this node.
    private var compared: Set<Int64> = []
    private var handovers = RecentHandovers()
    private let forsaken: ForsakenThreads
    private var timer: ThreadRunLoop.Timer?
    private var isLooking = false
    /// Whether the next look at its time is left out, as nothing is to be done.
    private var isLookSpared = false
    private var isClosed = false
    /// Called when a thread has another owner.
    var whenChanged: (() -> Void)?
    var whenLooked: (() -> Void)?
    var whenWishChanged: (() -> Void)?

    init(
        _ driver: SchedulerDriver, _ schedules: ScheduleRunner, seat: Int64, linkSecret: String,
        log: Log, configured: @escaping () -> [Configuration.Schedule]
    ) {
        self.driver = driver
        self.schedules = schedules
        self.seat = seat
        self.linkSecret = linkSecret
        startedAt = driver.loop.now
        self.log = log
        self.configured = configured
        forsaken = ForsakenThreads(in: driver.store, on: driver.loop)
        own = Set(driver.groups.flatMap(\.configuration.units))
        known = KnownThreads(own)
        plan = SharingPlan(seat: seat, threads: Array(own))
    }

    /// Begins to look; no thread is open yet.
    func start() {
        for group in driver.groups {
            for unit in group.configuration.units {
                for name in names(of: unit, group) {
                    driver.ask({ $0.release(name, $1) }, then: { _ in })
                }
                driver.input { $0.forgetJobs(of: unit) }
            }
        }
        driver.isOpen = { [unowned self] in open.contains(ThreadGroup.name(of: $0)) }
        driver.whenTaken = { [unowned self] in take($0) }
        let sharing = Confined(self, to: driver.loop)
        let timer = ThreadRunLoop.Timer(at: driver.loop.now, every: Self.lookPause) { _ in
            sharing.value.lookInTime()
        }
        self.timer = timer
        driver.loop.add(timer)
    }

    /// Ends the looks.
    func close() {
        isClosed = true
        timer?.invalidate()
        timer = nil
        whenChanged = nil
        whenLooked = nil
        whenWishChanged = nil
    }

    /// The names of the queues that have one owner.
    private func names(of unit: String, _ group: WorkerGroup) -> [String] {
        guard unit == group.name else { return [unit] }
        return [group.name] + group.members.map(\.name).filter { $0 != group.name }
    }

    private func group(ofUnit unit: String) -> WorkerGroup? {
        driver.groups.first { $0.name == PoolSlot.shown(unit) }
    }

    /// Whether STOP has ended a thread of a unit, for good: it would run again at another node.
    private func isStopped(_ unit: String) -> Bool {
        group(ofUnit: unit)?.members.contains { $0.thread.isStopped } == true
    }

    // MARK: - Looks

    private func lookInTime() {
        isLookSpared = plan.isQuiet && !isLookSpared
        if !isLookSpared { look() }
    }

    private func look() {
        guard !isLooking, !isClosed else { return }
        isLooking = true
        let sharing = Confined(self, to: driver.loop)
        driver.store.askForNodes { [loop = driver.loop] result in
            loop.perform { sharing.value.seen(result) }
        }
    }

    private func seen(_ result: Result<StoreNodes?, StoreFault>) {
        isLooking = false
        // Without an answer from the database, nothing is known and nothing moves.
        guard !isClosed, case .success(let nodes?) = result, let places = nodes.places else {
            return
        }
        let earlier = self.nodes.all
        let areMissing = missingNodes.look(nodes.all, after: earlier, at: driver.loop.now)
        let isChanged = areMissing || self.nodes.withoutWishes != nodes.withoutWishes
        if places.scheduleMoveCount != self.nodes.places?.scheduleMoveCount {
            schedules.forgetPassed()
        }
        handovers.settle(at: driver.loop.now)
        if isChanged {
            handovers.note(nodes, missing, after: self.nodes, at: driver.loop.now)
        }
        self.nodes = nodes
        if isChanged { learnThreads() }
        let wanted = plan.wanted
        let resting = restingUnits
        let steps = plan.look(nodes, open: open, idle: idlePools, at: .now) { [unowned self] pool in
            load(of: pool, besides: resting)
        }
        if plan.wanted != wanted { whenWishChanged?() }
        endDrains(besides: steps)
        for step in steps { takeStep(step, besides: resting) }
        if isChanged { warnOfDifferences() }
        forsaken.countInTime()
        if isChanged { whenChanged?() }
        whenLooked?()
    }

    /// The spread pools for which no job waits here while one of their threads is free.
    private var idlePools: Set<String> {
        guard !driver.isRefusing, driver.changes.areDone else { return [] }
        let idle = driver.groups.filter { group in
            group.configuration.slots > 1 && driver.shownWaitingCount(of: group) == 0
                && group.members.contains(where: \.isFree)
        }
        return Set(idle.map(\.name))
    }

    /// The jobs that wait here for a spread pool; nil if its threads will soon have them all.
    ///
    /// - Parameter resting: the units that can't be lent.
    private func load(of pool: String, besides resting: Set<String>) -> SlotLoad? {
        guard let group = driver.groups.first(where: { $0.name == pool }),
            driver.shownWaitingCount(of: group) > group.members.count,
            group.members.contains(where: { !$0.thread.isPaused && !$0.thread.isStopped })
        else { return nil }
        var load = driver.scheduler.slotLoad(of: pool)
        for unit in resting { load.lendable[unit] = nil }
        return load
    }

    /// The units with jobs that workers gave back for a while: only this node knows of that.
    private var restingUnits: Set<String> {
        Set(
            driver.exchange.resting.compactMap { id, rest in
                guard rest.isAsked, let job = driver.scheduler.book.active(id) else { return nil }
                return ThreadGroup.name(of: job.slot)
            })
    }

    private func learnThreads() {
        let names = (nodes.all + missing).reduce(into: own) { $0.formUnion($1.threads) }
        if names != known.names { known = KnownThreads(names) }
    }

    /// Warns of threads that not all nodes can run.
    private func warnOfDifferences() {
        defer { compared = Set(others.map(\.id)) }
        for node in others where !compared.contains(node.id) {
            let other = Set(node.threads)
            let parts = [
                (other.subtracting(own), "only it has"), (own.subtracting(other), "it lacks"),
            ].filter { !$0.0.isEmpty }.map { names, words in
                "\(words) \(names.sorted().joined(separator: ", "))"
            }
            guard !parts.isEmpty else { continue }
            log.warning(
                "node \(node.name) has other threads in its configuration than this one: "
                    + "\(parts.joined(separator: "; ")); they go on only where they are configured")
        }
        let lost = Set(nodes.places?.threads.keys.filter { !known.names.contains($0) } ?? [])
        let new = forsaken.take(lost)
        guard !new.isEmpty else { return }
        log.warning(
            "no node has \(new.sorted().joined(separator: ", ")) in its configuration: their jobs "
                + "wait until one has")
    }

    /// - Parameter resting: the units that can't be given.
    private func takeStep(_ step: SharingStep, besides resting: Set<String>) {
        guard !driver.isRefusing, driver.store.isTrusted else { return }
        switch step {
        case .claim(let name):
            guard !open.contains(name), moving.insert(name).inserted else { return }
            claim(name)
        case .take(let move):
            guard moving.insert(move.thread).inserted else { return }
            record(move) { [unowned self] _ in
                moving.remove(move.thread)
                look()
            }
        case .give(let move):
            guard open.contains(move.thread), !moving.contains(move.thread) else { return }
            guard !isStopped(move.thread), !driver.exchange.hasOwner(ofThreadIn: move.thread),
                !resting.contains(move.thread)
            else { return endDrain(of: move.thread) }
            // Another thread may be on its way here.
            guard driver.changes.areDone, schedules.isIdle(of: move.thread) else {
                return drain(move.thread, while: .commanded)
            }
            let readiness = driver.input { $0.prepareToPass(move.thread) }
            guard readiness == .ready else { return drain(move.thread, while: readiness) }
            moving.insert(move.thread)
            drains.leave(move.thread)
            give(move)
        }
    }

    // MARK: - Draining

    /// Drains a thread that is to be given away, or goes on with it if that is in vain.
    private func drain(_ unit: String, while readiness: PassingReadiness) {
        let now = driver.loop.now
        let isDrained = drains.units.contains(unit)
        switch readiness {
        case .needed: endDrain(of: unit)
        case .running where !isDrained:
            guard drains.mayBegin(unit, at: now) else { return }
            drains.begin(unit, at: now)
            driver.input { $0.drain(unit) }
        case .running where group(ofUnit: unit)?.members.count == 1: drains.begin(unit, at: now)
        case .ready, .running, .commanded:
            if drains.isInVain(unit, at: now) { endDrain(of: unit) }
        }
    }

    private func endDrain(of unit: String) {
        guard drains.end(unit, at: driver.loop.now) else { return }
        driver.input { $0.endDrain(of: unit) }
    }

    /// Goes on with the threads that are not to be given away any more.
    private func endDrains(besides steps: [SharingStep]) {
        var given: Set<String> = []
        for case .give(let move) in steps { given.insert(move.thread) }
        for unit in drains.units.subtracting(given) where open.contains(unit) {
            endDrain(of: unit)
        }
    }

    private func record(_ move: ThreadMove, then body: @escaping (StoreFault?) -> Void) {
        driver.keep({ .move([move], ticket: $0) }, then: body)
    }

    // MARK: - Coming

    private func claim(_ name: String) {
        guard let group = group(ofUnit: name) else {
            moving.remove(name)
            return
        }
        let names = names(of: name, group)
        // Their claims read all that there is; a claim that broke off has read some names before.
        let unread = names.filter { driver.scheduler.isReleased($0) }
        _ = driver.changes.takeStale(of: unread)
        claim(names[...], of: name)
    }

    /// Claims the queues of a group, one name after another; its own name is the first.
    private func claim(_ names: ArraySlice<String>, of group: String) {
        guard let name = names.first else { return openThread(group) }
        driver.ask({ $0.claim(name, $1) }) { [unowned self] error in
            guard let error else { return claim(names.dropFirst(), of: group) }
            // The names before it are claimed, and their schedules do not come again.
            log.debug("thread \(group) is not taken up: \(error)")
            moving.remove(group)
        }
    }

    /// The jobs of a thread are known; none of them is offered yet.
    private func take(_ taken: TakenJobs) {
        driver.exchange.restore(taken.held) { [driver] in driver.handlers[$0]?.forWorkers }
        let unit = ThreadGroup.name(of: taken.thread)
        // A reload claims threads that are served here: a PAUSE may have come since.
        guard !open.contains(unit) else { return }
        takePause(of: taken)
        recovered[unit, default: []] += taken.schedules
    }

    /// Pauses a thread as its last owner has left it.
    ///
    /// Commands for a spread pool come to each owner, so one that has a slot knows already.
    private func takePause(of taken: TakenJobs) {
        let unit = ThreadGroup.name(of: taken.thread)
        let pool = PoolSlot.shown(unit)
        guard driver.spread.count(of: pool) > 1 else {
            // The pool's own name is claimed first. Its pause covers threads that are new. A name
            // that was paused here before may have gone on elsewhere.
            let isMember = taken.thread != unit
            let isPaused = taken.isPaused || isMember && driver.isPausedByName(unit)
            return driver.setPause(of: taken.thread, to: isPaused)
        }
        guard taken.thread == unit, !open.contains(where: { PoolSlot.shown($0) == pool }) else {
            return
        }
        driver.setPause(ofPool: pool, to: taken.isPaused)
    }

    private func openThread(_ group: String) {
        moving.remove(group)
        handovers.forget(group)
        open.insert(group)
        log.notice("thread \(group) is served here")
        let records = recovered.removeValue(forKey: group) ?? []
        let own = configured().map(driver.spread.placed).filter {
            ThreadGroup.name(of: $0.definition.request.thread) == group
        }
        schedules.start(own, recovered: records)
        claimStale(of: group)
        driver.exchange.match()
        whenChanged?()
    }

    /// Claims the queues of a thread anew whose claim was under way while the selectors changed.
    private func claimStale(of unit: String) {
        guard let group = group(ofUnit: unit) else { return }
        for name in driver.changes.takeStale(of: names(of: unit, group)) {
            driver.ask({ $0.release(name, keepsNew: true, $1) }, then: { _ in })
            driver.claim(name) { _ in }
        }
    }

    // MARK: - Going

    private func give(_ move: ThreadMove) {
        guard let group = group(ofUnit: move.thread) else {
            moving.remove(move.thread)
            return
        }
        open.remove(move.thread)
        recovered[move.thread] = nil
        whenChanged?()
        schedules.leave(threadsOf: move.thread)
        release(names(of: move.thread, group)[...], move)
    }

    private func release(_ names: ArraySlice<String>, _ move: ThreadMove) {
        guard let name = names.first else { return leave(move) }
        driver.ask({ $0.release(name, $1) }) { [unowned self] _ in
            release(names.dropFirst(), move)
        }
    }

    private func leave(_ move: ThreadMove) {
        driver.input { $0.forgetJobs(of: move.thread) }
        record(move) { [unowned self] fault in
            if let fault {
                log.warning("thread \(move.thread) stays here: \(fault)")
                return claim(move.thread)
            }
            moving.remove(move.thread)
            let node = nodes.all.first { $0.seat == move.to }?.name ?? "another node"
            log.notice("thread \(move.thread) is given to \(node)")
            handovers.gave(move.thread, at: driver.loop.now)
            look()
        }
    }
}

extension ThreadSharing: ThreadOwners {
    var isLinkSecretKnown: Bool {
        driver.loop.now >= startedAt.advanced(by: Self.othersLookTime)
    }

    var wanted: [String] { plan.wanted.sorted() }

    func hasJustGiven(_ unit: String) -> Bool {
        handovers.hasJustGiven(unit, at: driver.loop.now)
    }

    var recentGivers: [Int64: Instant] { handovers.givers }

    var others: [StoreNode] { nodes.all.filter { $0.seat != nil && $0.seat != seat } }

    var missing: [StoreNode] { missingNodes.all }

    var forsakenJobCounts: [String: Int] { forsaken.counts }

    func owner(of group: String) -> ThreadOwner {
        if open.contains(group) { return .here }
        guard let place = nodes.places?.threads[group], place.seat != seat,
            let node = nodes.all.first(where: { $0.seat == place.seat })
        else { return .nobody }
        return .node(node)
    }

    func findThread(of id: JobID, answer: @escaping (Result<String?, StoreFault>) -> Void) {
        let confined = Confined(answer, to: driver.loop)
        driver.store.askForThread(of: id) { [loop = driver.loop] result in
            loop.perform { confined.value(result) }
        }
    }
}
