// The unique names of jobs in memory only: the latest of them. A store keeps those of its jobs.

internal import Structures

/// Leads from names to the jobs that have them, for a while and as long as they have not ended.
///
/// Invariant: at most `countMax` names.
package struct UniqueNames {
    private struct Entry {
        let id: JobID
        let until: Int64
        let fingerprint: UInt64
    }

    private let countMax: Int
    private var entries: [[UInt8]: Entry] = [:]
    private var names = FIFO<(name: [UInt8], id: JobID)>()

    /// No names.
    ///
    /// - Parameter countMax: of more names, the oldest are forgotten.
    package init(countMax: Int = 100_000) { self.countMax = countMax }

    /// How many names are remembered.
    package var count: Int { entries.count }

    /// The job that has the claimed name; nil if none has, or a new one may have it.
    package func job(of claim: NameClaim, at now: Int64, isLive: (JobID) -> Bool) -> NamedJob? {
        guard let entry = entries[claim.name] else { return nil }
        guard !claim.isAgain && now < entry.until || isLive(entry.id) else { return nil }
        return NamedJob(entry.id, isSame: entry.fingerprint == claim.fingerprint)
    }

    /// Gives a name to a new job.
    package mutating func give(_ claim: NameClaim, to id: JobID) {
        entries[claim.name] = Entry(
            id: id, until: claim.until, fingerprint: claim.fingerprint)
        names.append((claim.name, id))
        while names.count > countMax, let oldest = names.popFirst() {
            // It may have been given anew since.
            if entries[oldest.name]?.id == oldest.id { entries[oldest.name] = nil }
        }
    }
}
