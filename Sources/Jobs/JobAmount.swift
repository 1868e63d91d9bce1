// Amounts of jobs, as limits count them.

/// A number of jobs, and the bytes of their payloads.
@usableFromInline
package struct JobAmount: Hashable, Sendable {
    @usableFromInline package var count = 0
    @usableFromInline package var byteCount = 0

    /// Nothing.
    @inlinable
    package init() {}

    /// An amount of jobs with these bytes in total.
    @inlinable
    package init(count: Int, byteCount: Int) {
        self.count = count
        self.byteCount = byteCount
    }

    /// One job with a payload of this size.
    @inlinable
    package static func one(_ byteCount: Int) -> JobAmount {
        JobAmount(count: 1, byteCount: byteCount)
    }

    @inlinable
    package static func += (amount: inout JobAmount, more: JobAmount) {
        amount.count += more.count
        amount.byteCount += more.byteCount
    }

    /// Takes an amount from a budget, which may go below zero.
    @inlinable
    package static func -= (budget: inout JobAmount, used: JobAmount) {
        budget.count -= used.count
        budget.byteCount -= used.byteCount
    }

    /// Takes an amount from a count, but not below zero.
    ///
    /// - Returns: false if there was less than that: a miscount, which the caller reports.
    @inlinable
    package mutating func subtract(_ less: JobAmount) -> Bool {
        let hasEnough = count >= less.count && byteCount >= less.byteCount
        count = max(0, count - less.count)
        byteCount = max(0, byteCount - less.byteCount)
        return hasEnough
    }
}

/// The place of a delayed job among those of its queue: by its time, then by its number.
package struct DueKey: Comparable, Hashable, Sendable {
    package let dueAt: Int64
    package let id: JobID

    /// The place of a job.
    package init(dueAt: Int64, id: JobID) {
        self.dueAt = dueAt
        self.id = id
    }

    /// In front of every job.
    package static let first = DueKey(dueAt: .min, id: JobID(0))
    /// Behind every job.
    package static let last = DueKey(dueAt: .max, id: JobID(.max))

    package static func < (left: DueKey, right: DueKey) -> Bool {
        left.dueAt != right.dueAt ? left.dueAt < right.dueAt : left.id < right.id
    }
}
