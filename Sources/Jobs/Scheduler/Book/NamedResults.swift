// Ended jobs to which unique names lead: kept as long as their names, within a limit of bytes.

internal import Structures

/// Ended jobs in the order in which their names end.
///
/// - Complexity: O(log count) for everything.
package struct NamedResults {
    /// The bytes that each counts beside its result: the limit of bytes bounds their number too.
    package static let overheadByteCount = 256
    /// How many are dropped at once, where a drop is a change of a store.
    package static let dropCountMax = 256

    private struct Entry {
        let id: JobID
        let byteCount: Int
    }

    /// The most bytes of their results.
    package var byteCountMax: Int
    private var entries = TimerHeap<Entry>()
    /// The bytes of their results.
    package private(set) var byteCount = 0

    package init(byteCountMax: Int) { self.byteCountMax = byteCountMax }

    package var count: Int { entries.count }

    /// Whether so many results are within a limit.
    package static func isWithin(_ byteCountMax: Int, byteCount: Int, count: Int) -> Bool {
        byteCount + count * overheadByteCount <= byteCountMax
    }

    package mutating func append(_ id: JobID, until: Int64, byteCount: Int) {
        _ = entries.insert(
            fire: until, latest: until, payload: Entry(id: id, byteCount: byteCount))
        self.byteCount += byteCount
    }

    /// Drops the job whose name ends first, if that has ended or there are too many bytes.
    package mutating func popDue(at now: Int64) -> JobID? {
        guard let until = entries.firstFire, let handle = entries.firstHandle else { return nil }
        let isWithin = Self.isWithin(byteCountMax, byteCount: byteCount, count: count)
        guard until <= now || !isWithin, let entry = entries.remove(handle) else { return nil }
        byteCount -= entry.byteCount
        return entry.id
    }
}
