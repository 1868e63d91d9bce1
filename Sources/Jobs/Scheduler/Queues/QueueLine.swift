// The order in which the jobs of a stored queue take their turn, whether it is short or long, and
// before and after a restart.
//
// A job's place is the moment at which its turn has come: its acceptance, its due time, or the
// command that has made it due. Jobs without a delay keep the order of their numbers, and delayed
// ones that of their due times. A delayed job goes before all that were accepted later than it was
// due.
//
// In a short queue all jobs are in memory, and the order in which they come here is that order. In
// a long one, and at a start, they come in loads: a job waits here as long as an earlier one may
// still be parked.

internal import Structures

/// The jobs of a queue that wait for earlier ones to come into memory.
///
/// Owned by its `JobQueue`. Invariant: an entry counts as long as its job is `inLine`; others are
/// dropped when they come to the front.
///
/// - Complexity: O(1) on average for both; O(waiting jobs) to add a delayed job that was due before
///   others that are here, which happens after the clock was set.
struct QueueLine {
    /// Jobs that were never delayed, by number.
    private var undelayed = FIFO<JobEntry>()
    /// Jobs that were delayed or buffered and are due, by due time and number.
    private var due = FIFO<JobEntry>()

    /// How much of a queue is in memory.
    struct Reach {
        /// Whether all jobs that were never delayed are.
        let isWhole: Bool
        /// All delayed jobs are that are due before this place.
        let horizon: DueKey
        /// Whether memory has no room for more of them.
        let isFull: Bool
        /// The present time in Unix milliseconds: a job that is not due yet goes before no other.
        let now: Int64
    }

    /// Whether no job waits.
    var isEmpty: Bool { undelayed.isEmpty && due.isEmpty }

    mutating func add(_ job: JobEntry) {
        guard job.part != .inTurn else { return undelayed.append(job) }
        let isLast = due.last.map { $0.dueKey < job.dueKey } ?? true
        due.append(job)
        guard !isLast else { return }
        let sorted = due.sorted { $0.dueKey < $1.dueKey }
        due.removeAll()
        for job in sorted { due.append(job) }
    }

    /// Takes out the next job whose turn has come; nil if none is here, or an earlier one may be
    /// parked.
    mutating func next(_ reach: Reach) -> JobEntry? {
        Self.drop(&undelayed)
        Self.drop(&due)
        guard let first = undelayed.first else { return reach.isWhole ? due.popFirst() : nil }
        if let early = due.first, early.isDue(before: first) { return due.popFirst() }
        if reach.horizon.dueAt > min(first.acceptedAt, reach.now) { return undelayed.popFirst() }
        // Parked jobs go before `first`, and before them those that fill the memory: a command has
        // made these due that came after `first`, by a clock that was behind.
        guard reach.isFull, let early = due.first, early.dueKey <= reach.horizon else { return nil }
        return due.popFirst()
    }

    /// Takes out the jobs that are due behind a place.
    ///
    /// - Complexity: O(1) if there are none; else O(waiting jobs).
    mutating func takeDue(behind place: DueKey) -> [JobEntry] {
        guard let last = due.last, place < last.dueKey else { return [] }
        let jobs = Array(due).filter { $0.place.isInLine }
        due.removeAll()
        for job in jobs where job.dueKey <= place { due.append(job) }
        return jobs.filter { place < $0.dueKey }
    }

    /// Drops the entries at the front whose jobs have left.
    private static func drop(_ jobs: inout FIFO<JobEntry>) {
        while let first = jobs.first {
            if first.place.isInLine { return }
            _ = jobs.popFirst()
        }
    }
}

extension QueueLine: CustomStringConvertible {
    var description: String {
        "numbers \(undelayed.map(\.id)), due \(due.map(\.dueKey))"
    }
}

extension JobEntry {
    /// When it was accepted, in Unix milliseconds.
    fileprivate var acceptedAt: Int64 { job.acceptedAt }

    /// Its place among the delayed jobs of its queue.
    fileprivate var dueKey: DueKey { DueKey(dueAt: job.dueAt ?? job.acceptedAt, id: id) }

    /// Whether this job, which is due, was so before another one was accepted.
    fileprivate func isDue(before other: JobEntry) -> Bool {
        if let releasedBefore = job.releasedBefore { return releasedBefore <= other.id }
        return dueKey.dueAt <= other.acceptedAt
    }
}
