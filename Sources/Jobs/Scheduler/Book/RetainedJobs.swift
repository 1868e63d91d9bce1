// Which ended jobs of one kind are kept: as many, as much and as long as their limits allow. Those that
// ended first are dropped first; any may be taken out before.

internal import Structures

/// Ended jobs in the order in which they will be dropped.
///
/// - Complexity: O(1) for everything but `due`, which is O(what it returns and what was taken out).
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

    private let countMax: Int
    private let byteCountMax: Int
    private let milliseconds: Int64
    private var entries = FIFO<Entry>()
    /// What was taken out and is still among the entries, and how often.
    private var gone: [Entry: Int] = [:]
    private var goneCount = 0
    /// How many bytes the kept ones have together.
    package private(set) var byteCount = 0

    package init(countMax: Int, byteCountMax: Int, milliseconds: Int64) {
        self.countMax = countMax
        self.byteCountMax = byteCountMax
        self.milliseconds = milliseconds
    }

    /// Those that ended otherwise than by failing, within the limits of a store.
    package static func ended(within limits: StoreLimits) -> RetainedJobs {
        RetainedJobs(
            countMax: limits.retainedCountMax, byteCountMax: limits.retainedByteCountMax,
            milliseconds: limits.retainedMilliseconds)
    }

    /// Those that have failed, within the limits of a store.
    package static func failed(within limits: StoreLimits) -> RetainedJobs {
        RetainedJobs(
            countMax: limits.failedCountMax, byteCountMax: limits.failedByteCountMax,
            milliseconds: limits.failedMilliseconds)
    }

    /// How many are kept.
    package var count: Int { entries.count - goneCount }

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

    /// Whoever looks for those that have to go would pass by these each time.
    private mutating func dropGoneInFront() {
        guard goneCount > 0 else { return }
        while let first = entries.first, gone[first] != nil { dropGone(first) }
    }

    /// Those that have to go, in their order.
    package func due(at now: Int64) -> [Entry] {
        var due: [Entry] = []
        var gone = gone
        var left = (count: count, byteCount: byteCount)
        for entry in entries {
            if let count = gone[entry] {
                gone[entry] = count == 1 ? nil : count - 1
                continue
            }
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
            if gone[first] != nil {
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

    /// Drops the first of those that are kept.
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
