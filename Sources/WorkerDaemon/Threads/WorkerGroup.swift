// The threads behind one name of the configuration, and the current job of each.

internal import Jobs
internal import Kernel
internal import Synchronization
internal import WorkerThreads

/// One configured thread or pool of threads.
///
/// - Thread: any thread.
final class WorkerGroup: Sendable {
    /// One member: its thread, current job and counts.
    final class Member: Sendable {
        let name: String
        private let present: Mutex<WorkerThread>
        let current = Mutex<JobContext?>(nil)
        let doneCount = Atomic<Int>(0)
        let failedCount = Atomic<Int>(0)

        init(_ thread: WorkerThread) {
            name = thread.name
            present = Mutex(thread)
        }

        /// The thread; another one when it was replaced.
        var thread: WorkerThread { present.withLock { $0 } }

        /// Whether it has no job, and would take one.
        var isFree: Bool {
            let thread = thread
            return current.withLock { $0 } == nil && !thread.isPaused && !thread.isStopped
        }

        fileprivate func replace(by thread: WorkerThread) {
            present.withLock { $0 = thread }
        }
    }

    let name: String
    let pool: WorkerPool
    let members: [Member]
    private let clocks: Clocks
    private let settings: Mutex<Configuration.Thread>
    private let membersByName: [String: Member]
    /// The number of jobs that a member serves until a worker in another process takes them.
    let awaitingWorkerCount = Atomic<Int>(0)
    let beginnings = BeginningReports()

    /// Starts the threads.
    ///
    /// - Throws: when the system has no room for so many threads.
    init(
        _ configuration: Configuration.Thread, _ clocks: Clocks = .system
    ) throws(SystemError) {
        name = configuration.name
        settings = Mutex(configuration)
        self.clocks = clocks
        pool = try WorkerPool(
            name: configuration.name, count: configuration.count, clock: clocks.loop)
        members = pool.members.map { Member($0) }
        membersByName = Dictionary(uniqueKeysWithValues: members.map { ($0.name, $0) })
    }

    /// The group as a scheduler knows it.
    func scheduled(as index: Int, startedAt: Int64) -> ThreadGroup {
        ThreadGroup(
            name: name, memberNames: members.map(\.name), slotCount: configuration.slots,
            maxQueued: maxQueued, maxQueuedByteCount: maxQueuedByteCount, index: index,
            startedAt: startedAt)
    }

    /// The configuration in force, of which a reload may change all but the count.
    var configuration: Configuration.Thread {
        get { settings.withLock { $0 } }
        set { settings.withLock { $0 = newValue } }
    }

    var maxQueued: Int { configuration.maxQueued }
    var maxQueuedByteCount: Int { configuration.maxQueuedBytes }
    var whenStuck: Configuration.Thread.WhenStuck { configuration.whenStuck }
    var stuckAfter: Duration { configuration.stuckAfter }

    /// The member of this name.
    func member(named name: String) -> Member? { membersByName[name] }

    /// Whether all of its threads were told to stop.
    var isStopped: Bool { members.allSatisfy(\.thread.isStopped) }

    /// Ends the threads of a name once their waiting jobs are done.
    func stop(_ name: String) {
        guard name == self.name else {
            member(named: name)?.thread.stop(.finishQueued)
            return
        }
        pool.resume()
        pool.stop(.finishQueued)
    }

    /// Goes on without the thread of a member that does not return from its job.
    ///
    /// - Parameter fresh: a thread of `makeThread` of the pool.
    /// - Returns: the old thread.
    /// - Thread: the driver's.
    func replaceThread(of member: Member, by fresh: WorkerThread) -> WorkerThread {
        // Before: the fresh thread may have begun its first job when this has returned.
        member.current.withLock { $0 = nil }
        guard let old = pool.replaceMember(by: fresh) else {
            fatalError("pool \(name) has no thread \(member.thread.name)")
        }
        member.replace(by: fresh)
        return old
    }

    /// Takes back a job on a member's thread that is too late to begin.
    ///
    /// - Returns: whether it was: then it never runs.
    func expires(_ job: JobContext) -> Bool {
        job.expiresAt != .max && job.expiresAt <= clocks.wall.unixMilliseconds() && job.withdraw()
    }

    /// The member whose thread calls.
    var currentMember: Member {
        if members.count == 1 { return members[0] }
        guard let name = WorkerThread.currentName, let member = membersByName[name] else {
            fatalError("a job of \(self.name) runs on a foreign thread")
        }
        return member
    }

    /// Runs a job to its end on the calling member's thread.
    ///
    /// - Parameters:
    ///   - store: where the beginning is marked; nil for a job in memory only.
    ///   - putBack: called if its program was killed because the store is away; returns whether the
    ///     job waits again.
    /// - Returns: nil when it was withdrawn before, and did not run, was given up while it ran, or
    ///   waits again.
    func run(
        _ job: JobContext, children: ChildRegistry, store: (any JobStore)?, log: Log,
        failures: FailureLog, putBack: (_ thread: String) -> Bool
    ) -> Completion? {
        let member = currentMember
        guard begin(job, on: member, store: store) else { return nil }
        let outcome = job.handler.run(job, children: children, log: log)
        if job.takeLeft(), putBack(member.name) {
            letGo(of: job, member)
            return nil
        }
        return end(job, outcome, on: member, store: store, failures)
    }

    /// Begins a job on a member's thread.
    ///
    /// - Parameters:
    ///   - holder: the worker in another process that gets it; nil for one that runs here.
    ///   - store: where the beginning is marked; nil for a job in memory only.
    /// - Returns: false when it was withdrawn before.
    /// - Thread: the member's, or another one while that waits for it.
    func begin(
        _ job: JobContext, on member: Member, for holder: JobHolder? = nil,
        store: (any JobStore)?
    ) -> Bool {
        let startedAt = clocks.wall.unixMilliseconds()
        let isBegun = job.begin(
            on: member.name, at: startedAt, timeout: job.handler.timeout(of: job.options),
            by: clocks.loop)
        guard isBegun else { return false }
        if let holder { store?.noteHolder(job.id, attempt: job.attempt, holder) }
        store?.noteStart(
            job.id, Attempt(number: job.attempt, workerName: member.name, startedAt: startedAt))
        member.current.withLock { $0 = job }
        beginnings.note(job)
        return true
    }

    /// Ends a job that has begun on a member's thread.
    ///
    /// - Parameter remote: the job as its worker in another process has it.
    /// - Returns: nil when it was given up while it ran.
    /// - Thread: the member's, or another one while that waits for it.
    func end(
        _ job: JobContext, _ outcome: Outcome, on member: Member, as remote: RemoteJob? = nil,
        store: (any JobStore)?, _ failures: FailureLog
    ) -> Completion? {
        guard job.finish(), let startedAt = job.end() else {
            // Another thread has replaced this one, and owns the member's figures.
            letGo(of: job, member)
            return nil
        }
        if let store, case .done(let result) = outcome {
            let isMarked = store.noteDone(job.id, attempt: job.attempt, result: result)
            remote?.isEndMarked.store(isMarked, ordering: .releasing)
        }
        member.current.withLock { $0 = nil }
        return completion(
            of: job, outcome, remote?.retry ?? .asPlanned, on: member, since: startedAt, failures)
    }

    /// The end of a job, counted for a member.
    func completion(
        of job: JobContext, _ outcome: Outcome, _ retry: RetryWish, on member: Member,
        since startedAt: Int64, _ failures: FailureLog
    ) -> Completion {
        switch outcome.state {
        case .done: member.doneCount.add(1, ordering: .relaxed)
        case .failed:
            member.failedCount.add(1, ordering: .relaxed)
            failures.note(
                job, outcome, isFinal: retry == .never, on: member.name,
                at: clocks.loop.now())
        default: break
        }
        return Completion(
            job: JobID(job.id), attemptNumber: job.attempt, outcome: outcome,
            thread: member.name, startedAt: startedAt,
            endedAt: clocks.wall.unixMilliseconds(), retry: retry)
    }

    /// A member's thread has let go of a job that it has not ended.
    func letGo(of job: JobContext, _ member: Member) {
        member.current.withLock { if $0 === job { $0 = nil } }
    }
}
