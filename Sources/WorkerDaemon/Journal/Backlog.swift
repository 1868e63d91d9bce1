// How much of a queue of durable jobs is in memory: all of it as long as it is short, its head when
// it is long. The rest is parked in the journal, and brought when the head has become short.

internal import Jobs

/// How much waits for something, in memory or not.
///
/// Confined to the desk's thread.
final class JobLoad {
    /// What is in the journal only, or on its way there: in turn, delayed, buffered.
    private var inTurn = JobAmount()
    private var delayed = JobAmount()
    private var buffered = JobAmount()
    /// The same together.
    fileprivate(set) var parkedSum = JobAmount()
    /// Durable jobs that have not ended.
    fileprivate(set) var all = JobAmount()

    fileprivate func park(_ state: JobState, _ amount: JobAmount) {
        switch state {
        case .delayed: delayed += amount
        case .buffered: buffered += amount
        case .waiting, .running, .done, .failed, .cancelled: inTurn += amount
        }
        parkedSum += amount
    }

    /// What is parked in a state.
    func parked(_ state: JobState) -> JobAmount {
        switch state {
        case .waiting: inTurn
        case .delayed: delayed
        case .buffered: buffered
        case .running, .done, .failed, .cancelled: JobAmount()
        }
    }
}

/// The durable jobs of one thread and priority.
///
/// Confined to the desk's thread.
final class Backlog {
    /// As what a job in memory counts, until its end.
    enum Part {
        case inTurn
        /// It was delayed once.
        case held
        /// It holds up others between two attempts: it is in memory whatever else is there.
        case apart
    }

    let queue: QueueName
    let lane: Lane
    /// What waits for its lane, and for all.
    let laneLoad: JobLoad
    private let load: JobLoad
    private let window: MemoryWindow
    /// In turn and in memory: uncommitted, waiting or running.
    private(set) var inMemory = JobAmount()
    /// In turn, and in the journal only or on its way there, as far as it has been counted.
    private(set) var parkedCount = 0
    /// Whether more of before may be parked, counted or not.
    private var mayHoldMore: Bool
    private var isLoading = false
    /// The delayed and buffered ones.
    var held: HeldWindow

    /// - Parameter mayHoldMore: whether jobs of before may be in the journal.
    init(
        _ queue: QueueName, of lane: Lane, laneLoad: JobLoad, load: JobLoad,
        window: MemoryWindow, mayHoldMore: Bool
    ) {
        self.queue = queue
        self.lane = lane
        self.laneLoad = laneLoad
        self.load = load
        self.window = window
        self.mayHoldMore = mayHoldMore
        held = HeldWindow(window, horizon: mayHoldMore ? .first : .last)
    }

    /// Whether a new job may come into memory: none of before is parked, and there is room.
    var takesToMemory: Bool {
        parkedCount == 0 && !mayHoldMore && inMemory.count < window.countMax
            && inMemory.byteCount < window.byteCountMax
    }

    /// Whether all that is in turn is in memory.
    var isAllInMemory: Bool { parkedCount == 0 && !mayHoldMore }

    func addInMemory(_ part: Part, byteCount: Int) {
        switch part {
        case .inTurn: inMemory += .one(byteCount)
        case .held: held.add(byteCount: byteCount)
        case .apart: break
        }
        laneLoad.all += .one(byteCount)
        load.all += .one(byteCount)
    }

    func removeFromMemory(_ id: JobID, _ part: Part, byteCount: Int) {
        switch part {
        case .inTurn: inMemory -= .one(byteCount)
        case .held: held.remove(id, byteCount: byteCount)
        case .apart: break
        }
        laneLoad.all -= .one(byteCount)
        load.all -= .one(byteCount)
    }

    /// Jobs are parked that were in no memory.
    func addParked(_ state: JobState, _ amount: JobAmount) {
        if state == .waiting { parkedCount += amount.count }
        laneLoad.park(state, amount)
        laneLoad.all += amount
        load.park(state, amount)
        load.all += amount
    }

    /// Jobs are no longer parked.
    func removeParked(_ state: JobState, _ amount: JobAmount) {
        let less = JobAmount(count: -amount.count, byteCount: -amount.byteCount)
        addParked(state, less)
    }

    /// How many jobs to ask the journal for; nil if none is wanted, or some are on their way.
    func nextLoad() -> (limit: Int, byteCount: Int)? {
        guard !isAllInMemory, !isLoading, inMemory.count <= window.countMax / 2,
            inMemory.byteCount <= window.byteCountMax / 2
        else { return nil }
        isLoading = true
        return (
            min(window.loadCountMax, window.countMax - inMemory.count),
            window.byteCountMax - inMemory.byteCount
        )
    }

    /// What was asked for has come, or could not be read.
    ///
    /// - Parameter isEnd: whether nothing of before is behind it.
    func loadEnded(isEnd: Bool) {
        isLoading = false
        if isEnd { mayHoldMore = false }
    }
}
