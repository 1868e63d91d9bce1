// Where every job is known from the moment it is accepted until it is forgotten: the store, the
// lanes it waits in, who waits for it. Confined to one loop's thread; workers report back to it
// through a message port, so nothing in here takes a lock.

internal import Jobs
internal import Kernel
internal import RunLoops
internal import Synchronization
internal import Wording
internal import WorkerThreads

/// The desk over which all jobs go.
///
/// Confined to its loop's thread.
final class JobDesk {
    let loop: ThreadRunLoop
    let log: Log
    /// The time by which jobs are dated and due.
    let wall: WallTime
    let lanes: [Lane]
    let handlers: [String: Handler]
    let children: ChildRegistry
    var store: MemoryStore {
        _read { yield unsafe uncheckedStore }
        _modify { yield unsafe &uncheckedStore }
    }
    /// Nil if all jobs are kept in memory only.
    let durable: DurableJobs?
    /// The jobs that have not ended; only the desk changes it.
    var live: JobTable<LiveJob> {
        _read { yield unsafe uncheckedLive }
        _modify { yield unsafe &uncheckedLive }
    }
    /// Jobs that were collected for a lane and not yet fired, in order.
    var buffered: [String: [JobID]] = [:]
    private(set) var isRefusing = false
    /// The gates of keys, and the orders that are held up, by their gates.
    var gates = OrderGates()
    /// The names of volatile jobs.
    private var uniqueNames: UniqueNames
    var holdUps: [ObjectIdentifier: HoldUp<LiveJob>] = [:]
    /// How many jobs failed ones before them have made it look at: what that costs.
    var lookedAtCount = 0
    /// Durable jobs whose attempt a shutdown has interrupted.
    var putBackCount = 0
    let watches = JobWatches()
    /// Threads that did not come back and were replaced.
    var replacedThreads: [WorkerThread] = []
    var replacedThreadCount = 0
    /// Before this moment, where a stuck job hangs is not told once more.
    var stuckReportDue = Instant(nanoseconds: 0)
    /// Called after completions, commits and loads have been handled.
    var whenCompleted: (() -> Void)?
    /// Called when a job has ended or was taken back, while somebody waits for room.
    var whenRoomMayBe: (() -> Void)?
    /// How much may wait in all.
    let waitingMax: JobAmount
    /// How fast jobs end, by lane.
    var endRates: [String: EndRate] = [:]
    let startedAt: Int64
    // SAFETY: each job looks at these several times. That accesses don't overlap is not looked for at
    // run time: they know nobody, so nothing is called out to while one of them is being changed.
    @exclusivity(unchecked) private var uncheckedStore: MemoryStore
    @exclusivity(unchecked) private var uncheckedLive = JobTable<LiveJob>()
    /// What workers do for the desk; nil once it is closed.
    private(set) var runner: JobRunner?
    var owedWakes = OwedWakes()
    /// What was looked up last: most clients ask for the same again and again.
    private var recentLane: (thread: String, lane: Lane)?
    private var recentHandler: (selector: String, handler: Handler)?
    private var recentLoad: (lane: Lane, load: JobLoad)?
    private let lanesByThread: [String: Lane]
    private var answers: MessagePort<[StoreAnswer]>?

    /// - Parameters:
    ///   - lanes: the configured threads.
    ///   - handlers: the code behind each selector.
    ///   - store: for the jobs in memory; empty.
    ///   - journal: for durable jobs; nil if there are none.
    ///   - window: how much of these is in memory at a time.
    init(
        lanes: [Lane], handlers: [String: Handler], store: MemoryStore, journal: (any JobStore)?,
        window: WindowLimits = WindowLimits(), children: ChildRegistry, loop: ThreadRunLoop,
        clocks: Clocks = .system, log: Log
    ) {
        self.lanes = lanes
        self.handlers = handlers
        unsafe uncheckedStore = store
        uniqueNames = UniqueNames(milliseconds: store.limits.uniqueMilliseconds)
        waitingMax = JobAmount(
            count: store.limits.liveCountMax, byteCount: store.limits.liveByteCountMax)
        startedAt = clocks.wall.unixMilliseconds()
        durable = journal.map { DurableJobs($0, window, log: log) }
        self.children = children
        self.loop = loop
        wall = clocks.wall
        self.log = log
        var lanesByThread: [String: Lane] = [:]
        for lane in lanes {
            lanesByThread[lane.name] = lane
            for member in lane.members { lanesByThread[member.thread.name] = lane }
        }
        self.lanesByThread = lanesByThread
        let desk = Confined(self, to: loop)
        let reports = MessagePort<WorkerReport> { desk.value.take($0) }
        reports.add(to: loop)
        runner = JobRunner(reports, journal: journal, children: children, log: log)
        guard let journal else { return }
        let answers = MessagePort<[StoreAnswer]> { desk.value.take($0) }
        answers.add(to: loop)
        self.answers = answers
        journal.add(.answer(to: { [weak answers] in _ = answers?.send($0) }))
        journal.fire()
    }

    /// Ends the reporting; breaks the cycle between the desk and its port.
    func close() {
        runner?.reports.invalidate()
        runner = nil
        answers?.invalidate()
        answers = nil
        letGoOfAll()
    }

    /// Refuses new jobs from now on.
    func refuse() { isRefusing = true }

    /// The lane behind a lane's or a member's name.
    func lane(of thread: String) throws(JobError) -> Lane {
        if thread == recentLane?.thread, let lane = recentLane?.lane { return lane }
        guard let lane = lanesByThread[thread] else {
            throw JobError.unknownThread(thread)
        }
        recentLane = (thread, lane)
        return lane
    }

    private func handler(of selector: String) throws(JobError) -> Handler {
        if selector == recentHandler?.selector, let handler = recentHandler?.handler {
            return handler
        }
        guard let handler = handlers[selector] else {
            throw JobError.unknownSelector(selector)
        }
        recentHandler = (selector, handler)
        return handler
    }

    /// How much waits for a lane.
    private func load(of lane: Lane) -> JobLoad? {
        if lane === recentLoad?.lane { return recentLoad?.load }
        recentLoad = durable.map { (lane, $0.load(of: lane)) }
        return recentLoad?.load
    }

    /// How many jobs of a lane are in the journal and not in memory.
    func parkedCount(of lane: Lane) -> Int {
        guard let durable, durable.parkedCount > 0 else { return 0 }
        return load(of: lane)?.parkedSum.count ?? 0
    }

    /// Accepts a job, which is known by its number from now on, and in memory only.
    func accept(_ request: consuming JobRequest) throws(JobError) -> JobID {
        let now = wall.unixMilliseconds()
        if let name = request.uniqueName,
            let id = uniqueNames.job(named: name, at: now, isLive: { live[$0] != nil })
        {
            return id
        }
        let (lane, handler) = try check(request)
        request.fill(from: handler.retries)
        let id = try takeNumber(for: request, at: now)
        if let name = request.uniqueName { uniqueNames.give(name, to: id, at: now) }
        let accepted = Job(id: id, request: request, acceptedAt: now)
        if durable != nil { reserveNumbers() }
        let job = liveJob(accepted, handler, lane)
        let (state, dueAt) = (accepted.state, accepted.dueAt)
        store.keep(accepted)
        live[id] = job
        switch state {
        case .buffered:
            hold(job)
            buffered[lane.name, default: []].append(id)
        case .delayed:
            hold(job)
            delay(job, until: dueAt ?? now)
        default: submitInOrder(job)
        }
        return id
    }

    /// Finds out whether a job can be accepted.
    func check(_ request: borrowing JobRequest) throws(JobError) -> (Lane, Handler) {
        if isRefusing { throw JobError.shuttingDown }
        let lane = try lane(of: request.thread)
        let handler = try handler(of: request.selector)
        if (try? lane.pool.isStopped(onThread: request.thread)) != false {
            throw JobError.stoppedThread(request.thread)
        }
        let waiting = waitingCount(of: lane)
        if waiting >= lane.maxQueued {
            throw full(
                "thread \(lane.name) holds \(counted(waiting, "waiting job")), its limit", lane)
        }
        return (lane, handler)
    }

    /// Counts a job that the desk itself keeps back.
    func hold(_ job: LiveJob) { job.lane.countKeptBack(1) }

    /// Takes out what was collected for a thread, to be released.
    func takeBuffered(_ thread: String) throws(JobError) -> [JobID] {
        let lane = try lane(of: thread)
        let collected = buffered.removeValue(forKey: lane.name) ?? []
        // A member's name fires what was collected for this member; the pool's name fires it all.
        let isFired = { [live] (id: JobID) in thread == lane.name || live[id]?.thread == thread }
        let kept = collected.filter { !isFired($0) }
        if !kept.isEmpty { buffered[lane.name] = kept }
        return collected.filter { isFired($0) }
    }

    /// Hands over jobs that were collected.
    ///
    /// - Returns: how many of them there still are.
    func release(_ ids: [JobID]) -> Int {
        let jobs = ids.compactMap { live[$0] }
        for job in jobs { release(job) }
        return jobs.count
    }

    /// How many jobs of a lane have been accepted and have not begun.
    func waitingCount(of lane: Lane) -> Int {
        lane.pool.waitingCount + lane.keptBackCount + (durable == nil ? 0 : parkedCount(of: lane))
    }

    /// Notes in the store which jobs have begun: workers report only their ends.
    func noteRunning() {
        for member in lanes.flatMap(\.members) {
            guard let context = member.current.withLock({ $0 }), let run = context.run else {
                continue
            }
            noteStart(JobID(context.id), on: run.thread, at: run.startedAt)
        }
    }

    /// Holds a job until a moment in Unix milliseconds.
    func delay(_ job: LiveJob, until dueAt: Int64) {
        let held = Confined((desk: self, job: job), to: loop)
        // First: what passes before the other clock is read makes the job later, never early.
        let left = wall.nanosecondsLeft(until: dueAt)
        let due = loop.now.advanced(byNanoseconds: left)
        job.release = loop.schedule(at: due) { held.value.desk.release(held.value.job) }
    }

    /// Leaves a job held whose time has not come.
    func cancelRelease(of job: LiveJob) {
        if let release = job.release { loop.cancel(release) }
        job.release = nil
    }

    /// Lets a job go that was held for its time or to be fired.
    func release(_ job: LiveJob) {
        job.release = nil
        job.backlog?.held.released(job.id)
        stopHolding(job)
        apply(.release, to: job.id)
        submitInOrder(job)
    }

    func stopHolding(_ job: LiveJob) { job.lane.countKeptBack(-1) }

    func noteStart(_ id: JobID, on thread: String, at time: Int64) {
        guard store.start(id, on: thread, at: time) else { return }
        if !watches.isEmpty { tellWatchers(.start(worker: thread), of: id) }
    }

    func apply(
        _ event: JobEvent, to id: JobID, at time: Int64? = nil
    ) {
        do throws(JobStoreError) {
            try store.apply(event, to: id, at: time ?? wall.unixMilliseconds())
            if !watches.isEmpty { tellWatchers(event, of: id) }
        } catch {
            // The desk asks for nothing that a job's state does not allow: this is a fault in here.
            log.error("job \(id): \(error)")
        }
    }

    /// The number of a new job that is kept in memory.
    func takeNumber(for request: borrowing JobRequest, at now: Int64) throws(JobError) -> JobID {
        do throws(JobStoreError) {
            return try store.takeNumber(forPayloadOf: request.payload.count, at: now)
        } catch .full(let count, let byteCount) {
            throw full(
                "\(counted(count, "job")) of \(counted(byteCount, "byte")) waiting or running, the limit",
                nil)
        } catch {
            throw JobError.refused(error)
        }
    }
}

extension Priority {
    /// The same, as worker threads call it.
    var submitPriority: SubmitPriority {
        switch self {
        case .high: .high
        case .normal: .normal
        case .low: .low
        }
    }
}
