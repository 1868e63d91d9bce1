// A driver for the scheduler without a thread: groups are lists, attempts begin and end when a test
// says so, the store does what it was told when a test says so, and its answers wait until a test
// delivers them.

import Jobs
import Kernel
import StoreTwin
import Synchronization

/// An attempt that was offered.
final class FakeAttempt {
    enum Phase { case queued, running, withdrawn, over }

    let job: JobEntry
    let id: JobID
    var number: Int
    let expiresAt: Int64
    let isStored: Bool
    var phase = Phase.queued
    var member = ""
    var startedAt: Int64 = 0
    /// Whether it was asked to end.
    var isAskedToEnd = false
    /// Whether a worker in another process has it.
    fileprivate(set) var isHeld = false
    /// The job's turn when it was withdrawn.
    fileprivate(set) var turn: UInt64 = 0

    init(_ job: JobEntry) {
        self.job = job
        id = job.id
        number = job.attemptNumber
        expiresAt = job.expiresAt
        isStored = job.isStored
    }

    var key: [UInt8]? { job.details.options.key }
    var thread: String { job.details.thread }

    /// Whether it and another one begin one after another.
    func isOfOrder(of other: FakeAttempt) -> Bool {
        guard job.group === other.job.group, thread == other.thread else { return false }
        let isForOne = job.group.memberNames.count == 1 || thread != job.group.name
        return isForOne || key != nil && key == other.key
    }
}

/// Drives a scheduler step by step.
final class TestDriver: SchedulerEnvironment {
    /// Called with the words for an effect as it is carried out.
    var tell: (String) -> Void = { _ in }
    /// Told each answer.
    var whenAnswered: (ReplyToken, JobAnswer) -> Void = { _, _ in }
    /// Told each change, if that is set before a life begins.
    var whenChanged: ((SchedulerChange) -> Void)? {
        didSet { scheduler.audience.followsChanges = whenChanged != nil }
    }
    /// Told what has become of a command of the driver's.
    var whenConfirmed: (UInt64, StoreFault?) -> Void = { _, _ in }
    /// Told of a thread that is taken over, before the scheduler hears of it.
    var whenTaken: (TakenJobs) -> Void = { _ in }
    /// Whether an attempt may begin; else its worker waits with it.
    var mayBegin: (FakeAttempt) -> Bool = { _ in true }
    /// Called when a life has begun.
    var whenStarted: () -> Void = {}
    /// Whether threads that are not there may be another scheduler's.
    var othersHaveThreads = false
    /// The scheduler of this life.
    var scheduler: JobScheduler {
        _read { yield life.scheduler }
        _modify { yield &life.scheduler }
    }
    private var life: Life
    private(set) var groups: [FakeGroup]
    private(set) var twin: TwinStore?
    /// A store that others share; then there is no twin.
    private let shared: TwinNodeStore?
    private var keeper: (any JobStore)? { shared ?? twin }
    let clock: StandingClock
    /// Milliseconds that the clock on the wall has been set by.
    var wallOffset: Int64 = 0
    /// Milliseconds by which the store's clock is behind.
    let storeLag: Int64
    /// The jobs that workers of an earlier life hold, until their members have begun them.
    var heldOver: [JobID: JobHolder] = [:]
    /// Reports of threads that the scheduler has not heard.
    var reports: [Completion] = []
    var expiredReports: [JobID] = []
    /// The attempts that the present input has withdrawn.
    private var withdrawn: [FakeAttempt] = []
    /// The ends that the store of this life was told, done by it or not.
    private(set) var recorded: [JobID: JobState] = [:]
    private let inbox = Inbox()
    private let window: WindowLimits
    private let limits: StoreLimits
    private let initialGroups: [(String, Int)]
    /// How many slots spread pools have.
    private let slots: [String: Int]
    private let selectors: [(name: String, defaults: JobOptions)]

    static let epoch: Int64 = 1_700_000_000_000

    private final class Life {
        var scheduler: JobScheduler

        init(_ scheduler: consuming JobScheduler) { self.scheduler = scheduler }
    }

    private final class Inbox: Sendable {
        let answers = Mutex<[StoreAnswer]>([])
    }

    init(
        groups: [(String, Int)] = [("one", 1), ("two", 2)], slots: [String: Int] = [:],
        selectors: [(name: String, defaults: JobOptions)] = [("echo", JobOptions())],
        book: TwinBook? = nil, window: WindowLimits = WindowLimits(),
        limits: StoreLimits = StoreLimits(), storeLag: Int64 = 0,
        clock: StandingClock = StandingClock(), sharing shared: TwinNodeStore? = nil
    ) {
        self.clock = clock
        self.shared = shared
        initialGroups = groups
        self.slots = slots
        self.groups = groups.map { FakeGroup($0.0, count: $0.1) }
        self.selectors = selectors
        self.window = window
        self.limits = limits
        self.storeLag = storeLag
        life = Life(
            JobScheduler(
                [], [], limits: limits, isKeeping: false,
                now: SchedulerTime(unixNanoseconds: 0, monotonic: 0), seed: 1, NoEnvironment()))
        start(book)
    }

    // MARK: - Lives

    private func start(_ book: TwinBook?) {
        var recovery = StoreRecovery()
        if let book {
            let opened = TwinStore.open(
                book, serving: Set(selectors.map(\.name)),
                wall: WallTime(on: clock, from: Self.epoch - storeLag))
            (twin, recovery) = opened
            let inbox = inbox
            twin?.add(.answer(to: { answers in inbox.answers.withLock { $0 += answers } }))
            twin?.fire()
            twin?.hold()
        } else if let shared {
            recovery = shared.recovery
            let inbox = inbox
            shared.add(.answer(to: { answers in inbox.answers.withLock { $0 += answers } }))
        }
        let new = JobScheduler(
            groups.enumerated().map { index, group in
                ThreadGroup(
                    name: group.name, memberNames: group.memberNames,
                    slotCount: slots[group.name] ?? 1, maxQueued: 1_000_000,
                    maxQueuedByteCount: 1 << 30, index: index, startedAt: now.unixMilliseconds)
            },
            selectors.enumerated().map { index, selector in
                JobSelector(
                    name: selector.name, index: index,
                    defaults: SharedJobOptions(selector.defaults))
            },
            limits: limits, window: window, isKeeping: keeper != nil,
            nextNumber: recovery.nextNumber, now: now, seed: 1, self)
        life = Life(new)
        heldOver = Dictionary(
            uniqueKeysWithValues: recovery.held.map { ($0.job.id, $0.holder) })
        scheduler.audience.followsChanges = whenChanged != nil
        input { $0.restore(recovery) }
        whenStarted()
    }

    /// The process dies; another one finds what its store holds.
    func crash() {
        let book = twin?.book
        for attempt in groups.flatMap(\.running.values) { attempt.phase = .over }
        // The next life is configured as the first one was.
        groups = initialGroups.map { FakeGroup($0.0, count: $0.1) }
        reports = []
        expiredReports = []
        recorded = [:]
        inbox.answers.withLock { $0 = [] }
        start(book)
    }

    // MARK: - Time

    var now: SchedulerTime {
        let time = clock.now().nanoseconds
        return SchedulerTime(
            unixNanoseconds: (Self.epoch + wallOffset) * 1_000_000 + time, monotonic: time)
    }

    func advance(byMilliseconds count: Int64) {
        clock.advance(byMilliseconds: count)
        input { $0.advance() }
    }

    // MARK: - Inputs and effects

    @discardableResult
    func input<Result>(_ body: (inout JobScheduler) -> Result) -> Result {
        life.scheduler.advance(to: now)
        withdrawn = []
        let result = body(&life.scheduler)
        checkWithdrawn()
        carryOut()
        return result
    }

    /// Checks that no thread could begin a job while one before it was withdrawn already that runs
    /// later.
    private func checkWithdrawn() {
        for (place, first) in withdrawn.enumerated() where !first.job.job.state.isEnded {
            for then in withdrawn[(place + 1)...] where first.isOfOrder(of: then) {
                let isInOrder =
                    (first.job.job.priority.rawValue, first.turn)
                    > (then.job.job.priority.rawValue, then.turn)
                precondition(
                    isInOrder, "job \(first.id) was withdrawn, and job \(then.id) could begin")
            }
        }
    }

    private func carryOut() {
        guard !scheduler.effects.areBeingCarriedOut else { return }
        scheduler.effects.areBeingCarriedOut = true
        while let effect = scheduler.effects.next() { carryOut(effect) }
        scheduler.effects.areBeingCarriedOut = false
    }

    private func carryOut(_ effect: JobEffect) {
        switch effect {
        case .keep:
            let command = scheduler.effects.takeCommand()
            tell("keep \(command.told)")
            keeper?.add(command)
            if keeper == nil { answerNothing(command) }
        case .record:
            let command = scheduler.effects.takeRecord()
            if case .end(let id, _, let outcome, _) = command { recorded[id] = outcome.state }
            tell("record \(command.told)")
            keeper?.record(command)
        case .answer:
            let next = scheduler.effects.takeAnswer()
            tell("answer \(next.reply.number): \(next.answer.told)")
            whenAnswered(next.reply, next.answer)
        case .news:
            let next = scheduler.effects.takeNews()
            tell("news for \(next.client): job \(next.news.id) \(next.news.state)")
        case .change:
            let change = scheduler.effects.takeChange()
            // It runs again, or the store has ended it meanwhile.
            if case .job(let job) = change, recorded[job.id]?.rawValue != job.state {
                recorded[job.id] = nil
            }
            whenChanged?(change)
        case .note: tell("log \(scheduler.effects.takeNote().text)")
        case .confirm:
            let next = scheduler.effects.takeConfirmed()
            tell("confirmed")
            whenConfirmed(next.tag, next.fault)
        case .awaitsEnd: _ = scheduler.effects.takeWaiting()
        case .offer(let job): offer(job)
        case .retract(let attempt):
            guard let attempt = attempt as? FakeAttempt else { return }
            for group in groups { group.queue.removeAll { $0 === attempt } }
            tell("retract job \(attempt.id)")
        case .cancel(let job), .interrupt(let job):
            (job.attempt as? FakeAttempt)?.isAskedToEnd = true
            tell("interrupt job \(job.id)")
        case .reportStuck(let job): tell("report that job \(job.id) is stuck")
        case .listen(let job): tell("listen to job \(job.id)")
        case .rows(let listing):
            tell("rows \(listing.rows.map { "\($0.job.id)" }.joined(separator: " "))")
            input { $0.goOn(listing) }
        case .roomMayBe: break
        }
    }

    /// Answers as a store does that keeps nothing.
    private func answerNothing(_ command: StoreCommand) {
        let store = NoStore()
        let inbox = inbox
        store.add(.answer(to: { answers in inbox.answers.withLock { $0 += answers } }))
        store.add(command)
        store.fire()
    }

    private func offer(_ job: JobEntry) {
        guard job.isOfferPending else { return }
        job.isOfferPending = false
        let group = groups[job.group.index]
        guard !isStopped(job.thread, of: job.group) else { return input { $0.refused(job) } }
        let attempt = FakeAttempt(job)
        job.attempt = attempt
        group.offer(attempt)
        tell("offer job \(job.id) to \(job.thread)")
    }

    // MARK: - Steering threads

    /// Pauses a member, or lets a paused one go on.
    func pauseOrResume(_ number: Int) {
        let members = groups.flatMap { group in group.memberNames.map { (group, $0) } }
        let (group, name) = members[number % members.count]
        if group.paused.remove(name) == nil { group.paused.insert(name) }
    }

    func resumeAll() { for group in groups { group.paused = [] } }

    /// No member begins another attempt.
    func stopAll() { for group in groups { group.stopped = Set(group.memberNames) } }

    /// The process ends while attempts run: nothing of them is heard any more.
    func forgetAttempts() {
        for group in groups {
            for attempt in group.running.values { attempt.phase = .over }
            group.running = [:]
            group.waiting = [:]
        }
        reports = []
    }

    // MARK: - The store

    /// Lets the store do what it was told, in one transaction.
    ///
    /// - Parameter fault: why it refuses; what has happened is told again with the next
    ///   transaction.
    func store(refusing fault: StoreFault? = nil) {
        if let fault { twin?.fail(with: fault) }
        twin?.goOn()
        twin?.hold()
    }

    /// How many answers of the store have not been delivered.
    var answerCount: Int { inbox.answers.withLock { $0.count } }

    /// Delivers the first answers of the store.
    func deliver(_ count: Int = .max) {
        let answers = inbox.answers.withLock { answers in
            defer { answers.removeFirst(min(count, answers.count)) }
            return Array(answers.prefix(count))
        }
        for case .claimed(_, .success(let jobs)) in answers { jobs.taken.map(whenTaken) }
        if !answers.isEmpty { input { $0.take(answers) } }
    }

    // MARK: - Threads

    /// Lets a member begin its next attempt.
    ///
    /// - Returns: the attempt that runs now; nil if there is none.
    func begin(on member: String, isHeld: Bool = false) -> FakeAttempt? {
        guard let group = groups.first(where: { $0.memberNames.contains(member) }) else {
            return nil
        }
        while let attempt = group.next(for: member) {
            guard attempt.phase == .queued else { continue }
            guard !attempt.isStored || mayBegin(attempt) else {
                group.putBack(attempt)
                return nil
            }
            if attempt.expiresAt <= now.unixMilliseconds {
                attempt.phase = .withdrawn
                expiredReports.append(attempt.id)
                continue
            }
            attempt.phase = .running
            attempt.member = member
            attempt.startedAt = now.unixMilliseconds
            group.running[member] = attempt
            let before = heldOver.removeValue(forKey: attempt.id)
            attempt.isHeld = attempt.isStored && (isHeld || before != nil)
            noteStart(of: attempt, for: before)
            return attempt
        }
        return nil
    }

    func noteStart(of attempt: FakeAttempt, for holder: JobHolder?) {
        guard attempt.isStored else { return }
        let id = attempt.id.number
        if attempt.isHeld {
            let token = JobHolder.Token(high: id, low: UInt64(attempt.number))
            twin?.noteHolder(
                id, attempt: attempt.number,
                holder ?? JobHolder(token: token, process: nil, since: 0, name: nil))
        }
        keeper?.noteStart(
            id,
            Attempt(
                number: attempt.number, workerName: attempt.member, startedAt: attempt.startedAt))
    }

    /// Lets an attempt end; the scheduler hears of it with `hear`.
    func end(_ attempt: FakeAttempt, _ outcome: Outcome) {
        guard let group = groups.first(where: { $0.running[attempt.member] === attempt }) else {
            return
        }
        attempt.phase = .over
        group.running[attempt.member] = nil
        if attempt.isStored, case .done(let result) = outcome {
            _ = keeper?.noteDone(attempt.id.number, attempt: attempt.number, result: result)
        }
        if attempt.isHeld, outcome.state != .done {
            twin?.noteHolder(attempt.id.number, attempt: attempt.number, nil)
        }
        let holdsUp =
            attempt.job.retry.blocks && outcome.state == .failed && !attempt.isAskedToEnd
            && attempt.job.retry.follows(attempt: attempt.number)
        if holdsUp { group.waiting[attempt.member] = attempt }
        reports.append(
            Completion(
                job: attempt.id, attemptNumber: attempt.number, outcome: outcome,
                thread: attempt.member, startedAt: attempt.startedAt,
                endedAt: now.unixMilliseconds))
    }

    /// Lets the scheduler hear the next report of a thread.
    func hear() {
        if !expiredReports.isEmpty {
            let id = expiredReports.removeFirst()
            return input { $0.foundExpired(id) }
        }
        guard !reports.isEmpty else { return }
        let completion = reports.removeFirst()
        input { $0.ended(completion) }
        for group in groups where group.waiting[completion.thread]?.id == completion.job {
            group.waiting[completion.thread] = nil
        }
    }

    // MARK: - SchedulerEnvironment

    func withdraw(_ attempt: AnyObject) -> Bool {
        guard let attempt = attempt as? FakeAttempt, attempt.phase == .queued else { return false }
        attempt.phase = .withdrawn
        attempt.turn = attempt.job.turn
        withdrawn.append(attempt)
        // Its worker has let go of it: its thread goes on.
        for group in groups where group.running[attempt.member] === attempt {
            group.running[attempt.member] = nil
        }
        return true
    }

    func beginning(of attempt: AnyObject) -> (thread: String, startedAt: Int64)? {
        guard let attempt = attempt as? FakeAttempt, !attempt.member.isEmpty else { return nil }
        return (attempt.member, attempt.startedAt)
    }

    func progress(of attempt: AnyObject) -> JobProgress? { nil }

    func written(by attempt: AnyObject) -> WrittenBytes? { nil }

    func waitingCount(of group: ThreadGroup) -> Int { groups[group.index].queue.count }

    func isStopped(_ thread: String, of group: ThreadGroup) -> Bool {
        let (fake, thread) = (groups[group.index], PoolSlot.shown(thread))
        return thread == group.name
            ? fake.memberNames.allSatisfy(fake.stopped.contains) : fake.stopped.contains(thread)
    }

    func runningJobs() -> [(id: JobID, thread: String, startedAt: Int64)] {
        groups.flatMap { group in
            group.running.values.map { ($0.id, $0.member, $0.startedAt) }
        }
    }

    func dropped(_ id: JobID) {}

    func endedUnbegun(_ id: JobID, of thread: String, _ outcome: Outcome) {}

    func isGone(_ client: UInt64) -> Bool { false }

    var hasAllThreads: Bool { shared == nil && !othersHaveThreads }
}

/// Stands for the surroundings of a scheduler that is about to be replaced.
private final class NoEnvironment: SchedulerEnvironment {
    func withdraw(_ attempt: AnyObject) -> Bool { false }
    func beginning(of attempt: AnyObject) -> (thread: String, startedAt: Int64)? { nil }
    func progress(of attempt: AnyObject) -> JobProgress? { nil }
    func written(by attempt: AnyObject) -> WrittenBytes? { nil }
    func waitingCount(of group: ThreadGroup) -> Int { 0 }
    func isStopped(_ thread: String, of group: ThreadGroup) -> Bool { false }
    func runningJobs() -> [(id: JobID, thread: String, startedAt: Int64)] { [] }
    func dropped(_ id: JobID) {}
    func endedUnbegun(_ id: JobID, of thread: String, _ outcome: Outcome) {}
    func isGone(_ client: UInt64) -> Bool { true }
    var hasAllThreads: Bool { true }
}
