// The unique names of jobs in memory only: the latest of them. A store keeps those of its jobs.

internal import Structures

/// Leads from names to the jobs that have them, for a while and as long as they have not ended.
///
/// Invariant: at most `countMax` names.
/// - Complexity: O(log count) for a new name, O(1) for a question.
package struct UniqueNames {
    private struct Entry {
        let name: [UInt8]
        let id: JobID
        let until: Int64
        let fingerprint: UInt64
        let end: TimerHeap<[UInt8]>.Handle
    }

    private let countMax: Int
    private var slots: [[UInt8]: Int] = [:]
    private var entries = LinkedSlots<Entry>()
    /// The entries in the order in which the names were given.
    private var ages = LinkedSlots<Entry>.Chain()
    /// The names, by the time at which they may be forgotten.
    private var ends = TimerHeap<[UInt8]>()

    /// How long the name of a job is kept that has not ended in time, until the next look at it.
    private static let nextLookMilliseconds: Int64 = 60_000

    /// No names.
    ///
    /// - Parameter countMax: of more names, the oldest are forgotten.
    package init(countMax: Int = 100_000) { self.countMax = countMax }

    /// How many names are remembered.
    package var count: Int { slots.count }

    /// The job that has the claimed name; nil if none has, or a new one may have it.
    package func job(of claim: NameClaim, at now: Int64, isLive: (JobID) -> Bool) -> NamedJob? {
        guard let slot = slots[claim.name], let entry = entries[slot] else { return nil }
        guard !claim.isAgain && now < entry.until || isLive(entry.id) else { return nil }
        return NamedJob(entry.id, isSame: entry.fingerprint == claim.fingerprint)
    }

    /// Gives a name to a new job.
    package mutating func give(
        _ claim: NameClaim, to id: JobID, at now: Int64, isLive: (JobID) -> Bool
    ) {
        forgetEnded(at: now, isLive: isLive)
        if let slot = slots[claim.name] { forget(slot) }
        let end = ends.insert(fire: claim.until, latest: claim.until, payload: claim.name)
        let entry = Entry(
            name: claim.name, id: id, until: claim.until, fingerprint: claim.fingerprint, end: end)
        slots[claim.name] = entries.append(entry, to: &ages)
        if count > countMax, let oldest = ages.first { forget(oldest) }
    }

    /// Forgets names whose time has passed: two for each new one, so that these never gather.
    private mutating func forgetEnded(at now: Int64, isLive: (JobID) -> Bool) {
        for _ in 0..<2 {
            guard let until = ends.firstFire, until <= now, let end = ends.firstHandle,
                let name = ends.payload(of: end), let slot = slots[name],
                let entry = entries[slot]
            else { return }
            if isLive(entry.id) {
                let next = now + Self.nextLookMilliseconds
                _ = ends.update(end, fire: next, latest: next)
            } else {
                forget(slot)
            }
        }
    }

    private mutating func forget(_ slot: Int) {
        guard let entry = entries.remove(slot, from: &ages) else { return }
        slots[entry.name] = nil
        _ = ends.remove(entry.end)
    }
}
