// The durable jobs of a queue, and how many of them there are: in memory or parked, which is in the
// store only.

internal import Jobs

/// Counts that would have become negative: each is a fault of the daemon.
///
/// Limits and figures read counts, decisions do not, so that a wrong count can't lose a job.
/// Confined to the desk's thread.
final class Miscounts {
    private let log: Log
    /// How often a count had to be repaired.
    private(set) var count = 0

    init(_ log: Log) { self.log = log }

    /// Reports a count that was repaired.
    func report(_ what: String, of queue: QueueName) {
        count += 1
        log.error(
            "miscounted \(what) of thread \(queue.thread), priority \(queue.priority.name): "
                + "repaired; please report this fault")
    }
}

/// How much waits for something, in memory or not.
///
/// Confined to the desk's thread.
final class JobLoad {
    /// Parked jobs: in turn, delayed, buffered.
    private var inTurn = JobAmount()
    private var delayed = JobAmount()
    private var buffered = JobAmount()
    /// Durable jobs that have not ended.
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

    /// - Returns: false if fewer were parked; none is counted then.
    fileprivate func unpark(_ state: JobState, _ amount: JobAmount) -> Bool {
        switch state {
        case .delayed: delayed.subtract(amount)
        case .buffered: buffered.subtract(amount)
        case .waiting, .running, .done, .failed, .cancelled, .expired: inTurn.subtract(amount)
        }
    }

    /// What is parked in a state.
    func parked(_ state: JobState) -> JobAmount {
        switch state {
        case .waiting: inTurn
        case .delayed: delayed
        case .buffered: buffered
        case .running, .done, .failed, .cancelled, .expired: JobAmount()
        }
    }
}

/// The durable jobs of one thread and priority.
///
/// Confined to the desk's thread.
final class Backlog {
    /// Which part of the queue's memory a job is counted in, until its end.
    enum Part {
        case inTurn
        /// It was delayed once.
        case held
        /// It holds up others between two attempts: it is in memory whatever else is there.
        case apart
    }

    let queue: QueueName
    let lane: Lane
    /// How much waits for its lane, and for all.
    let laneLoad: JobLoad
    private let load: JobLoad
    private let miscounts: Miscounts
    /// Parked jobs in turn, as far as they have been counted.
    private var parkedInTurn = JobAmount()
    /// The jobs in turn.
    var window: QueueWindow
    /// The delayed and buffered ones.
    var held: DelayedWindow

    /// - Parameter mayHoldMore: whether the store may have jobs of an earlier run.
    init(
        _ queue: QueueName, of lane: Lane, laneLoad: JobLoad, load: JobLoad,
        limits: WindowLimits, miscounts: Miscounts, mayHoldMore: Bool
    ) {
        self.queue = queue
        self.lane = lane
        self.laneLoad = laneLoad
        self.load = load
        self.miscounts = miscounts
        window = QueueWindow(limits, mayHoldMore: mayHoldMore)
        held = DelayedWindow(limits, horizon: mayHoldMore ? .first : .last)
    }

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
        case .held: held.add(byteCount: byteCount)
        case .apart: break
        }
        laneLoad.all += .one(byteCount)
        load.all += .one(byteCount)
    }

    func removeFromMemory(_ id: JobID, _ part: Part, byteCount: Int) {
        let wasCounted =
            switch part {
            case .inTurn: window.remove(byteCount: byteCount)
            case .held: held.remove(id, byteCount: byteCount)
            case .apart: true
            }
        if !wasCounted { miscounts.report("jobs in memory", of: queue) }
        removeFromAll(.one(byteCount))
    }

    /// Jobs are parked that were in no memory.
    func addParked(_ state: JobState, _ amount: JobAmount) {
        if state == .waiting { parkedInTurn += amount }
        laneLoad.park(state, amount)
        laneLoad.all += amount
        load.park(state, amount)
        load.all += amount
    }

    /// Jobs are no longer parked.
    func removeParked(_ state: JobState, _ amount: JobAmount) {
        var wereCounted = state == .waiting ? parkedInTurn.subtract(amount) : true
        if !laneLoad.unpark(state, amount) { wereCounted = false }
        if !load.unpark(state, amount) { wereCounted = false }
        if !wereCounted { miscounts.report("parked \(state.rawValue) jobs", of: queue) }
        removeFromAll(amount)
    }

    private func removeFromAll(_ amount: JobAmount) {
        let isOfLane = laneLoad.all.subtract(amount)
        let isOfAll = load.all.subtract(amount)
        if !isOfLane || !isOfAll { miscounts.report("jobs", of: queue) }
    }

    /// Checks the count of parked jobs once all jobs in turn are in memory.
    func checkParked() {
        guard window.isWhole, parkedInTurn != JobAmount() else { return }
        miscounts.report("parked jobs in turn", of: queue)
        removeParked(.waiting, parkedInTurn)
    }
}
