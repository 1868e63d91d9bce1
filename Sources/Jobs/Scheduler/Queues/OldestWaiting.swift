// Since when the oldest waiting job of each thread waits, without a look at all jobs: each job is
// noted when its moment comes, and an entry is dropped when it has come to the front and its job
// waits no more. Kept only while the driver wants it.

/// The jobs of a group whose moment has come, by the time since when they wait.
///
/// Invariant: each waiting job in memory has an entry; other entries lead nowhere.
///
/// - Complexity: O(log count) on average to note a job; entries that lead nowhere are at most as
///   many as waiting jobs, and some more.
struct OldestWaiting {
    private struct Entry {
        let since: Int64
        let job: JobEntry
    }

    /// A binary heap: each entry is at least as old as the two below it.
    private var entries: [Entry] = []
    /// Entries that lead nowhere are swept away beyond so many.
    private var sweepCount = Self.sweepCountMin
    private static let sweepCountMin = 64

    /// A job waits from now on.
    ///
    /// - Parameter waits: whether the job of an earlier entry still does.
    mutating func note(_ job: JobEntry, waits: (JobEntry, Int64) -> Bool) {
        if entries.count >= sweepCount {
            entries.removeAll { !waits($0.job, $0.since) }
            entries.sort { $0.since < $1.since }
            sweepCount = max(Self.sweepCountMin, 2 * entries.count)
        }
        entries.append(Entry(since: job.waitingSince, job: job))
        var place = entries.count - 1
        while place > 0, entries[place].since < entries[(place - 1) / 2].since {
            entries.swapAt(place, (place - 1) / 2)
            place = (place - 1) / 2
        }
    }

    /// Since when the oldest waiting job waits; nil if none does.
    mutating func first(waits: (JobEntry, Int64) -> Bool) -> Int64? {
        while let first = entries.first {
            if waits(first.job, first.since) { return first.since }
            removeFirst()
        }
        return nil
    }

    private mutating func removeFirst() {
        let last = entries.removeLast()
        guard !entries.isEmpty else { return }
        entries[0] = last
        var place = 0
        while true {
            let below = [2 * place + 1, 2 * place + 2].filter { $0 < entries.count }
            guard let oldest = below.min(by: { entries[$0].since < entries[$1].since }),
                entries[oldest].since < entries[place].since
            else { return }
            entries.swapAt(place, oldest)
            place = oldest
        }
    }
}

extension JobEntry {
    /// Since when it waits, if it does: its acceptance, or the end of its delay.
    package var waitingSince: Int64 { max(job.dueAt ?? 0, job.acceptedAt) }
}

extension JobScheduler {
    /// Begins to note the oldest waiting jobs, or ends that.
    ///
    /// - Complexity: O(jobs in memory).
    package mutating func noteOldestWaiting(_ isWanted: Bool) {
        audience.notesOldestWaiting = isWanted
        for group in served.groups { group.oldestWaiting = isWanted ? OldestWaiting() : nil }
        guard isWanted else { return }
        book.forEachActive { job in
            if isWaiting(job, since: job.waitingSince) { note(waiting: job) }
            return true
        }
    }

    /// Since when the oldest waiting job of a group in memory waits; nil if none does, or it is
    /// not noted.
    package func oldestWaiting(of group: ThreadGroup) -> Int64? {
        group.oldestWaiting?.first { isWaiting($0, since: $1) }
    }

    /// A job waits from now on.
    func note(waiting job: JobEntry) {
        job.group.oldestWaiting?.note(job) { isWaiting($0, since: $1) }
    }

    private func isWaiting(_ job: JobEntry, since moment: Int64) -> Bool {
        guard book.active(job.id) === job, job.waitingSince == moment else { return false }
        switch job.place {
        case .inLine, .heldUp, .suspended: return true
        case .offered: return beginning(of: job) == nil
        case .outside, .committing, .delayed, .buffered: return false
        }
    }

    /// How many jobs of a group wait for their moment.
    package func delayedCount(of group: ThreadGroup) -> Int {
        group.names.reduce(group.load.parked(.delayed).count) {
            $0 + book.count(thread: $1, state: .delayed)
        }
    }
}
