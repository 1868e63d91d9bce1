// The state of the scheduler and its threads, for INFO, THREADS and listings of stuck jobs.

internal import Jobs
internal import Kernel
internal import Synchronization
internal import WorkerThreads

extension SchedulerDriver {
    var wall: WallTime { clocks.wall }

    /// Keeps the latest events for their readers, within other limits if that has begun.
    func keepEvents(within limits: Configuration.Limits, epoch: String) {
        if let events {
            return events.limit(countMax: limits.events, byteCountMax: limits.eventBytes)
        }
        guard limits.events > 0 else { return }
        events = EventJournal(
            epoch: epoch, countMax: limits.events, byteCountMax: limits.eventBytes, loop: loop
        ) { [unowned self] isWanted in
            scheduler.audience.followsChanges = isWanted
            reportBeginnings()
            // Running jobs have begun without a report.
            if isWanted { input { $0.noteRunning() } }
        }
    }

    /// Tells the live view of changes, or nothing any more.
    func followLive(_ board: LiveBoard?) {
        live = board
        scheduler.noteOldestWaiting(board != nil)
        reportBeginnings()
    }

    /// Has threads report the beginnings of jobs while a reader wants that.
    func reportBeginnings() {
        let isWanted = scheduler.audience.followsChanges || live != nil
        for group in groups { group.beginnings.report(to: isWanted ? runner?.reports : nil) }
    }

    /// Sends a client the rows of a listing; goes on with it unless they are the last ones.
    func tell(_ listing: Listing) {
        let isWanted = door.add(
            listing.rows, tellsFailures: listing.tellsFailures, to: listing.reply)
        guard isWanted else { return }
        if listing.isEnd { return door.answer(listing.reply, .listed) }
        let confined = Confined((driver: self, listing: listing), to: loop)
        loop.perform { confined.value.driver.input { $0.goOn(confined.value.listing) } }
    }

    /// Whether new jobs are refused.
    var isRefusing: Bool { scheduler.stage.isRefusing }

    /// Tells a client nothing more of jobs.
    ///
    /// - Returns: how many it watched.
    @discardableResult
    func stopWatching(_ client: UInt64) -> Int {
        input { $0.audience.watches.removeAll(of: client) }
    }

    /// The threads behind a group's or a member's name.
    func group(of thread: String) throws(JobError) -> WorkerGroup {
        guard let known = scheduler.knownGroup(of: thread) else {
            throw JobError.unknownThread(thread)
        }
        return groupsByIndex[known.index]
    }

    /// How many jobs wait for the threads of a group, in memory or not: none that waits for its
    /// moment.
    func shownWaitingCount(of group: WorkerGroup) -> Int {
        scheduler.knownGroup(of: group.name).map { scheduler.shownWaitingCount(of: $0) } ?? 0
    }

    /// Whether all waiting jobs of an idle thread are held up.
    func isHeldUp(_ member: WorkerGroup.Member, of group: WorkerGroup) -> Bool {
        scheduler.knownGroup(of: group.name)
            .map { scheduler.isHeldUp(member.name, of: $0) } == true
    }

    /// Whether a job runs that was to end some time ago.
    func isStuck(_ id: JobID) -> Bool { scheduler.book.active(id)?.stuckSince != nil }

    /// How many such jobs there are.
    var stuckCount: Int {
        groupsByIndex.flatMap(\.members).count { member in
            member.current.withLock { $0 }.map { isStuck(JobID($0.id)) } == true
        }
    }

    /// The jobs that are stuck, the newest first.
    func listStuck(
        thread: String?, limit: Int, in span: JobSpan, where filter: JobFilter
    ) -> [JobStatus] {
        input { $0.noteRunning() }
        let running = groupsByIndex.flatMap(\.members).compactMap { $0.current.withLock { $0?.id } }
        let stuck = running.map { JobID($0) }.filter(isStuck).compactMap { scheduler.book.job($0) }
        let chosen = stuck.filter {
            (thread == nil || $0.thread == thread) && span.contains($0.id) && filter.passes($0)
        }
        return span.sorted(chosen, limit: limit).map { scheduler.description(of: $0) }
    }
}
