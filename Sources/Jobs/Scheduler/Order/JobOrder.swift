// Jobs that begin one after another: those for one thread, and those of one key there. Offered jobs
// are noted, so that a job that holds up its order finds the others without a look at all jobs.
//
// Entries are removed lazily: an entry whose job has ended or was retracted leads nowhere, and goes
// when such entries are as many as the others.

internal import Structures

/// One order of jobs.
///
/// Confined to its scheduler.
final class JobOrder {
    /// A job that was offered.
    struct Entry {
        let id: JobID
        /// The number of its turn: of several entries of one job the last counts.
        let turn: UInt64
    }

    /// The jobs that wait behind one that is tried again; nil if none is.
    var holdUp: HoldUp?
    /// Whether jobs are noted: of a thread, not before one of them can hold others up.
    var notesJobs: Bool {
        get { unsafe uncheckedNotesJobs }
        set { unsafe uncheckedNotesJobs = newValue }
    }
    // SAFETY: confined to the scheduler's thread, and no access calls out to anything.
    @exclusivity(unchecked) private var uncheckedNotesJobs: Bool
    private var entries = ShortList<Entry>()
    private var sweepCount = sweepCountMin
    /// So few are never looked through.
    private static let sweepCountMin = 16

    init(notesJobs: Bool) { unsafe uncheckedNotesJobs = notesJobs }

    /// Notes a job that is offered now.
    ///
    /// - Parameters:
    ///   - activeCount: how many jobs there are, of all orders: no more entries can count.
    ///   - counts: whether an entry still leads to a job.
    /// - Complexity: O(1) on average: half of the scanned entries are dropped.
    func note(_ entry: Entry, activeCount: Int, where counts: (Entry) -> Bool) {
        entries.append(entry)
        // The second: of a burst that is over nothing is kept.
        guard entries.count >= max(Self.sweepCountMin, min(sweepCount, 2 * activeCount)) else {
            return
        }
        sweep(where: counts)
    }

    /// Removes the entries that lead nowhere any more.
    func sweep(where counts: (Entry) -> Bool) {
        entries.removeAll { !counts($0) }
        sweepCount = max(Self.sweepCountMin, 2 * entries.count)
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

/// The jobs that wait behind one that is tried again.
///
/// Confined to its scheduler.
package final class HoldUp {
    /// The job that the others wait for.
    package let blocker: JobID
    /// The thread or pool that the blocker is for.
    let thread: String
    /// Its place in the chain of its thread.
    fileprivate(set) var slot = 0
    private var waiting: [JobID: JobEntry] = [:]
    /// Other jobs of the order that were between two attempts when this hold-up was under way, in
    /// the order in which they came: since a restart, or while the blocker's handler was away.
    private(set) var followers: [JobEntry] = []

    init(by blocker: JobID, on thread: String) {
        self.blocker = blocker
        self.thread = thread
    }

    /// A job waits from now on.
    func add(_ job: JobEntry) { waiting[job.id] = job }

    /// Another job of the order would hold up the rest as well.
    func follow(_ job: JobEntry) { followers.append(job) }

    /// A job waits no more.
    func forget(_ id: JobID) { waiting[id] = nil }

    /// Removes all held-up jobs and returns them in turn.
    func takeAll() -> [JobEntry] {
        defer { waiting = [:] }
        return waiting.values.sorted { $0.turn < $1.turn }
    }
}

/// The hold-ups of all threads, each thread's in the order in which they began.
///
/// - Complexity: O(1) for everything.
struct HoldUps {
    private var slots = LinkedSlots<HoldUp>()
    private var chains: [String: LinkedSlots<HoldUp>.Chain] = [:]

    var count: Int { slots.count }

    mutating func append(_ holdUp: HoldUp) {
        holdUp.slot = slots.append(holdUp, to: &chains[holdUp.thread, default: .init()])
    }

    mutating func remove(_ holdUp: HoldUp) {
        guard var chain = chains[holdUp.thread] else { return }
        _ = slots.remove(holdUp.slot, from: &chain)
        chains[holdUp.thread] = chain.first == nil ? nil : chain
    }

    /// The hold-up of a thread's or pool's jobs that began first.
    func first(of thread: String) -> HoldUp? {
        chains[thread]?.first.flatMap { slots[$0] }
    }
}

/// The orders that one job keeps.
struct JobOrders {
    /// Nil for a job that any member of a pool may run.
    var thread: JobOrder?
    /// Nil for a job without a key.
    var key: JobOrder?

    /// The order that it holds up while it fails: its key if it has one, else its thread.
    var own: JobOrder? { key ?? thread }
    /// The order that it holds up.
    ///
    /// - Parameter isInherited: whether a worker may have it since before a restart: of a single
    ///   thread, nothing else begins meanwhile.
    func heldUp(isInherited: Bool) -> JobOrder? { isInherited ? thread ?? key : own }
}
