// Jobs that begin one after another: those for one thread, and those of one key there. What is on its way through
// an order is noted, so that a job that holds it up finds the others without a look at all there are.
//
// Nobody takes himself out: a job ends in many ways, and each of them would have to think of it. What has ended
// or was taken back stays as an entry that leads nowhere, until such entries are as many as the rest.

internal import Jobs
internal import Structures

/// One order of jobs.
///
/// Confined to the desk's thread.
final class JobOrder {
    /// A job that was handed to its lane.
    struct Entry {
        let id: JobID
        /// How often it had been by then: of several entries of one job the last counts.
        let turn: UInt32
    }

    /// What waits behind one that is tried again; nil if nothing does.
    var holdUp: HoldUp?
    /// Whether jobs are noted: of a thread, not before one of them can hold others up.
    var notesJobs: Bool
    private var entries = ShortList<Entry>()
    private var sweepCount = sweepCountMin
    /// So few are never looked through.
    private static let sweepCountMin = 16

    init(notesJobs: Bool) { self.notesJobs = notesJobs }

    /// Notes a job that was handed to its lane just now.
    ///
    /// - Parameters:
    ///   - liveCount: how many jobs there are, of all orders: no more entries can count.
    ///   - counts: whether an entry still leads to a job.
    /// - Complexity: O(1) on average: half of those that are looked at are dropped.
    func note(_ entry: Entry, liveCount: Int, where counts: (Entry) -> Bool) {
        entries.append(entry)
        // The second: of a burst that is over nothing is kept.
        guard entries.count >= max(Self.sweepCountMin, min(sweepCount, 2 * liveCount)) else {
            return
        }
        let kept = entries.filter(counts)
        entries.removeAll()
        for entry in kept { entries.append(entry) }
        sweepCount = max(Self.sweepCountMin, 2 * kept.count)
    }

    /// Takes out all entries, some of which lead nowhere any more.
    func takeEntries() -> [Entry] {
        defer {
            entries.removeAll()
            sweepCount = Self.sweepCountMin
        }
        return Array(entries)
    }
}

/// What waits at the desk behind a job that is tried again.
///
/// Confined to the desk's thread.
final class HoldUp {
    /// The job that the others wait for.
    let blocker: JobID
    private var held: [JobID: LiveJob] = [:]

    init(by blocker: JobID) { self.blocker = blocker }

    /// A job waits from now on.
    func hold(_ job: LiveJob) { held[job.id] = job }

    /// A job does not wait any more: it was cancelled.
    ///
    /// - Returns: whether it did.
    func forget(_ id: JobID) -> Bool { held.removeValue(forKey: id) != nil }

    /// Takes out what was held, in the order of their numbers.
    func takeAll() -> [LiveJob] {
        defer { held = [:] }
        return held.sorted { $0.key < $1.key }.map(\.value)
    }
}

/// The orders that one job keeps.
struct JobOrders {
    /// Nil for a job that any member of a pool may run.
    var thread: JobOrder?
    /// Nil for a job without a key.
    var key: JobOrder?

    /// What it holds up while it fails: its key if it has one, else its thread.
    var own: JobOrder? { key ?? thread }
}

/// How a job is tried again.
struct RetryPlan: Sendable, Equatable {
    /// How many further attempts follow one that failed.
    var countMax = 0
    /// Whether what follows in its order waits meanwhile; false if it has none.
    var blocks = false
    /// The attempts that do not count any more.
    var forgivenCount = 0

    /// Whether another attempt may follow this one.
    func follows(attempt: Int) -> Bool { attempt - forgivenCount <= countMax }
}
