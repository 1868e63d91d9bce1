// The unique names of jobs in memory only: the latest of them. A store keeps those of its jobs.

internal import Structures

/// Leads from names to the jobs that have them, for a while and as long as they have not ended.
///
/// Invariant: at most `countMax` names.
package struct UniqueNames {
    private struct Entry {
        let id: JobID
        let acceptedAt: Int64
    }

    private let countMax: Int
    private let milliseconds: Int64
    private var entries: [[UInt8]: Entry] = [:]
    private var names = FIFO<(name: [UInt8], id: JobID)>()

    /// No names.
    ///
    /// - Parameters:
    ///   - countMax: of more names, the oldest are forgotten.
    ///   - milliseconds: for how long a name is remembered, and as long as its job has not ended.
    package init(countMax: Int = 100_000, milliseconds: Int64) {
        self.countMax = countMax
        self.milliseconds = milliseconds
    }

    /// How many names are remembered.
    package var count: Int { entries.count }

    /// The job that has a name.
    package func job(
        named name: [UInt8], at now: Int64, isLive: (JobID) -> Bool
    ) -> JobID? {
        guard let entry = entries[name] else { return nil }
        let isRemembered = now - entry.acceptedAt < milliseconds
        return isRemembered || isLive(entry.id) ? entry.id : nil
    }

    /// Gives a name to a new job.
    package mutating func give(_ name: [UInt8], to id: JobID, at now: Int64) {
        entries[name] = Entry(id: id, acceptedAt: now)
        names.append((name, id))
        while names.count > countMax, let oldest = names.popFirst() {
            // It may have been given anew since.
            if entries[oldest.name]?.id == oldest.id { entries[oldest.name] = nil }
        }
    }
}
