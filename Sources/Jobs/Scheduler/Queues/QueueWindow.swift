// The window of a queue: its jobs in turn that are in memory. These are all while the queue is
// short, its head when it is long. The other jobs in turn are parked: they are in the store only.
//
// States, and what moves from one to the next:
//
//     whole     every job in turn is in memory
//     partial   the store may have more behind the head, and no load is in flight
//     loading   a load is in flight, and no job was parked after it was issued
//     overtaken a load is in flight, and jobs were parked after it was issued
//
//     whole     ── new job, no room ──▶ partial ── load issued ──▶ loading ── new job ──▶ overtaken
//     loading   ── load answered: end reached ──▶ whole
//     loading, overtaken ── load answered otherwise, or failed ──▶ partial
//
// A load sees exactly the changes that were issued before it. So a job is either in memory or
// parked from the moment its change is issued, and no answer in flight moves it. No decision reads
// a count.

/// The part of a queue's jobs in turn that is in memory.
///
/// Pure: it is told what happens and says what to do.
package struct QueueWindow: Sendable {
    /// How far memory reaches.
    package enum Extent: Sendable {
        case whole, partial, loading, overtaken
    }

    package private(set) var extent: Extent
    /// Jobs in turn and in memory: uncommitted, waiting or running.
    package private(set) var inMemory = JobAmount()
    private let limits: WindowLimits

    /// - Parameter mayHaveEarlierJobs: whether the store may have jobs of an earlier run.
    package init(_ limits: WindowLimits, mayHaveEarlierJobs: Bool) {
        self.limits = limits
        extent = mayHaveEarlierJobs ? .partial : .whole
    }

    /// Whether every job in turn is in memory.
    package var isWhole: Bool { extent == .whole }

    /// Whether jobs may be parked, memory has room for them, and no load is in flight.
    ///
    /// Nothing would bring them: this is so only between a change and the `nextLoad` that follows
    /// it.
    package var wantsLoad: Bool { extent == .partial && hasRoom }

    /// Whether a load is in flight.
    package var isLoading: Bool { extent == .loading || extent == .overtaken }

    /// The queue's jobs leave memory: all of them are behind it.
    package mutating func forget() { extent = isLoading ? .overtaken : .partial }

    /// Decides where a new job goes, at the moment its change is issued.
    ///
    /// - Returns: true if it enters memory, false if it is parked.
    package mutating func admit() -> Bool {
        switch extent {
        case .whole:
            if inMemory.count < limits.countMax, inMemory.byteCount < limits.byteCountMax {
                return true
            }
            extent = .partial
            return false
        case .loading:
            extent = .overtaken
            return false
        case .partial, .overtaken: return false
        }
    }

    /// Counts a job that is in memory from now on.
    package mutating func add(byteCount: Int) { inMemory += .one(byteCount) }

    /// Counts a job out that has left memory.
    ///
    /// - Returns: false if the count was too small; it is 0 then.
    package mutating func remove(byteCount: Int) -> Bool { inMemory.subtract(.one(byteCount)) }

    /// Issues a load if one is wanted.
    ///
    /// - Returns: how many jobs and bytes to ask for; nil if no load is wanted.
    package mutating func nextLoad() -> (limit: Int, byteCount: Int)? {
        guard wantsLoad else { return nil }
        extent = .loading
        return (
            min(limits.loadCountMax, limits.countMax - inMemory.count),
            limits.byteCountMax - inMemory.byteCount
        )
    }

    /// A load was answered, or has failed.
    ///
    /// - Parameter isEnd: whether the store had no job behind the loaded ones when it was read.
    package mutating func loadEnded(isEnd: Bool) {
        assert(extent == .loading || extent == .overtaken, "an answer to no load: \(extent)")
        extent = extent == .loading && isEnd ? .whole : .partial
    }

    private var hasRoom: Bool {
        inMemory.count <= limits.countMax / 2 && inMemory.byteCount <= limits.byteCountMax / 2
    }
}

/// The size of the part of a queue that is in memory: once for jobs in turn, once for delayed jobs.
package struct WindowLimits: Sendable {
    /// How many jobs.
    package var countMax = 8_192
    /// How many bytes their payloads may have together.
    package var byteCountMax = 16 << 20
    /// How many come with one load: neither thread is kept from others for long.
    package var loadCountMax = 1_024
    /// How many rows of before are counted at once, before others have their turn.
    package var countedAtOnce = 2_000
    /// How many jobs one transaction fires; more of them take several.
    package var changedAtOnce = 1_000
    /// How many it lets run again, drops or takes back: each takes statements of its own.
    package var settledAtOnce: Int { max(1, changedAtOnce / 4) }

    /// The limits of the daemon.
    package init() {}

    /// The limits for each of several queues that have the place of one: the slots of a pool.
    func shared(by count: Int) -> WindowLimits {
        var part = self
        part.countMax = max(min(countMax, 64), countMax / count)
        part.byteCountMax = max(min(byteCountMax, 1 << 20), byteCountMax / count)
        return part
    }
}
