// Listings of jobs, in memory and in the store, slice by slice: a long one takes many turns of the
// store and of the driver, so that others are served in between.
//
// Slices go from the newest job to the oldest, or the other way. A slice ends at the last job that
// the store has told; the jobs in memory up to there are merged into it. A job never changes its
// number, so it is in one slice, whatever happens to it meanwhile.

/// A listing under way.
///
/// Confined to its scheduler.
package final class Listing {
    /// Jobs that are looked for in one turn.
    private static let sliceCount = 256

    let thread: String?
    let state: JobState?
    let filter: JobFilter
    /// Whether the rows of failed jobs have their reasons.
    package let tellsFailures: Bool
    /// The span of the jobs that are still to be listed.
    fileprivate(set) var span: JobSpan
    /// How many jobs are still wanted.
    fileprivate var left: Int
    package let reply: ReplyToken
    /// The rows of the last slice.
    package fileprivate(set) var rows: [JobStatus] = []
    /// Whether no rows follow.
    package fileprivate(set) var isEnd = false

    /// A listing of jobs in a span.
    package init(
        thread: String?, state: JobState?, limit: Int, in span: JobSpan = JobSpan(),
        where filter: JobFilter = JobFilter(), tellsFailures: Bool = false, _ reply: ReplyToken
    ) {
        self.thread = thread
        self.state = state
        self.filter = filter
        self.tellsFailures = tellsFailures
        self.span = span
        left = limit
        self.reply = reply
    }

    /// Few jobs may pass a filter, so that a slice for the last row is as large as any.
    fileprivate var sliceCount: Int {
        filter.isEmpty ? min(left, Self.sliceCount) : Self.sliceCount
    }
}

extension JobScheduler {
    /// Jobs in memory that one turn looks at.
    private static var searchCountMax: Int { 4_096 }

    /// Makes the next rows of a listing.
    package mutating func goOn(_ listing: Listing) {
        guard listing.left > 0, !listing.isEnd else {
            return effects.answer(listing.reply, .listed)
        }
        let wanted = JobListing(
            queues: queues(for: listing), thread: listing.thread, state: listing.state,
            in: listing.span, limit: listing.sliceCount,
            hasReasons: listing.tellsFailures || listing.filter.failure != nil)
        ask(.list(listing)) { .list(wanted, ticket: $0) }
    }

    /// The store has told its next jobs.
    mutating func listed(_ listing: Listing, _ result: Result<ListedJobs, StoreFault>) {
        switch result {
        case .failure(let fault):
            effects.answer(listing.reply, .failed(.storeFailed(fault)))
        case .success(let stored): merge(stored, into: listing)
        }
    }

    /// The queues in which the store may have jobs for a listing.
    private func queues(for listing: Listing) -> [QueueName] {
        guard listing.state?.isEnded != true else { return [] }
        let thread = listing.thread
        var names = queues.orphans.queues(of: thread)
        if queues.load.all.count > 0 || queues.unserved.count > 0 {
            names += queues.all.filter { !$0.isOrphaned }.map(\.name)
                .filter { thread == nil || PoolSlot.shown($0.thread) == thread }
        }
        return names
    }

    /// Makes the next rows.
    ///
    /// - Parameter stored: the next stored jobs, in the order of the listing.
    private mutating func merge(_ stored: ListedJobs, into listing: Listing) {
        noteRunning()
        forgetExpired()
        let count = listing.sliceCount
        // One more, to see whether it is the end.
        let span = listing.span
        let known = book.jobs(
            thread: listing.thread, state: listing.state, in: span, through: stored.searched,
            limit: count + 1, searchCountMax: Self.searchCountMax)
        let last = known.searched
        var slice = known.jobs
        // Now, and not when it was asked: a job that was loaded meanwhile is parked no more.
        slice += stored.jobs.filter {
            !span.precedes(last, $0.id) && book.state(of: $0.id) == nil
                && !book.limits.haveExpired(for: $0, at: now.unixMilliseconds)
        }
        slice.sort { span.precedes($0.id, $1.id) }
        let isCut = slice.count > count
        if isCut { slice.removeLast(slice.count - count) }
        var place = isCut ? slice.last?.id ?? last : last
        var rows = slice.filter { listing.filter.passes($0) }
        if rows.count > listing.left {
            rows.removeLast(rows.count - listing.left)
            place = rows.last?.id ?? place
        }
        listing.span.goOn(behind: place)
        listing.left -= rows.count
        listing.rows = rows.map { description(of: $0) }
        listing.isEnd = listing.left == 0 || !isCut && last == span.end
        effects.append(.rows(listing))
    }
}
