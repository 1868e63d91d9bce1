// The scheduler in the daemon: sets its time, hands it inputs, carries out its effects, and rings
// its alarms. All on the thread `io`; worker threads report through a message port, so nothing in
// here takes a lock.

internal import Jobs
internal import Kernel
internal import RunLoops
internal import Synchronization
internal import WorkerThreads

/// Drives the scheduler on a run loop.
///
/// Confined to its loop's thread. Effects are carried out when an input returns, never inside of
/// one; an input that comes while effects are carried out adds its own behind them.
final class SchedulerDriver {
    let loop: ThreadRunLoop
    let log: Log
    let clocks: Clocks
    /// The threads behind each group of the scheduler, by its index; also of removed groups.
    var groupsByIndex: [WorkerGroup] {
        _read { yield surroundings.groupsByIndex }
        _modify { yield &surroundings.groupsByIndex }
    }
    /// The threads that are served.
    var groups: [WorkerGroup]
    /// The code behind each selector that is served.
    var handlers: [String: Handler]
    let children: ChildRegistry
    let store: any JobStore
    let startedAt: Int64
    /// Figures about attempts; nil unless HTTP is served.
    var figures: AttemptFigures? {
        get { unsafe uncheckedFigures }
        set { unsafe uncheckedFigures = newValue }
    }
    /// The latest events; nil if none are kept.
    var events: EventJournal?
    /// The live view, while it is looked at.
    var live: LiveBoard?
    /// Where answers go.
    var door: any JobDoor = ClosedDoor()
    var scheduler: JobScheduler {
        _read { yield unsafe uncheckedScheduler }
        _modify { yield unsafe &uncheckedScheduler }
    }
    // SAFETY: confined to the loop's thread, and changed by inputs only, which never overlap: the
    // scheduler's calls into its driver meanwhile do not touch it. A check would cost as much as
    // the access itself.
    @exclusivity(unchecked) private var uncheckedScheduler: JobScheduler
    /// The workers' side of the scheduler; nil once the driver is closed.
    private(set) var runner: JobRunner?
    /// Called after ends of jobs and answers of the store have been handled.
    var whenCompleted: (() -> Void)?
    /// Called when jobs have left while a client or a schedule waits for room.
    var whenRoomMayBe: (() -> Void)? {
        didSet { scheduler.audience.awaitsRoom = whenRoomMayBe != nil }
    }
    /// Called with jobs that were submitted in the store.
    var whenSubmitted: (([SubmittedJob]) -> Void)?
    /// Whether the jobs of a thread are this daemon's.
    var isOpen: (String) -> Bool = { _ in true }
    /// The pools that are spread over slots.
    let spread: SpreadPools
    /// Called with the news about a thread that is taken over, before any of its jobs is offered.
    var whenTaken: ((TakenJobs) -> Void)?
    /// Called when clients are throttled, and when they are no longer.
    var whenThrottling: ((Bool) -> Void)?
    var threads: ThreadIncidents {
        _read { yield unsafe uncheckedThreads }
        _modify { yield unsafe &uncheckedThreads }
    }
    // SAFETY: as the scheduler; each end looks for an alarm, which few jobs have.
    @exclusivity(unchecked) private var uncheckedThreads = ThreadIncidents()
    /// Jobs for workers in other processes.
    let exchange: WorkerExchange
    /// The handlers in the order of the scheduler's selectors; also of removed selectors.
    var handlersByIndex: [Handler] {
        _read { yield unsafe uncheckedHandlersByIndex }
        _modify { yield unsafe &uncheckedHandlersByIndex }
    }
    // SAFETY: as the scheduler; changed by reloads, which nothing overlaps.
    @exclusivity(unchecked) private var uncheckedHandlersByIndex: [Handler]
    @exclusivity(unchecked) private var uncheckedFigures: AttemptFigures?
    /// The waits of reloads, and the threads that they have replaced.
    var changes = ServingChanges()
    private let surroundings: SchedulerSurroundings
    private var answers: MessagePort<[StoreAnswer]>?
    private var owedWakes = OwedWakes()
    private var confirmations: [UInt64: (StoreFault?) -> Void] = [:]
    private var lastTag: UInt64 = 0
    private var isFireScheduled = false
    private var wasFull = false
    /// The timer of the first alarm, and when it rings: it may be early, never late.
    private var timer: (timeout: ThreadRunLoop.Timeout, at: Int64)?

    /// - Parameters:
    ///   - groups: the configured threads.
    ///   - handlers: the code behind each selector.
    ///   - limits: how much may wait and is kept.
    ///   - store: where jobs are kept.
    ///   - window: how much of these is in memory at a time.
    init(
        groups: [WorkerGroup], handlers: [String: Handler], limits: StoreLimits,
        nextNumber: UInt64, store: any JobStore, window: WindowLimits = WindowLimits(),
        children: ChildRegistry, loop: ThreadRunLoop, clocks: Clocks = .system, log: Log
    ) {
        self.groups = groups
        spread = SpreadPools(of: groups.flatMap(\.configuration.units))
        self.handlers = handlers
        self.children = children
        self.loop = loop
        self.clocks = clocks
        self.log = log
        self.store = store
        exchange = WorkerExchange(loop: loop, clocks: clocks, log: log)
        let startedAt = clocks.wall.unixMilliseconds()
        self.startedAt = startedAt
        let sorted = handlers.sorted { $0.key < $1.key }
        unsafe uncheckedHandlersByIndex = sorted.map(\.value)
        surroundings = SchedulerSurroundings(groups)
        unsafe uncheckedScheduler = JobScheduler(
            groups.enumerated().map { $1.scheduled(as: $0, startedAt: startedAt) },
            sorted.enumerated().map { index, selector in
                JobSelector(name: selector.key, index: index, defaults: selector.value.defaults)
            },
            limits: limits, window: window, isKeeping: store.isKeeping, nextNumber: nextNumber,
            now: Self.time(clocks), seed: .random(in: 0...(.max)), surroundings)
        surroundings.driver = self
        let driver = Confined(self, to: loop)
        let reports = MessagePort<WorkerReport> { driver.value.take($0) }
        reports.add(to: loop)
        let remoteReports = MessagePort<RemoteReport> { driver.value.exchange.take($0) }
        remoteReports.add(to: loop)
        runner = JobRunner(reports, remoteReports, store: store, children: children, log: log)
        connectExchange()
        let answers = MessagePort<[StoreAnswer]> { driver.value.take($0) }
        answers.add(to: loop)
        self.answers = answers
        store.add(.answer(to: { [weak answers] in _ = answers?.send($0) }))
        store.fire()
    }

    /// Ends the reporting, and lets go of all jobs; breaks the cycle between the driver and its
    /// ports.
    func close() {
        runner?.reports.invalidate()
        runner?.remoteReports.invalidate()
        runner?.close()
        runner = nil
        answers?.invalidate()
        answers = nil
        threads.close()
        changes = ServingChanges()
        if let timer { loop.cancel(timer.timeout) }
        timer = nil
        scheduler.close()
        confirmations = [:]
        door = ClosedDoor()
        exchange.door = nil
        surroundings.driver = nil
        whenCompleted = nil
        whenRoomMayBe = nil
        (whenThrottling, whenSubmitted, whenTaken) = (nil, nil, nil)
        events?.close()
        live = nil
    }

    // MARK: - Inputs

    /// First the clock on the wall: then an alarm for a time of day rings later, never early.
    private static func time(_ clocks: Clocks) -> SchedulerTime {
        let wall = clocks.wall.unixNanoseconds()
        return SchedulerTime(unixNanoseconds: wall, monotonic: clocks.loop.now().nanoseconds)
    }

    /// Hands the scheduler an input at the present time, and carries out what it says.
    @discardableResult
    func input<Result>(_ body: (inout JobScheduler) -> Result) -> Result {
        scheduler.advance(to: Self.time(clocks))
        let result = body(&scheduler)
        carryOut()
        return result
    }

    /// Accepts a job; answers with its number, or why there is none.
    func perform(
        _ request: borrowing JobRequest, of run: ScheduleRun? = nil,
        from submitted: SubmittedJob? = nil, _ reply: ReplyToken
    ) {
        unsafe uncheckedScheduler.advance(to: Self.time(clocks))
        unsafe uncheckedScheduler.perform(request, of: run, from: submitted, reply)
        carryOut()
        owedWakes.noteCommand()
    }

    /// Finds out whether there is a thread and a handler for a job.
    func checkServed(_ request: JobRequest) throws(JobError) {
        try scheduler.checkServed(request)
    }

    /// Calls `body` when everything that was told to the store is kept, or can't be.
    func confirm(then body: @escaping (StoreFault?) -> Void) {
        let tag = expect(body)
        input { $0.confirm(tag: tag) }
    }

    /// Tells the store something; calls `body` when it is kept, or can't be.
    func keep(
        _ command: (UInt64) -> StoreCommand, then body: @escaping (StoreFault?) -> Void
    ) {
        let tag = expect(body)
        input { $0.keep(tag: tag, command) }
    }

    func expect(_ body: @escaping (StoreFault?) -> Void) -> UInt64 {
        lastTag += 1
        confirmations[lastTag] = body
        return lastTag
    }

    private func take(_ answers: [StoreAnswer]) {
        if case .submitted(let jobs)? = answers.first {
            whenSubmitted?(jobs)
            return
        }
        var held: [HeldJob] = []
        if let whenTaken {
            for case .claimed(_, .success(let jobs)) in answers {
                guard let taken = jobs.taken else { continue }
                whenTaken(taken)
                held += taken.held
            }
        }
        input {
            $0.take(answers)
            endHolds(of: held, &$0)
        }
        for fault in scheduler.takeFaults() { log.error(fault) }
        whenCompleted?()
    }

    private func take(_ report: WorkerReport) {
        switch report {
        case .ended(let completion, let worker):
            end(completion)
            if let worker { runner?.letGo(completion.thread, worker) }
        case .expired(let id): input { $0.foundExpired(id) }
        case .leftWithStore(let job, let thread, let worker):
            leave(job)
            runner?.letGo(thread, worker)
        case .began(let id): input { $0.mayHaveBegun(id) }
        case .hasReturned(let name, let worker): runner?.letGo(name, worker)
        }
        whenCompleted?()
    }

    /// Lets a job wait again whose program was killed because the store is away.
    private func leave(_ job: JobContext) {
        guard !job.isCancelRequested, job.putBack() else { return }
        job.noteVanished()
        endAlarm(of: JobID(job.id))
        input { $0.vanished(JobID(job.id)) }
    }

    /// An attempt has ended.
    func end(_ completion: Completion) {
        endAlarm(of: completion.job)
        if let figures, let job = scheduler.book.active(completion.job) {
            figures.note(completion, of: job)
        }
        // Only what follows a failure has a date: any other end is as well told at the time of the
        // input before.
        if case .failed = completion.state {
            unsafe uncheckedScheduler.advance(to: Self.time(clocks))
        }
        unsafe uncheckedScheduler.ended(completion)
        carryOut()
        if exchange.heldCount > 0 { exchange.noteEnd(of: completion) }
    }

    private func alarmsRang() {
        timer = nil
        input { $0.advance() }
        whenCompleted?()
    }

    // MARK: - Effects

    private func carryOut() {
        guard unsafe uncheckedScheduler.hasNewEffects else { return look() }
        unsafe uncheckedScheduler.effects.areBeingCarriedOut = true
        while let effect = unsafe uncheckedScheduler.effects.next() {
            switch effect {
            case .offer(let job): offer(job)
            case .answer:
                let next = unsafe uncheckedScheduler.effects.takeAnswer()
                door.answer(next.reply, next.answer)
            case .keep: keep(unsafe uncheckedScheduler.effects.takeCommand())
            case .record: store.record(unsafe uncheckedScheduler.effects.takeRecord())
            case .roomMayBe: whenRoomMayBe?()
            default: carryOutRare(effect)
            }
        }
        unsafe uncheckedScheduler.effects.areBeingCarriedOut = false
        look()
    }

    /// Looks at what an input may have changed beside its effects.
    private func look() {
        if let first = unsafe uncheckedScheduler.nextAlarm { setTimer(at: first) }
        if unsafe wasFull != uncheckedScheduler.throttlesClients {
            wasFull.toggle()
            whenThrottling?(wasFull)
        }
        live?.touched()
    }

    private func carryOutRare(_ effect: JobEffect) {
        switch effect {
        case .offer, .answer, .keep, .record, .roomMayBe: break
        case .news:
            let next = scheduler.effects.takeNews()
            door.tell(next.news, to: next.client)
        case .change:
            let change = scheduler.effects.takeChange()
            events?.record(change)
        case .note: write(scheduler.effects.takeNote())
        case .confirm:
            let next = scheduler.effects.takeConfirmed()
            confirmations.removeValue(forKey: next.tag)?(next.fault)
        case .awaitsEnd: door.noteWaiting(scheduler.effects.takeWaiting())
        case .retract(let attempt): (attempt as? JobContext)?.retract()
        case .cancel(let job):
            guard let context = job.attempt as? JobContext else { return }
            context.requestCancel()
            watchCancel(of: job, context)
        case .interrupt(let job): (job.attempt as? JobContext)?.requestCancel()
        case .reportStuck(let job): reportStuckAgain(job)
        case .listen(let job): listen(to: job)
        case .rows(let listing): tell(listing)
        }
    }

    /// Adds a command for the store; those of one pass are done together.
    private func keep(_ command: consuming StoreCommand) {
        store.add(command)
        guard !isFireScheduled else { return }
        isFireScheduled = true
        let driver = Confined(self, to: loop)
        loop.perform {
            driver.value.isFireScheduled = false
            driver.value.store.fire()
        }
    }

    private func write(_ note: SchedulerNote) {
        switch note.level {
        case .notice: log.notice(note.text)
        case .warning: log.warning(note.text)
        case .error: log.error(note.text)
        }
    }

    /// Lets a job wait for a thread of its group, unless it was withdrawn since.
    private func offer(_ job: JobEntry) {
        guard job.isOfferPending, let runner else { return }
        job.isOfferPending = false
        // From here on the context has them: each further reference would be counted.
        let context = JobContext(
            job, handlersByIndex[job.selectorIndex], on: groupsByIndex[job.groupIndex],
            by: runner)
        job.attempt = context
        let needsWatch =
            context.handler.mayNotListen && context.handler.timeout(of: context.options) != nil
        if unsafe needsWatch || uncheckedScheduler.isWatched(job.id) { listen(to: job) }
        guard context.group.members.count > 1, context.details.thread == context.group.name else {
            return submit(job, context)
        }
        let waits = exchange.lobby.keep(
            job, context, of: context.group, isForWorkers: context.handler.isForWorkers
        ) { [unowned self] in submit(job, context) }
        guard waits else { return submit(job, context) }
        // No worker takes it any more.
        if exchange.isClosed || context.group.isStopped { exchange.leaveStopped() }
    }

    private func submit(_ job: JobEntry, _ context: JobContext) {
        guard runner != nil else { return }
        do throws(SubmitError) {
            let key = context.details.options.key.map { SubmitKey($0) }
            let isInherited =
                !exchange.inherited.isEmpty && exchange.inherited[job.id] != nil
            // Its worker may be at it: nothing of its thread goes before it.
            let priority = isInherited ? .high : context.details.priority.submitPriority
            let (ticket, owed): (WorkerPool.Ticket, WorkerPool.OwedWake?)
            if case .worker(let selector) = context.handler.kind {
                (ticket, owed) = try context.group.pool.submitOwingWake(
                    onThread: context.details.thread, priority: priority, key: key,
                    besides: exchange.placesToAvoid(for: context),
                    delegating: RemoteWork(context, selector))
            } else {
                // A closure that captures one object is that object: it takes no memory of its own.
                (ticket, owed) = try context.group.pool.submitOwingWake(
                    onThread: context.details.thread, priority: priority, key: key
                ) { context.perform() }
            }
            context.note(ticket)
            if let owed { owe(owed) }
            if isInherited { exchange.noteOffered(job.id) }
        } catch {
            // The thread was stopped between the look and the submit.
            input { $0.refused(job) }
        }
    }

    /// Wakes a thread for its jobs at the end of the pass, or after so many commands.
    private func owe(_ wake: WorkerPool.OwedWake) {
        if owedWakes.isEmpty {
            let driver = Confined(self, to: loop)
            loop.perform { driver.value.owedWakes.pay() }
        }
        owedWakes.append(wake)
    }

    /// Has the scheduler told when a job begins, or reports how far it is.
    func listen(to job: JobEntry) {
        guard let context = job.attempt as? JobContext else { return }
        let (driver, id, loop) = (Confined(self, to: loop), job.id, loop)
        context.tellNextChange { loop.perform { driver.value.changed(id) } }
    }

    private func changed(_ id: JobID) {
        if let job = scheduler.book.active(id) { watchTimeLimit(of: job) }
        input { $0.changed(id) }
    }

    /// Has the loop call at the first alarm.
    ///
    /// A timer that is early is left: most alarms are cancelled.
    private func setTimer(at first: Int64) {
        if let timer {
            guard first < timer.at else { return }
            loop.cancel(timer.timeout)
        }
        let driver = Confined(self, to: loop)
        let timeout = loop.schedule(at: Instant(nanoseconds: first)) { driver.value.alarmsRang() }
        timer = (timeout, first)
    }
}

extension Priority {
    /// The same, as worker threads call it.
    fileprivate var submitPriority: SubmitPriority {
        switch self {
        case .high: .high
        case .normal: .normal
        case .low: .low
        }
    }
}
