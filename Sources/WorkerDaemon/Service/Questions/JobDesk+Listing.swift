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
    /// Takes the next jobs; returns whether more are wanted.
    fileprivate let take: ([Job]) -> Bool
    fileprivate let body: (Result<Void, JobError>) -> Void

    /// - Parameters:
    ///   - take: told some jobs at a time, the newest first; returns whether more are wanted.
    ///   - body: told when all have been told, or why not.
    init(
        thread: String?, state: JobState?, limit: Int, take: @escaping ([Job]) -> Bool,
        then body: @escaping (Result<Void, JobError>) -> Void
    ) {
        self.thread = thread
        self.state = state
        left = limit
        self.take = take
        self.body = body
    }

    fileprivate var sliceCount: Int { min(left, Self.sliceCount) }
}

extension JobDesk {
    /// Jobs in memory that one turn looks at.
    private static let searchCountMax = 4_096

    /// Lists the newest jobs.
    func list(_ listing: Listing) {
        guard listing.left > 0 else { return listing.body(.success(())) }
        guard let durable else { return tell(ListedJobs(), of: listing) }
        let count = listing.sliceCount
        let wanted = JobListing(
            queues: queues(for: listing, durable), thread: listing.thread, state: listing.state,
            before: listing.end, limit: count)
        let ticket = durable.expect(
            .listed { [unowned self] result in
                switch result {
                case .failure(let fault): listing.body(.failure(Self.busy(fault)))
                case .success(let stored): tell(stored, of: listing)
                }
            })
        tell(.list(wanted, ticket: ticket))
    }

    /// The queues in which the store may have jobs for a listing.
    private func queues(for listing: Listing, _ durable: DurableJobs) -> [QueueName] {
        guard listing.state?.isEnded != true else { return [] }
        let thread = listing.thread
        var queues = durable.orphans.queues(of: thread)
        if durable.load.all.count > 0 || durable.unserved.count > 0 {
            queues += durable.backlogs.keys.filter { thread == nil || $0.thread == thread }
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
        guard listing.take(slice) else { return }
        guard listing.left > 0, isCut || first > JobID(0) else { return listing.body(.success(())) }
        let desk = Confined((desk: self, listing: listing), to: loop)
        loop.perform { desk.value.desk.list(desk.value.listing) }
    }
}
