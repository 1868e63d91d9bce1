// Listings of jobs, in memory and in the store, slice by slice: a long one takes many turns of the store and
// of the loop, so that others are served in between.
//
// Slices go from the newest job to the oldest. A slice ends at the number of the last job that the store has
// told; the jobs that memory has down to there are merged into it. A job never changes its number, so that it
// is in one slice, wherever it goes meanwhile.

internal import Jobs
internal import Kernel
internal import RunLoops

/// A listing under way.
///
/// Confined to the desk's thread.
final class Listing {
    /// Jobs that are looked for in one turn.
    private static let sliceCount = 256

    let thread: String?
    let state: JobState?
    /// Numbers from here on have been listed.
    fileprivate(set) var end = JobID.max
    /// How many jobs are still wanted.
    fileprivate var left: Int
    fileprivate let reply: ReplyToken

    fileprivate init(thread: String?, state: JobState?, limit: Int, _ reply: ReplyToken) {
        self.thread = thread
        self.state = state
        left = limit
        self.reply = reply
    }

    fileprivate var sliceCount: Int { min(left, Self.sliceCount) }
}

extension JobDesk {
    /// Jobs in memory that one turn looks at.
    private static let searchCountMax = 4_096

    /// Lists the newest jobs: some rows at a time, and then answers.
    func list(thread: String?, state: JobState?, limit: Int, _ reply: ReplyToken) {
        goOn(Listing(thread: thread, state: state, limit: limit, reply))
    }

    private func goOn(_ listing: Listing) {
        guard listing.left > 0 else { return door.answer(listing.reply, .listed) }
        let wanted = JobListing(
            queues: queues(for: listing), thread: listing.thread, state: listing.state,
            before: listing.end, limit: listing.sliceCount)
        ask(.list(listing)) { .list(wanted, ticket: $0) }
    }

    /// The store has told its next jobs.
    func listed(_ listing: Listing, _ result: Result<ListedJobs, StoreFault>) {
        switch result {
        case .failure(let fault): door.answer(listing.reply, .failed(.storeFailed(fault)))
        case .success(let stored): tell(stored, of: listing)
        }
    }

    /// The queues in which the store may have jobs for a listing.
    private func queues(for listing: Listing) -> [QueueName] {
        guard listing.state?.isEnded != true else { return [] }
        let thread = listing.thread
        var queues = stored.orphans.queues(of: thread)
        if stored.load.all.count > 0 || stored.unserved.count > 0 {
            queues += stored.backlogs.keys.filter { thread == nil || $0.thread == thread }
        }
        return queues
    }

    /// Tells the next jobs of a listing.
    ///
    /// - Parameter stored: the newest of those that the store has.
    private func tell(_ stored: ListedJobs, of listing: Listing) {
        noteRunning()
        forgetExpired()
        let count = listing.sliceCount
        // One more, to see whether it is the end.
        let known = store.newest(
            thread: listing.thread, state: listing.state, in: stored.searched..<listing.end,
            limit: count + 1, searchCountMax: Self.searchCountMax)
        let first = known.searched
        var slice = known.jobs
        let now = wall.unixMilliseconds()
        // Now, and not when it was asked: what was brought meanwhile is parked no more.
        slice += stored.jobs.filter {
            first <= $0.id && store.state(of: $0.id) == nil
                && !store.limits.haveExpired(for: $0, at: now)
        }
        slice.sort { $1.id < $0.id }
        let isCut = slice.count > count
        if isCut { slice.removeLast(slice.count - count) }
        listing.left -= slice.count
        listing.end = isCut ? slice.last?.id ?? first : first
        guard door.add(slice.map(description), to: listing.reply) else { return }
        guard listing.left > 0, isCut || first > JobID(0) else {
            return door.answer(listing.reply, .listed)
        }
        let desk = Confined((desk: self, listing: listing), to: loop)
        loop.perform { desk.value.desk.goOn(desk.value.listing) }
    }
}
