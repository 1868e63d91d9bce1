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
    /// What the store has beside.
    let stored: StoredJobs
    /// Where answers go.
    var door: any JobDoor = ClosedDoor()
    /// The jobs that have not ended; only the desk changes it.
    var live: JobTable<LiveJob> {
        _read { yield unsafe uncheckedLive }
        _modify { yield unsafe &uncheckedLive }
    }
    /// Jobs that were collected for a lane and not yet fired, in order.
    var buffered: [String: [JobID]] = [:]
    private(set) var isRefusing = false
    /// The orders that jobs keep, and which of them are held up.
    var orders = OrderKeeper()
    /// The names of volatile jobs.
    var uniqueNames: UniqueNames
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
    var recentDetails: JobDetails?
    private var recentHandler: (selector: String, handler: Handler)?
    private var recentLoad: (lane: Lane, load: JobLoad)?
    private let lanesByThread: [String: Lane]
    private var answers: MessagePort<[StoreAnswer]>?

    /// - Parameters:
    ///   - lanes: the configured threads.
    ///   - handlers: the code behind each selector.
    ///   - store: for the jobs in memory; empty.
    ///   - journal: where the jobs are kept that are to outlive the daemon.
    ///   - window: how much of these is in memory at a time.
    init(
        lanes: [Lane], handlers: [String: Handler], store: MemoryStore, journal: any JobStore,
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
        stored = StoredJobs(journal, window, log: log)
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
        let answers = MessagePort<[StoreAnswer]> { desk.value.take($0) }
        answers.add(to: loop)
        self.answers = answers
        journal.add(.answer(to: { [weak answers] in _ = answers?.send($0) }))
        journal.fire()
    }

    /// Ends the reporting; breaks the cycle between the desk and its port.
    func close() {
        runner?.reports.invalidate()
        runner?.close()
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

    func handler(of selector: String) throws(JobError) -> Handler {
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
    private func load(of lane: Lane) -> JobLoad {
        if lane === recentLoad?.lane, let load = recentLoad?.load { return load }
        let load = stored.load(of: lane)
        recentLoad = (lane, load)
        return load
    }

    /// How many jobs of a lane are in the journal and not in memory.
    func parkedCount(of lane: Lane) -> Int {
        stored.parkedCount > 0 ? load(of: lane).parkedSum.count : 0
    }

    /// Counts a job that the desk itself keeps back.
    func hold(_ job: LiveJob) { job.lane.countKeptBack(1) }

    /// How many jobs of a lane have been accepted and have not begun.
    func waitingCount(of lane: Lane) -> Int {
        lane.pool.waitingCount + lane.keptBackCount + parkedCount(of: lane)
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
