// The ended jobs that are kept, and which of them are dropped next. Their entries are in memory, so
// that no search among the rows is needed to drop the oldest.

internal import Jobs
internal import Journals

/// The ended jobs in the table.
///
/// Changes of a transaction count only once it is committed.
///
/// - Thread: the journal's.
struct KeptEnds {
    /// Jobs that unique names lead to.
    struct Named: Equatable {
        var count = 0
        var byteCount = 0
        /// None of them is kept until an earlier moment.
        var nextUntil = Int64.max

        mutating func add(_ byteCount: Int, until: Int64) {
            count += 1
            self.byteCount += byteCount
            nextUntil = min(nextUntil, until)
        }
    }

    private var ended: RetainedJobs
    private var failed: RetainedJobs
    private(set) var named = Named()

    // Of the open transaction.
    private var newlyEnded: [RetainedJobs.Entry] = []
    private var newlyFailed: [RetainedJobs.Entry] = []
    private var newlyNamed: [JobID] = []
    private var noLongerFailed: [RetainedJobs.Entry] = []
    private var droppedCount = 0
    private var droppedFailureCount = 0
    private var namedBefore = Named()

    // Of before the opening, until all are read.
    private var earlierEnded: [RetainedJobs.Entry] = []
    private var earlierFailed: [RetainedJobs.Entry] = []
    private var unreadPages: Range<Int>
    /// Jobs that have ended since, which are known already.
    private var endedSince: Set<JobID> = []

    /// - Parameter earlierPageCount: how many pages of the table may have jobs.
    init(_ limits: StoreLimits, earlierPageCount: Int) {
        ended = .ended(within: limits)
        failed = .failed(within: limits)
        unreadPages = 0..<earlierPageCount
    }

    mutating func limit(_ limits: StoreLimits) {
        ended.takeLimits(of: .ended(within: limits))
        failed.takeLimits(of: .failed(within: limits))
    }

    // MARK: - A transaction

    /// Begins a transaction.
    ///
    /// - Returns: the jobs to be dropped by it.
    mutating func begin(at now: Int64) -> [JobID] {
        newlyEnded.removeAll(keepingCapacity: true)
        newlyFailed.removeAll(keepingCapacity: true)
        newlyNamed.removeAll(keepingCapacity: true)
        noLongerFailed.removeAll(keepingCapacity: true)
        (droppedCount, droppedFailureCount) = (0, 0)
        namedBefore = named
        guard areAllKnown else { return [] }
        let (due, dueFailures) = (ended.due(at: now), failed.due(at: now))
        (droppedCount, droppedFailureCount) = (due.count, dueFailures.count)
        return due.map(\.id) + dueFailures.map(\.id)
    }

    /// Adds jobs that the transaction has ended.
    ///
    /// - Parameter rows: the result of `ChangedRows.end`.
    mutating func noteEnded(_ rows: Rows) {
        for row in rows.all {
            let entry = RetainedJobs.Entry(
                id: JobColumns.id(row), endedAt: row.integer(1), byteCount: Int(row.integer(2)))
            if row.isTrue(3) {
                newlyFailed.append(entry)
            } else if let until = row.optionalInteger(4) {
                newlyNamed.append(entry.id)
                named.add(entry.byteCount, until: until)
            } else {
                newlyEnded.append(entry)
            }
        }
    }

    /// A failed job is no longer among the ended ones.
    mutating func forgetFailed(_ entry: RetainedJobs.Entry) { noLongerFailed.append(entry) }

    /// Drops named jobs from the count.
    mutating func dropNamed(count: Int, byteCount: Int, nextUntil: Int64) {
        named.count -= count
        named.byteCount -= byteCount
        named.nextUntil = nextUntil
    }

    /// The transaction was committed.
    mutating func commit() {
        ended.dropFirst(droppedCount)
        failed.dropFirst(droppedFailureCount)
        for entry in newlyEnded { ended.append(entry) }
        for entry in newlyFailed { failed.append(entry) }
        if !areAllKnown {
            endedSince.formUnion((newlyEnded + newlyFailed).map(\.id) + newlyNamed)
        }
        for entry in noLongerFailed {
            if areAllKnown || endedSince.contains(entry.id) {
                failed.remove(entry)
            } else {
                // It was read already, or its row is not there any more.
                earlierFailed.removeAll { $0 == entry }
            }
        }
    }

    /// The transaction has changed nothing.
    mutating func rollBack() { named = namedBefore }

    // MARK: - Before the opening

    /// Whether all jobs of before the opening are read.
    var areAllKnown: Bool { unreadPages.isEmpty }

    /// The pages of the table that are to be read next; nil if all are read.
    func nextPages(atMost count: Int) -> Range<Int>? {
        areAllKnown ? nil : unreadPages.prefix(count)
    }

    /// Adds the rows of pages.
    mutating func addEarlier(_ rows: Rows, of pages: Range<Int>) {
        for row in rows.all {
            let entry = RetainedJobs.Entry(
                id: JobColumns.id(row), endedAt: row.integer(1), byteCount: Int(row.integer(2)))
            guard !endedSince.contains(entry.id) else { continue }
            if row.isTrue(3) {
                earlierFailed.append(entry)
            } else if let until = row.optionalInteger(4) {
                named.add(entry.byteCount, until: until)
            } else {
                earlierEnded.append(entry)
            }
        }
        unreadPages = pages.upperBound..<unreadPages.upperBound
        guard areAllKnown else { return }
        ended.prepend(Self.inOrder(earlierEnded))
        failed.prepend(Self.inOrder(earlierFailed))
        (earlierEnded, earlierFailed, endedSince) = ([], [], [])
    }

    private static func inOrder(_ jobs: [RetainedJobs.Entry]) -> [RetainedJobs.Entry] {
        jobs.sorted { ($0.endedAt, $0.id) < ($1.endedAt, $1.id) }
    }
}
