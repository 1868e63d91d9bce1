// What the desk remembers of the jobs in the store beside the live ones: those that are being committed, those
// that are parked, who waits for one of them, and what the store was asked.

internal import Jobs
internal import RunLoops
internal import Structures

/// The desk's side of the journal.
///
/// Confined to the desk's thread.
final class StoredJobs {
    /// A job whose commit is awaited.
    struct Accepting {
        let id: JobID
        /// Nil if it is parked.
        let job: LiveJob?
        let backlog: Backlog
        /// Waiting, delayed or buffered.
        let state: JobState
        let dueAt: Int64?
        let byteCount: Int
        let reply: ReplyToken
    }

    /// How many bytes of payload may be on their way to the disk before clients are held back: each is
    /// in memory until it is there.
    private static let acceptingByteCountMax = 32 << 20

    let journal: any JobStore
    let window: WindowLimits
    /// In the order of their commands.
    private var accepting = FIFO<Accepting>()
    /// The payloads of those, together.
    private var acceptingByteCount = 0
    /// Whether so much is on its way to the disk that who waits for it is not to hand in more.
    private(set) var isSwamped = false
    /// Told when that is over.
    var whenRelieved: (() -> Void)?
    var backlogs: [QueueName: Backlog] = [:]
    /// Who waits for the end of a parked job.
    var waiters: [JobID: Waiters] = [:]
    var reservedBelow: UInt64 = 0
    var isFireScheduled = false
    /// Whether parked jobs stay where they are: the daemon goes down.
    var isClosed = false
    /// Jobs of schedules that are told to the journal together, after they were accepted.
    private var runs: [MadeRun] = []
    private var inquiries: [UInt64: Inquiry] = [:]
    private var lastTicket: UInt64 = 0

    init(_ journal: any JobStore, _ window: WindowLimits, log: Log) {
        self.journal = journal
        self.window = window
        miscounts = Miscounts(log)
    }

    /// What of before has been counted.
    var stock = RecoveryCount()
    /// Of before and not counted by then, but parked since by the desk, which has counted them.
    private var parkedAgain: Set<JobID> = []
    /// Jobs of before whose thread is configured no more.
    var orphans = OrphanedJobs()
    /// Jobs of before whose selector is configured no more.
    var unserved = UnknownSelectorJobs()
    /// Whether delayed jobs stay where they are: only what is in turn is let run.
    var isHeldClosed = false
    /// Parked jobs that the journal was asked to take back, and how often.
    var cancelling: [JobID: Int] = [:]
    /// Those of them that have come into memory before the answer: they must not begin.
    var withheld: [JobID: Job] = [:]
    /// When the first parked job ends that has not begun by then, at the earliest; `.max` for none.
    var nextExpiry = Int64.max
    /// What looks for it then.
    var expiryAlarm: ThreadRunLoop.Timeout?
    /// Commands under way that take back all of a thread and selector.
    var recalls: [BulkCancel] = []
    let load = JobLoad()
    let miscounts: Miscounts
    /// The one that was looked up last: most clients ask for the same again and again.
    private var recentBacklog: Backlog?
    private var laneLoads: [ObjectIdentifier: JobLoad] = [:]

    /// How many jobs are in the journal and not in memory.
    var parkedCount: Int { load.parkedSum.count }

    /// A job is on its way to the disk.
    func expectCommit(_ job: Accepting) {
        accepting.append(job)
        acceptingByteCount += job.byteCount
        if acceptingByteCount >= Self.acceptingByteCountMax { isSwamped = true }
    }

    /// The next one that is there, or could not get there.
    func takeCommitted() -> Accepting? {
        guard let job = accepting.popFirst() else { return nil }
        acceptingByteCount -= job.byteCount
        if isSwamped, acceptingByteCount <= Self.acceptingByteCountMax / 2 {
            isSwamped = false
            whenRelieved?()
        }
        return job
    }

    /// Whether a job may be on its way to the disk: numbers go up as commands do.
    func isAwaited(_ id: JobID) -> Bool { accepting.first.map { $0.id <= id } ?? false }

    /// How much waits for a lane.
    func load(of lane: Lane) -> JobLoad {
        if let load = laneLoads[ObjectIdentifier(lane)] { return load }
        let load = JobLoad()
        laneLoads[ObjectIdentifier(lane)] = load
        return load
    }

    /// The jobs of a queue, known from now on.
    func backlog(of queue: QueueName, _ lane: Lane, mayHoldMore: Bool = false) -> Backlog {
        if let recentBacklog, recentBacklog.queue == queue { return recentBacklog }
        if let backlog = backlogs[queue] {
            recentBacklog = backlog
            return backlog
        }
        let backlog = Backlog(
            queue, of: lane, laneLoad: load(of: lane), load: load, limits: window,
            miscounts: miscounts, mayHoldMore: mayHoldMore)
        backlogs[queue] = backlog
        return backlog
    }

    /// The queues that a name addresses: a lane's means those of its members too.
    func backlogs(of lane: Lane, addressedBy thread: String) -> [Backlog] {
        backlogs.values.filter { backlog in
            backlog.lane === lane && (thread == lane.name || backlog.queue.thread == thread)
        }
    }

    // MARK: - Counts

    /// A job that the desk was given is parked.
    func park(_ id: JobID, _ state: JobState, byteCount: Int, in backlog: Backlog) {
        if !stock.includes(id) { parkedAgain.insert(id) }
        backlog.addParked(state, .one(byteCount))
    }

    /// A job that the desk was given has no thread: it stays in the journal.
    func orphan(_ job: Job) {
        if !stock.includes(job.id) { parkedAgain.insert(job.id) }
        orphans.add(.one(job.payload.count), to: job.queue)
    }

    /// A job without a thread was taken back.
    func removeOrphan(_ id: JobID, byteCount: Int, from queue: QueueName) {
        guard hasCounted(id) else { return }
        parkedAgain.remove(id)
        if !orphans.remove(byteCount: byteCount, from: queue) {
            miscounts.report("orphaned jobs", of: queue)
        }
    }

    /// A job that nobody serves was taken back.
    func removeUnserved(_ job: CountedJob, from queue: QueueName) {
        guard hasCounted(job.id) else { return }
        if !unserved.remove(job.selector, from: queue) {
            miscounts.report("jobs of an unknown selector", of: queue)
        }
    }

    /// Whether a parked job was counted as one; it is not parked any more.
    func unpark(_ id: JobID, _ state: JobState, byteCount: Int, from backlog: Backlog) {
        guard hasCounted(id) else { return }
        parkedAgain.remove(id)
        backlog.removeParked(state, .one(byteCount))
    }

    /// More of before has been counted.
    func add(_ part: RecoveryCount.Part) {
        stock.add(part)
        if part.isLast { parkedAgain = [] }
    }

    /// Whether a parked job is counted as one.
    func hasCounted(_ id: JobID) -> Bool { parkedAgain.contains(id) || stock.includes(id) }

    /// One more job of a schedule is to be told to the journal.
    func add(_ run: MadeRun) { runs.append(run) }

    /// Those jobs, once.
    func takeRuns() -> [MadeRun] {
        defer { runs.removeAll() }
        return runs
    }

    /// The ticket under which an answer is expected.
    func expect(_ inquiry: Inquiry) -> UInt64 {
        lastTicket += 1
        inquiries[lastTicket] = inquiry
        return lastTicket
    }

    /// Whoever waits for the answer under a ticket.
    func take(_ ticket: UInt64) -> Inquiry? { inquiries.removeValue(forKey: ticket) }

    /// Lets go of everybody who has asked something or waits.
    func letGoOfAll() {
        accepting = FIFO()
        inquiries = [:]
        recalls = []
        for waiters in waiters.values { waiters.endAlarms() }
        waiters = [:]
    }

    /// One of those who wait for a job has waited as long as they wanted.
    func alarmRang(for id: JobID, by door: any JobDoor) {
        waiters[id]?.alarmRang(by: door)
        if waiters[id]?.isEmpty == true { waiters[id] = nil }
    }
}
