// A daemon among several that share a database: its scheduler, its store, and its looks at the
// others, with the steps that follow from them. They are those of `ThreadSharing` in the daemon.

import Jobs
import StoreTwin

/// A thread or pool of a configuration.
struct SimulatedGroup {
    let name: String
    let count: Int
    /// The names that have an owner each: its own, or those of its slots.
    let units: [String]

    init(_ name: String, count: Int = 1, slots: Int = 1) {
        self.name = name
        self.count = count
        units = (0..<slots).map { PoolSlot.name($0, of: name) }
    }
}

/// A run of a daemon.
///
/// Confined to its simulation's thread.
final class SimulatedNode {
    static let lookPause: Int64 = 500
    static let beatPause: Int64 = 900
    static let drainPatience: Int64 = 5_000

    let name: String
    let store: TwinNodeStore
    let driver: TestDriver
    private let groups: [SimulatedGroup]
    private let fault: SharingFault?
    private var plan: SharingPlan
    /// The threads and pools whose commands are executed here.
    private(set) var open: Set<String> = []
    /// The threads whose jobs the scheduler has; members of pools, too.
    private(set) var owned: Set<String> = []
    private var moving: Set<String> = []
    /// Since when threads are drained that are to be given away.
    private var drained: [String: Int64] = [:]
    /// The schedules that it follows, by their names.
    var schedules: [String: SimulatedSchedule] = [:]
    /// How often each schedule is being given: none of its moments has a job until that is kept.
    var addedSchedules: [String: Int] = [:]
    /// The names of schedules whose jobs are on their way to the database.
    var awaitedSchedules: Set<String> = []
    /// The schedules of threads that are on their way here.
    private var recovered: [ScheduleRecord] = []
    private var isLooking = false
    /// Whether the next look at its time is left out, as nothing is to be done.
    private var isLookSpared = false
    /// The daemons as the latest look has shown them, on the way to the loop.
    private var view: StoreNodes?
    private var lookedAt: Int64 = -60_000
    var isFrozen = false
    /// Whether no packet comes or goes.
    var isCut = false
    /// Whether it is to end in order.
    var isLeaving = false
    /// How often of 100 times its parts go on as time passes.
    var pace = 85
    private var replies: [UInt64: (JobAnswer) -> Void] = [:]
    /// Clients that wait for the end of a job.
    private(set) var waits: Set<UInt64> = []
    private var confirmations: [UInt64: (StoreFault?) -> Void] = [:]
    private var lastNumber: UInt64 = 0
    /// Told that a thread is paused or not, as its new owner is told.
    var whenPauseTaken: (String, Bool) -> Void = { _, _ in }
    /// Told a thread that is about to be given away.
    var whenGiving: (String) -> Void = { _ in }
    /// Told the load of a pool of which a slot may be lent.
    var whenLending: (SlotLoad, String) -> Void = { _, _ in }
    /// Told the seat of another node, a thread of which is about to be taken.
    var whenTaking: (Int64) -> Void = { _ in }

    init(
        _ name: String, run: Int64, groups: [SimulatedGroup], on database: TwinDatabase,
        clock: StandingClock, log: (mark: UInt64, [JobID: (attempt: Int, result: [UInt8]?)])?,
        window: WindowLimits, tell: @escaping (String) -> Void
    ) {
        self.name = name
        self.groups = groups
        fault = database.fault
        store = TwinNodeStore(
            name, run: run, threads: groups.flatMap(\.units), on: database, log: log,
            serving: ["echo"], windowCountMax: window.countMax,
            epochMilliseconds: TestDriver.epoch)
        plan = SharingPlan(seat: store.seat, threads: groups.flatMap(\.units))
        driver = TestDriver(
            groups: groups.map { ($0.name, $0.count) },
            slots: Dictionary(uniqueKeysWithValues: groups.map { ($0.name, $0.units.count) }),
            window: window, clock: clock,
            sharing: store)
        driver.tell = tell
        driver.whenAnswered = { [unowned self] reply, answer in
            waits.remove(reply.number)
            replies.removeValue(forKey: reply.number)?(answer)
        }
        driver.whenConfirmed = { [unowned self] tag, fault in
            confirmations.removeValue(forKey: tag)?(fault)
        }
        driver.whenTaken = { [unowned self] in
            takePause(of: $0.thread, $0.isPaused)
            recovered += $0.schedules
        }
        driver.mayBegin = { [store] in store.mayBegin($0.id.number, attempt: $0.number) }
        for unit in groups.flatMap(\.units) {
            for name in names(of: unit) { ask({ $0.release(name, $1) }, then: { _ in }) }
            driver.input { $0.forgetJobs(of: unit) }
        }
    }

    var now: Int64 { store.database.now }
    var isTrusted: Bool { store.isTrusted }
    /// Whether it works, and is connected as far as it knows.
    var isHealthy: Bool { !isFrozen && !isCut && !store.isLost && pace > 50 }
    /// Whether nothing is on its way between its parts.
    var isQuiet: Bool {
        store.isQuiet && driver.answerCount == 0 && driver.reports.isEmpty
            && driver.expiredReports.isEmpty && moving.isEmpty
            && replies.count == waits.count
    }

    /// The attempts that run, by the numbers of their jobs.
    var running: [FakeAttempt] {
        driver.groups.flatMap { $0.running.values }.sorted { $0.id < $1.id }
    }

    func canRun(_ unit: String) -> Bool { groups.contains { $0.units.contains(unit) } }

    /// The names of the queues that have one owner.
    func names(of unit: String) -> [String] {
        guard !PoolSlot.isOne(unit) else { return [unit] }
        let count = groups.first { $0.name == unit }?.count ?? 1
        return [unit] + TestDriver.members(unit, count).filter { $0 != unit }
    }

    /// Gives the scheduler a request; calls `body` with its answer.
    ///
    /// - Parameter waits: whether the answer comes with the end of a job.
    func ask(
        waits isWaiting: Bool = false, _ request: (inout JobScheduler, ReplyToken) -> Void,
        then body: @escaping (JobAnswer) -> Void
    ) {
        lastNumber += 1
        replies[lastNumber] = body
        if isWaiting { waits.insert(lastNumber) }
        let reply = ReplyToken(
            client: 1, number: lastNumber, patience: isWaiting ? .unlimited : nil)
        driver.input { request(&$0, reply) }
    }

    /// Has the store keep something; calls `body` when it is kept, or can't be.
    func keep(_ command: (UInt64) -> StoreCommand, then body: @escaping (StoreFault?) -> Void) {
        lastNumber += 1
        confirmations[lastNumber] = body
        let tag = lastNumber
        driver.input { $0.keep(tag: tag, command) }
    }

    private func record(_ move: ThreadMove, then body: @escaping (StoreFault?) -> Void) {
        keep({ .move([move], ticket: $0) }, then: body)
    }

    // MARK: - Looks

    /// Asks the database for the other daemons; the answer is on its way then.
    func look() {
        guard !isLooking, now - lookedAt >= Self.lookPause, !isCut, !isLeaving else { return }
        lookedAt = now
        isLookSpared = plan.isQuiet && !isLookSpared
        guard !isLookSpared else { return }
        view = store.look()
        isLooking = view != nil
    }

    /// The answer of a look comes.
    func see() {
        guard let nodes = view else { return }
        view = nil
        isLooking = false
        let open = fault == .claimsOnce ? Set(groups.flatMap(\.units)) : open
        let moment = ContinuousClock.Instant.simulated(now)
        let wanted = plan.wanted
        let steps = plan.look(nodes, open: open, idle: idlePools, at: moment, load: load)
        if plan.wanted != wanted { store.show(plan.wanted.sorted()) }
        var given: Set<String> = []
        for case .give(let move) in steps { given.insert(move.thread) }
        for unit in drained.keys.sorted() where !given.contains(unit) { endDrain(of: unit) }
        for step in steps { take(step) }
        let others = Set(nodes.all.compactMap(\.seat)).subtracting([store.seat])
        _ = driver.input { scheduler in
            scheduler.leaveClients { thread in
                let place = nodes.places?.threads[ThreadGroup.name(of: thread)]
                return place.map { others.contains($0.seat) } == true
            }
        }
    }

    /// The spread pools for which no job waits here while one of their threads is free.
    private var idlePools: Set<String> {
        let idle = groups.filter { group in
            let threads = driver.group(group.name)
            return group.units.count > 1 && waitingCount(of: group.name) == 0
                && threads.memberNames.contains {
                    threads.running[$0] == nil && !threads.paused.contains($0)
                }
        }
        return Set(idle.map(\.name))
    }

    private func load(of pool: String) -> SlotLoad? {
        guard let group = groups.first(where: { $0.name == pool }),
            waitingCount(of: pool) > group.count,
            driver.group(pool).paused.count < group.count
        else { return nil }
        let load = driver.scheduler.slotLoad(of: pool)
        var rest = load
        if !rest.lendSlots(toOneOf: 1).isEmpty { whenLending(load, pool) }
        return load
    }

    private func waitingCount(of pool: String) -> Int {
        driver.scheduler.knownGroup(of: pool).map { driver.scheduler.shownWaitingCount(of: $0) }
            ?? 0
    }

    private func take(_ step: SharingStep) {
        guard !isLeaving, isTrusted else { return }
        switch step {
        case .claim(let name):
            guard !open.contains(name), moving.insert(name).inserted else { return }
            claim(names(of: name)[...], of: name)
        case .take(let move):
            guard moving.insert(move.thread).inserted else { return }
            record(move) { [unowned self] _ in moving.remove(move.thread) }
            whenTaking(move.from)
        case .give(let move):
            guard open.contains(move.thread), !moving.contains(move.thread) else { return }
            guard !awaitedSchedules.contains(where: { schedules[$0]?.thread == move.thread })
            else { return drain(move.thread, while: .commanded) }
            let readiness = driver.input { $0.prepareToPass(move.thread) }
            guard fault == .givesBusyThreads || readiness == .ready else {
                return drain(move.thread, while: readiness)
            }
            moving.insert(move.thread)
            drained[move.thread] = nil
            whenGiving(move.thread)
            open.remove(move.thread)
            schedules = schedules.filter { $0.value.thread != move.thread }
            release(names(of: move.thread)[...], move)
        }
    }

    /// Drains a thread, or goes on with one that was drained for long enough.
    private func drain(_ unit: String, while readiness: PassingReadiness) {
        if let since = drained[unit] {
            guard readiness == .needed || now - since > Self.drainPatience else { return }
            endDrain(of: unit)
        } else if readiness == .running {
            drained[unit] = now
            driver.input { $0.drain(unit) }
        }
    }

    private func endDrain(of unit: String) {
        guard drained.removeValue(forKey: unit) != nil else { return }
        driver.input { $0.endDrain(of: unit) }
    }

    // MARK: - Coming

    private func claim(_ names: ArraySlice<String>, of group: String) {
        guard let name = names.first else {
            moving.remove(group)
            open.insert(group)
            return restoreSchedules(of: group)
        }
        ask({ $0.claim(name, $1) }) { [unowned self] answer in
            if case .done = answer {
                owned.insert(name)
                return claim(names.dropFirst(), of: group)
            }
            moving.remove(group)
        }
    }

    private func restoreSchedules(of group: String) {
        for record in recovered where record.definition.request.thread == group {
            schedules[record.definition.name] = SimulatedSchedule(
                thread: group, through: record.progress.through)
        }
        recovered.removeAll { $0.definition.request.thread == group }
    }

    private func takePause(of name: String, _ isPaused: Bool) {
        let unit = ThreadGroup.name(of: name)
        let pool = PoolSlot.shown(unit)
        guard groups.contains(where: { $0.name == pool && $0.units.count > 1 }) else {
            return setPause(of: name, to: isPaused)
        }
        // Another slot of the pool is open here: its commands have come here.
        guard name == unit, !open.contains(where: { PoolSlot.shown($0) == pool }) else { return }
        let group = driver.group(pool)
        group.paused = isPaused ? Set(group.memberNames) : []
        whenPauseTaken(pool, isPaused)
    }

    private func setPause(of name: String, to isPaused: Bool) {
        guard let group = driver.groups.first(where: { $0.name == ThreadGroup.name(of: name) })
        else { return }
        let members = group.name == name ? group.memberNames : [name]
        for member in members where member == name || isPaused {
            if isPaused { group.paused.insert(member) } else { group.paused.remove(member) }
        }
        whenPauseTaken(name, isPaused)
    }

    /// Pauses a thread or pool, or lets it go on.
    func steer(_ name: String, isPaused: Bool, then body: @escaping (JobAnswer) -> Void) {
        let group = driver.group(name)
        group.paused = isPaused ? Set(group.memberNames) : []
        let change =
            isPaused
            ? PauseChange(paused: names(of: name)) : PauseChange(paused: [], poolGoingOn: name)
        ask({ $0.keepPauses(change, $1) }, then: body)
    }

    /// The program of an attempt is killed, as the database is away: its job waits again.
    func leave(_ attempt: FakeAttempt) {
        let group = driver.groups[attempt.job.group.index]
        group.running[attempt.member] = nil
        (attempt.phase, attempt.member) = (.queued, "")
        attempt.number += 1
        group.putBack(attempt)
        driver.input { $0.vanished(attempt.id) }
    }

    // MARK: - Going

    private func release(_ names: ArraySlice<String>, _ move: ThreadMove) {
        guard let name = names.first else { return leave(move) }
        ask({ $0.release(name, $1) }) { [unowned self] _ in
            owned.remove(name)
            release(names.dropFirst(), move)
        }
    }

    private func leave(_ move: ThreadMove) {
        driver.input { $0.forgetJobs(of: move.thread) }
        record(move) { [unowned self] fault in
            moving.remove(move.thread)
            guard fault != nil, moving.insert(move.thread).inserted else { return }
            claim(names(of: move.thread)[...], of: move.thread)
        }
    }
}

extension ContinuousClock.Instant {
    private static let origin = ContinuousClock.now

    /// The moment so many milliseconds after the beginning of a simulation.
    static func simulated(_ milliseconds: Int64) -> Self {
        origin.advanced(by: .milliseconds(milliseconds))
    }
}
