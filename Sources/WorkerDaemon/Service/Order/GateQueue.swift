// Which jobs are on their way through a gate, so that who closes it finds them without asking all others.
//
// Nobody takes himself out: a job ends in many ways, and each of them would have to think of it. What has
// ended or was taken back stays as an entry that leads nowhere, until such entries are as many as the rest.

internal import Jobs
internal import Structures

/// The jobs of one order that were handed to their lane, in the sequence in which they were.
struct GateQueue: Sendable {
    /// A job that was handed to its lane.
    struct Entry: Sendable {
        let id: JobID
        /// How often it had been by then: of several entries of one job the last counts.
        let turn: UInt32
    }

    private var entries = ShortList<Entry>()
    private var sweepCount = Self.sweepCountMin
    /// So few are never looked through.
    private static let sweepCountMin = 16

    /// All entries, some of which lead nowhere any more.
    var all: [Entry] { Array(entries) }

    /// Adds a job that was handed to its lane just now.
    ///
    /// - Parameters:
    ///   - liveCount: how many jobs there are, of all orders: no more entries can count.
    ///   - counts: whether an entry still leads to a job.
    /// - Complexity: O(1) on average: half of those that are looked at are dropped.
    mutating func append(_ entry: Entry, liveCount: Int, where counts: (Entry) -> Bool) {
        entries.append(entry)
        // The second: of a burst that is over nothing is kept.
        if entries.count >= max(Self.sweepCountMin, min(sweepCount, 2 * liveCount)) {
            keep(where: counts)
        }
    }

    /// Drops the entries that lead nowhere.
    mutating func keep(where counts: (Entry) -> Bool) {
        let kept = entries.filter(counts)
        entries.removeAll()
        for entry in kept { entries.append(entry) }
        sweepCount = max(Self.sweepCountMin, 2 * kept.count)
    }
}
