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
    /// Jobs that were delayed and are due, by due time and number.
    private var due = FIFO<JobEntry>()
    /// Jobs that a command has made due, by its time and their number.
    private var released = FIFO<JobEntry>()

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
    var isEmpty: Bool { undelayed.isEmpty && due.isEmpty && released.isEmpty }

    mutating func add(_ job: JobEntry) {
        if job.part == .inTurn {
            undelayed.append(job)
        } else if job.job.releasedBefore == nil {
            Self.insert(job, into: &due)
        } else {
            Self.insert(job, into: &released)
        }
    }

    private static func insert(_ job: JobEntry, into jobs: inout FIFO<JobEntry>) {
        let isLast = jobs.last.map { $0.dueKey < job.dueKey } ?? true
        jobs.append(job)
        guard !isLast else { return }
        let sorted = jobs.sorted { $0.dueKey < $1.dueKey }
        jobs.removeAll()
        for job in sorted { jobs.append(job) }
    }

    /// Takes out the next job whose turn has come; nil if none is here, or an earlier one may be
    /// parked.
    mutating func next(_ reach: Reach) -> JobEntry? {
        Self.drop(&undelayed)
        Self.drop(&due)
        Self.drop(&released)
        guard let first = undelayed.first else {
            return reach.isWhole ? popDue { $0.dueKey <= reach.horizon } : nil
        }
        if let early = popDue(where: { $0.isDue(before: first) }) { return early }
        if reach.horizon.dueAt > min(first.acceptedAt, reach.now) { return undelayed.popFirst() }
        // Parked jobs go before `first`, and before them those that fill the memory: a command has
        // made these due that came after `first`, by a clock that was behind.
        return reach.isFull ? popDue { $0.dueKey <= reach.horizon } : nil
    }

    /// Takes out the first job that is due and meets a condition.
    ///
    /// Each of the two lines is looked at from its front: by a clock that was behind, a command
    /// can have made jobs due that go before no other.
    private mutating func popDue(where isMeant: (JobEntry) -> Bool) -> JobEntry? {
        let byTime = due.first.flatMap { isMeant($0) ? $0.dueKey : nil }
        let byCommand = released.first.flatMap { isMeant($0) ? $0.dueKey : nil }
        guard let byCommand else { return byTime == nil ? nil : due.popFirst() }
        if let byTime, byTime < byCommand { return due.popFirst() }
        return released.popFirst()
    }

    /// Takes out the jobs that are due behind a place.
    ///
    /// - Complexity: O(1) if there are none; else O(waiting jobs).
    mutating func takeDue(behind place: DueKey) -> [JobEntry] {
        Self.take(from: &due, behind: place) + Self.take(from: &released, behind: place)
    }

    private static func take(
        from line: inout FIFO<JobEntry>, behind place: DueKey
    ) -> [JobEntry] {
        guard let last = line.last, place < last.dueKey else { return [] }
        let jobs = Array(line).filter { $0.place.isInLine }
        line.removeAll()
        for job in jobs where job.dueKey <= place { line.append(job) }
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
        "numbers \(undelayed.map(\.id)), due \((Array(due) + released).map(\.dueKey))"
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
