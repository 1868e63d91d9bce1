// The stored jobs of one queue, and how many of them there are: in memory, or parked, which means
// in the store only.

/// Counts that would have become negative: each is a fault of the scheduler.
///
/// Limits and figures read counts, decisions do not, so that a wrong count can't lose a job.
package final class Miscounts {
    /// How often a count had to be repaired.
    package private(set) var count = 0
    /// Reports that are not in the log yet.
    private(set) var reports: [String] = []

    func report(_ what: String, of queue: QueueName) {
        count += 1
        reports.append(
            "miscounted \(what) of thread \(queue.thread), priority \(queue.priority.name): "
                + "repaired; please report this fault")
    }

    var hasReports: Bool { !reports.isEmpty }

    /// Takes out the reports.
    func takeReports() -> [String] {
        defer { reports = [] }
        return reports
    }
}

/// How many stored jobs there are of a group, or of all.
final class JobLoad {
    /// Parked jobs: in turn, delayed, buffered.
    private var inTurn = JobAmount()
    private var delayed = JobAmount()
    private var buffered = JobAmount()
    /// Stored jobs that have not ended.
    fileprivate(set) var all = JobAmount()

    /// All parked jobs.
    var parkedSum: JobAmount {
        var sum = inTurn
        sum += delayed
        sum += buffered
        return sum
    }

    fileprivate func park(_ state: JobState, _ amount: JobAmount) {
        switch state {
        case .delayed: delayed += amount
        case .buffered: buffered += amount
        case .waiting, .running, .done, .failed, .cancelled, .expired: inTurn += amount
        }
    }

    /// - Returns: false if fewer were parked; the count is 0 then.
    fileprivate func unpark(_ state: JobState, _ amount: JobAmount) -> Bool {
        switch state {
        case .delayed: delayed.subtract(amount)
        case .buffered: buffered.subtract(amount)
        case .waiting, .running, .done, .failed, .cancelled, .expired: inTurn.subtract(amount)
        }
    }

    /// The parked jobs of a state.
    func parked(_ state: JobState) -> JobAmount {
        switch state {
        case .waiting: inTurn
        case .delayed: delayed
        case .buffered: buffered
        case .running, .done, .failed, .cancelled, .expired: JobAmount()
        }
    }
}

/// The stored jobs of one thread and priority.
///
/// Confined to its scheduler. Invariant: the counts of its group and of all queues are the sums
/// over their queues.
package final class JobQueue {
    /// Which part of the queue's memory a job is counted in, until its end.
    enum Part {
        case inTurn
        /// It was delayed once.
        case delayed
        /// It holds up others between two attempts: it is in memory whatever else is there.
        case apart
    }

    let name: QueueName
    let group: ThreadGroup
    /// The load of all queues together.
    private let load: JobLoad
    private let miscounts: Miscounts
    /// Its parked jobs, as far as they have been counted.
    private let own = JobLoad()
    /// Parked jobs in turn.
    var parkedInTurn: JobAmount { own.parked(.waiting) }
    /// The jobs in turn.
    var window: QueueWindow
    /// The delayed and buffered ones.
    var delayed: DelayedWindow {
        _read { yield unsafe uncheckedDelayed }
        _modify { yield unsafe &uncheckedDelayed }
    }
    /// The jobs whose moment has come, as long as earlier ones may be parked.
    var line: QueueLine {
        _read { yield unsafe uncheckedLine }
        _modify { yield unsafe &uncheckedLine }
    }
    // SAFETY: confined to the scheduler's thread; neither knows its queue, so a change of one never
    // leads to another access. Each job looks at them several times.
    @exclusivity(unchecked) private var uncheckedDelayed: DelayedWindow
    @exclusivity(unchecked) private var uncheckedLine = QueueLine()
    /// Whether a load has failed, and another one follows in a while.
    var isLoadDue = false

    /// - Parameter mayHaveEarlierJobs: whether the store may have jobs of an earlier run.
    init(
        _ name: QueueName, of group: ThreadGroup, load: JobLoad, limits: WindowLimits,
        miscounts: Miscounts, mayHaveEarlierJobs: Bool
    ) {
        self.name = name
        self.group = group
        self.load = load
        self.miscounts = miscounts
        window = QueueWindow(limits, mayHaveEarlierJobs: mayHaveEarlierJobs)
        unsafe uncheckedDelayed = DelayedWindow(
            limits, horizon: mayHaveEarlierJobs ? .first : .last)
    }

    // MARK: - Ownership

    /// Whether another scheduler may own its thread: then none of its jobs begins here.
    private(set) var isReleased = false
    /// Whether the load in flight was issued before a release: its jobs stay in the store.
    private(set) var isLoadVoid = false

    /// Another scheduler may own its thread from now on.
    func release() {
        isReleased = true
        isLoadVoid = window.isLoading
        window.forget()
        delayed.forget()
    }

    /// It is owned again: all of its jobs are in the store.
    func claim() {
        isReleased = false
        skipped = []
    }

    /// Whether its thread is not there: its parked jobs are counted as orphans.
    var isOrphaned = false
    /// Selectors without a handler, jobs of which stay in the store before the parked ones.
    var skipped: Set<String> = []

    /// Whether jobs of it are on their way into memory.
    var isLoading: Bool { window.isLoading || delayed.isLoading }

    /// Takes out the counts of its parked jobs.
    func takeParked() -> [JobState: JobAmount] {
        var taken: [JobState: JobAmount] = [:]
        for state in [JobState.waiting, .delayed, .buffered] {
            let amount = own.parked(state)
            guard amount != JobAmount() else { continue }
            taken[state] = amount
            removeParked(state, amount)
        }
        return taken
    }

    /// The load in flight has been answered.
    ///
    /// - Returns: whether its jobs come into memory.
    func endLoad(isEnd: Bool) -> Bool {
        window.loadEnded(isEnd: isEnd && !isLoadVoid)
        defer { isLoadVoid = false }
        return !isLoadVoid
    }

    /// Whether all of its jobs are in memory.
    var isInMemory: Bool { window.isWhole && delayed.horizon == .last && line.isEmpty }

    /// Decides whether a new job goes past memory, at the moment its change is issued.
    func parks(_ request: borrowing JobRequest, at now: Int64) -> Bool {
        switch request.schedule {
        case .buffered: true
        // It is parked only when it is on the disk, if at all.
        case .at(let moment, _) where moment > now: false
        case .at, .now: !window.admit()
        }
    }

    func addInMemory(_ part: Part, byteCount: Int) {
        switch part {
        case .inTurn: window.add(byteCount: byteCount)
        case .delayed: delayed.add(byteCount: byteCount)
        case .apart: break
        }
        group.load.all += .one(byteCount)
        load.all += .one(byteCount)
    }

    func removeFromMemory(_ job: JobEntry) {
        let byteCount = job.payloadByteCount
        let wasCounted =
            switch job.part {
            case .inTurn: window.remove(byteCount: byteCount)
            case .delayed: delayed.remove(job.id, byteCount: byteCount)
            case .apart: true
            }
        if !wasCounted { miscounts.report("jobs in memory", of: name) }
        removeFromAll(.one(byteCount))
    }

    /// Jobs are parked that were in no memory.
    func addParked(_ state: JobState, _ amount: JobAmount) {
        own.park(state, amount)
        group.load.park(state, amount)
        group.load.all += amount
        load.park(state, amount)
        load.all += amount
    }

    /// Jobs are no longer parked.
    func removeParked(_ state: JobState, _ amount: JobAmount) {
        var wereCounted = own.unpark(state, amount)
        if !group.load.unpark(state, amount) { wereCounted = false }
        if !load.unpark(state, amount) { wereCounted = false }
        if !wereCounted { miscounts.report("parked \(state.rawValue) jobs", of: name) }
        removeFromAll(amount)
    }

    private func removeFromAll(_ amount: JobAmount) {
        let isOfGroup = group.load.all.subtract(amount)
        let isOfAll = load.all.subtract(amount)
        if !isOfGroup || !isOfAll { miscounts.report("jobs", of: name) }
    }

    /// Checks the count of parked jobs once all jobs in turn are in memory, unless a shutdown has
    /// left some to the store.
    func checkParked() {
        guard window.isWhole, parkedInTurn != JobAmount() else { return }
        miscounts.report("parked jobs in turn", of: name)
        removeParked(.waiting, parkedInTurn)
    }
}
