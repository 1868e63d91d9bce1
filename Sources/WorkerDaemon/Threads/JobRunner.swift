// A worker's part in a job: takes it from the queue of its group, runs it and reports the end.

internal import Jobs
internal import Kernel
internal import Synchronization
internal import WorkerThreads

/// A worker's report to the scheduler; reports come in the order of their events.
enum WorkerReport: Sendable {
    /// An attempt has ended. The worker waits at the latch, if there is one, until the scheduler
    /// has retracted the jobs behind this one.
    case ended(Completion, Latch?)
    /// An attempt has begun: reported only while a reader wants that.
    case began(JobID)
    /// A job was not begun, because it is too late.
    case expired(JobID)
    /// The program of a job was killed because the store is away. The worker waits at the latch
    /// until the job waits again.
    case leftWithStore(JobContext, thread: String, Latch)
    /// A job was given up, and has returned all the same. The worker waits at the latch until
    /// another one has its place: else it would take another job.
    case hasReturned(String, Latch)
}

/// Runs jobs on the threads of their groups, and reports their ends to the scheduler.
///
/// - Thread: any thread.
final class JobRunner: Sendable {
    /// Where the ends are reported.
    let reports: MessagePort<WorkerReport>
    /// Where jobs for workers in other processes are reported.
    let remoteReports: MessagePort<RemoteReport>
    private let children: ChildRegistry
    private let store: any JobStore
    private let log: Log
    private let failures: FailureLog
    /// The time between two looks at a store that is not trusted, and at one that is behind.
    private static let trustPause = Duration.milliseconds(20)
    private static let backlogPause = Duration.milliseconds(1)
    private let closed = Latch()
    /// The workers that wait for the scheduler, by their names; nil once the driver is closed.
    private let waiting = Mutex<[String: Latch]?>([:])

    /// - Parameter store: where beginnings are marked.
    init(
        _ reports: MessagePort<WorkerReport>, _ remoteReports: MessagePort<RemoteReport>,
        store: any JobStore, children: ChildRegistry, log: Log
    ) {
        self.reports = reports
        self.remoteReports = remoteReports
        self.store = store
        self.children = children
        self.log = log
        failures = FailureLog(log)
    }

    /// The end of a job that no thread has served.
    func endUnserved(
        _ job: JobContext, _ outcome: Outcome, _ retry: RetryWish, since startedAt: Int64
    ) -> Completion {
        if job.isStored, case .done(let result) = outcome {
            _ = store.noteDone(job.id, attempt: job.attempt, result: result)
        }
        let member = job.group.member(named: job.details.thread) ?? job.group.members[0]
        return job.group.completion(
            of: job, outcome, retry, on: member, since: startedAt, failures)
    }

    /// Whether no other daemon can have the jobs of the store by now.
    var isStoreTrusted: Bool { store.isTrusted }

    /// Runs a job to its end.
    ///
    /// - Thread: a member's of the group.
    /// - Blocks: until the job has ended; and if it holds up others, until the scheduler has
    ///   retracted these.
    func run(_ job: JobContext) {
        repeat {
            guard !job.isStored || awaitTrust(before: job) else { return }
            guard job.hasBegunBefore || !job.group.expires(job) else {
                reports.send(.expired(JobID(job.id)))
                return
            }
            let completion = job.group.run(
                job, children: children, store: job.isStored ? store : nil, log: log,
                failures: failures, putBack: { putBack(job, from: $0) })
            if let completion {
                report(completion, of: job)
            } else if job.isGivenUp {
                // Its thread's name is its successor's.
                let name = "returned from \(job.id)"
                reportAndWait(name) { .hasReturned(name, $0) }
            }
        } while job.isWaiting
    }

    /// Serves a job for a worker in another process, and then others of its thread.
    ///
    /// - Thread: a member's of the group.
    /// - Blocks: until the thread has to go on by itself.
    func serve(_ work: RemoteWork, in turn: MemberTurn?) {
        let turn = RemoteTurn(turn, work.context.group, remoteReports)
        if let job = work.job(in: turn) { turn.serve(job) }
    }

    /// A job for workers in other processes, on a thread.
    ///
    /// - Returns: nil if it was withdrawn, or has expired.
    func job(
        _ context: JobContext, _ selector: Configuration.Selector, in turn: RemoteTurn
    ) -> RemoteJob? {
        guard !context.isWithdrawn else { return nil }
        guard context.hasBegunBefore || !context.group.expires(context) else {
            reports.send(.expired(JobID(context.id)))
            return nil
        }
        return RemoteJob(
            context, selector, in: turn, store: context.isStored ? store : nil, failures,
            remoteReports)
    }

    /// Waits while another daemon may have the store by now, or the store is far behind.
    ///
    /// The job has not begun meanwhile, so it can be withdrawn.
    ///
    /// - Returns: false if the job was withdrawn or the driver was closed: it does not begin.
    /// - Blocks: until the store lets the job begin.
    private func awaitTrust(before job: JobContext) -> Bool {
        if store.mayBegin(job.id, attempt: job.attempt) { return true }
        let thread = job.group.currentMember.thread
        repeat {
            let pause = store.isTrusted ? Self.backlogPause : Self.trustPause
            if job.isWithdrawn || closed.wait(until: .now + pause) { return false }
        } while !store.mayBegin(job.id, attempt: job.attempt) || isPaused(thread, for: job)
        return true
    }

    /// Whether a thread was paused while it waited with a job, and the job waits for that.
    ///
    /// A job that another thread of its pool could have as well does not.
    private func isPaused(_ thread: WorkerThread, for job: JobContext) -> Bool {
        guard thread.isPaused, !thread.isStopped else { return false }
        return job.details.thread == thread.name
            || job.group.members.allSatisfy { $0.thread.isPaused }
    }

    /// Has the driver let a job wait again whose program was killed because the store is away.
    ///
    /// - Returns: false if the job was given up or asked to end, or the driver was closed.
    private func putBack(_ job: JobContext, from thread: String) -> Bool {
        log.warning("\(job.title): its program was killed, as the store is away")
        reportAndWait(thread) { .leftWithStore(job, thread: thread, $0) }
        return job.isWaiting || job.isWithdrawn
    }

    private func report(_ completion: consuming Completion, of job: JobContext) {
        let holdsUpOthers =
            job.retry.blocks && completion.state == .failed && !job.isCancelRequested
            && completion.retry != .never && job.retry.follows(attempt: job.attempt)
        if holdsUpOthers {
            // Another job could be one behind this one.
            reportAndWait(completion.thread) { .ended(completion, $0) }
        } else {
            reports.send(.ended(completion, nil))
        }
    }

    /// Keeps a worker until the scheduler knows.
    private func reportAndWait(_ thread: String, _ report: (Latch) -> WorkerReport) {
        let latch = Latch()
        guard reports.send(report(latch)) == .sent else { return }
        let mayWait = waiting.withLock { waiting in
            if !latch.isOpen { waiting?[thread] = latch }
            return waiting != nil
        }
        if mayWait { latch.wait() }
    }

    /// Lets a worker go on that has reported an attempt's end and waits.
    ///
    /// - Thread: the driver's.
    func letGo(_ name: String, _ latch: Latch) {
        waiting.withLock { waiting in
            latch.open()
            if waiting?[name] === latch { waiting?[name] = nil }
        }
    }

    /// Whether a worker has reported a failed attempt and waits.
    func isWaiting(_ name: String) -> Bool { waiting.withLock { $0?[name] != nil } }

    /// Lets all workers go on: the scheduler says nothing more.
    func close() {
        closed.open()
        let latches = waiting.withLock { $0.take() } ?? [:]
        for latch in latches.values { latch.open() }
    }
}
