// The ended jobs of one kind that are kept, within limits of their count, their bytes and their
// age. The oldest is dropped first; any of them may be removed before.

internal import Structures

/// Ended jobs in the order in which they will be dropped.
///
/// - Complexity: O(1) for everything but `due`, which is O(returned and removed entries).
package struct RetainedJobs: Sendable {
    /// A job that has ended.
    package struct Entry: Hashable {
        package let id: JobID
        package let endedAt: Int64
        package let byteCount: Int

        package init(id: JobID, endedAt: Int64, byteCount: Int) {
            self.id = id
            self.endedAt = endedAt
            self.byteCount = byteCount
        }
    }

    private var countMax: Int
    private var byteCountMax: Int
    private var milliseconds: Int64
    private var entries = FIFO<Entry>()
    /// Removed entries that are still in `entries`, and how often.
    private var gone: [Entry: Int] = [:]
    private var goneCount = 0
    /// How many bytes the kept ones have together.
    package private(set) var byteCount = 0

    package init(countMax: Int, byteCountMax: Int, milliseconds: Int64) {
        self.countMax = countMax
        self.byteCountMax = byteCountMax
        self.milliseconds = milliseconds
    }

    /// Jobs that are done, cancelled or expired, within the limits of a store.
    package static func ended(within limits: StoreLimits) -> RetainedJobs {
        RetainedJobs(
            countMax: limits.retainedCountMax, byteCountMax: limits.retainedByteCountMax,
            milliseconds: limits.retainedMilliseconds)
    }

    /// Failed jobs, within the limits of a store.
    package static func failed(within limits: StoreLimits) -> RetainedJobs {
        RetainedJobs(
            countMax: limits.failedCountMax, byteCountMax: limits.failedByteCountMax,
            milliseconds: limits.failedMilliseconds)
    }

    /// Keeps within the limits of another one from now on.
    package mutating func takeLimits(of other: RetainedJobs) {
        (countMax, byteCountMax, milliseconds) =
            (other.countMax, other.byteCountMax, other.milliseconds)
    }

    /// How many are kept.
    package var count: Int { entries.count - goneCount }

    /// Whether there is nothing to look at.
    var isEmpty: Bool { entries.isEmpty }

    package mutating func append(_ entry: Entry) {
        entries.append(entry)
        byteCount += entry.byteCount
    }

    /// Keeps others that go before all that are there, which may have been taken out already.
    package mutating func prepend(_ earlier: [Entry]) {
        for entry in earlier.reversed() {
            entries.prepend(entry)
            byteCount += entry.byteCount
        }
        dropGoneInFront()
    }

    /// Takes out one that is kept.
    package mutating func remove(_ entry: Entry) {
        gone[entry, default: 0] += 1
        goneCount += 1
        byteCount -= entry.byteCount
        dropGoneInFront()
    }

    /// Each search for due entries would read the removed ones again.
    private mutating func dropGoneInFront() {
        guard goneCount > 0 else { return }
        while let first = entries.first, gone[first] != nil { dropGone(first) }
    }

    /// So many are dropped at a time: after a long stop, all may be due.
    package static let dueCountMax = 10_000

    /// The entries over the limits, the oldest first; `dueCountMax` of them if there are more.
    package func due(at now: Int64) -> [Entry] {
        var due: [Entry] = []
        var gone = gone
        var left = (count: count, byteCount: byteCount)
        for entry in entries {
            if let count = gone[entry] {
                gone[entry] = count == 1 ? nil : count - 1
                continue
            }
            guard due.count < Self.dueCountMax else { break }
            let isWithinLimits = left.count <= countMax && left.byteCount <= byteCountMax
            guard now - entry.endedAt >= milliseconds || !isWithinLimits else { break }
            due.append(entry)
            left = (left.count - 1, left.byteCount - entry.byteCount)
        }
        return due
    }

    /// Drops the first one if it has to go.
    package mutating func popDue(at now: Int64) -> Entry? {
        while let first = entries.first {
            if goneCount > 0, gone[first] != nil {
                dropGone(first)
                continue
            }
            let isWithinLimits = count <= countMax && byteCount <= byteCountMax
            guard now - first.endedAt >= milliseconds || !isWithinLimits else { return nil }
            _ = entries.popFirst()
            byteCount -= first.byteCount
            return first
        }
        return nil
    }

    private mutating func dropGone(_ first: Entry) {
        _ = entries.popFirst()
        gone[first] = gone[first].flatMap { $0 == 1 ? nil : $0 - 1 }
        goneCount -= 1
    }

    /// Drops the oldest entry that is kept.
    package mutating func dropFirst(_ dropCount: Int) {
        var dropped = 0
        while dropped < dropCount, let entry = entries.first {
            if gone[entry] != nil {
                dropGone(entry)
            } else {
                _ = entries.popFirst()
                byteCount -= entry.byteCount
                dropped += 1
            }
        }
    }
}
