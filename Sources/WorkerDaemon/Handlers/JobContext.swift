// One job as its handler sees it, and the atomic word that decides between the thread that begins
// it and the client that takes it back.
//
// Values of `phase`: 0 waiting · 1 running · 2 withdrawn · 3 over · 4 given up. It leaves 0 once,
// and 1 once, by compareExchange:
// A worker in another process may give a job back, and a program may end with the trust in the
// store: then `putBack` leaves 1 for 0, and both happen once more.
// JobContext.E1 begin or withdraw
//    begin (worker) and withdraw (io thread) both try 0 → theirs: exactly one of them succeeds.
// JobContext.E2 finish or give up
//    finish (worker) and giveUp (io thread) both try 1 → theirs: exactly one of them decides how
//    the job ended.
// Without E1 a withdrawn job could run; without E2 a job could end twice.

internal import Jobs
internal import Kernel
internal import Synchronization
internal import WorkerThreads
internal import Wording

/// A job that a handler was called for.
///
/// - Thread: any thread.
public final class JobContext: Sendable {
    /// The number of the job, as clients know it.
    public let id: UInt64
    /// The name of the handler.
    public var selector: String { details.selector }
    /// The bytes that the client sent.
    public let payload: [UInt8]
    /// The number of this attempt, from 1 on.
    public var attempt: Int { firstAttempt + vanishedCount }
    /// The number of the attempt as which it was offered.
    private let firstAttempt: Int
    /// How many of its attempts have ended since without a result: their workers in other processes
    /// have vanished, or the store was away.
    private let vanished = Atomic<Int>(0)
    var vanishedCount: Int { vanished.load(ordering: .relaxed) }
    let details: JobDetails
    /// The time at which a waiting job expires, in Unix milliseconds; `.max` for never.
    let expiresAt: Int64
    /// The plan of its retries.
    var retry: RetryPlan {
        var plan = offeredRetry
        plan.forgivenCount += vanishedCount
        return plan
    }
    private let offeredRetry: RetryPlan
    /// Whether a store keeps the job.
    let isStored: Bool
    let handler: Handler
    let group: WorkerGroup
    private let runner: JobRunner
    // SAFETY: set once it is queued, and read when it is retracted, both on the driver's thread.
    nonisolated(unsafe) private var ticket: WorkerPool.Ticket?
    private let phase = Atomic<UInt8>(0)
    private let putBackCount = Atomic<Int>(0)
    private let wasLeft = Atomic<Bool>(false)
    private let cancelRequested = Atomic<Bool>(false)
    private let state = Mutex(State())

    private struct State {
        var run: Run?
        var onCancel: (@Sendable () -> Void)?
        /// Set while a thread waits for a worker that takes the job.
        var onWithdraw: (@Sendable () -> Void)?
        var news: News?

        /// The progress and its observer, made when first needed: a million jobs may wait.
        mutating func madeNews() -> News {
            let made = news ?? News()
            news = made
            return made
        }
    }

    /// The news of a running job, and the closure that waits for it; guarded by `state`.
    private final class News {
        var progress: JobProgress?
        var written: WrittenBytes?
        var whenChanged: (@Sendable () -> Void)?
    }

    /// The thread and the start of a running job.
    struct Run: Sendable {
        let thread: String
        let startedAt: Int64
        fileprivate let limit: TimeLimit?

        /// The deadline of the attempt, by the loops' clock.
        var deadline: Instant { limit?.deadline ?? .distantFuture }
    }

    /// The deadline of an attempt, and its clock; a class, as most of a million jobs have none.
    fileprivate final class TimeLimit: Sendable {
        let deadline: Instant
        private let clock: any LoopClock

        init(_ timeout: Duration, by clock: any LoopClock) {
            deadline = clock.now().advanced(by: timeout)
            self.clock = clock
        }

        var isOver: Bool { clock.now() >= deadline }
    }

    /// An attempt of a job that is offered to the threads of a group.
    init(_ job: JobEntry, _ handler: Handler, on group: WorkerGroup, by runner: JobRunner) {
        id = job.id.number
        details = job.details
        payload = job.payload
        firstAttempt = job.attemptNumber
        expiresAt = job.expiresAt
        offeredRetry = job.retry
        isStored = job.isStored
        self.handler = handler
        self.group = group
        self.runner = runner
    }

    /// Runs the job to its end, on the calling thread of its group.
    func perform() { runner.run(self) }

    /// Serves the job for a worker in another process, on the calling thread of its group.
    func serve(_ work: RemoteWork, in turn: MemberTurn?) { runner.serve(work, in: turn) }

    /// The job as one for workers in other processes; nil if it was withdrawn, or has expired.
    func remoteJob(_ selector: Configuration.Selector, in turn: RemoteTurn) -> RemoteJob? {
        runner.job(self, selector, in: turn)
    }

    /// Ends the job, as a worker in another process has done it without a thread.
    ///
    /// - Parameter since: when the worker got the job, in Unix milliseconds.
    /// - Returns: nil if it does not wait any more.
    /// - Thread: the driver's.
    func endUnserved(_ outcome: Outcome, _ retry: RetryWish, since: Int64) -> Completion? {
        guard withdraw() else { return nil }
        retract()
        return runner.endUnserved(self, outcome, retry, since: since)
    }

    /// Notes its place in the queue of its pool.
    ///
    /// - Thread: the driver's.
    func note(_ ticket: WorkerPool.Ticket) { unsafe self.ticket = ticket }

    /// The options of the job.
    var options: SharedJobOptions { details.options }

    /// The job's name in the log.
    var title: String { Self.title(of: id, details) }

    /// The name of a job in the log.
    static func title(of id: UInt64, _ details: JobDetails) -> String {
        let shown = details.options.shown.map { option in
            ", \(option.name) \(printable(String(decoding: option.value, as: UTF8.self)))"
        }
        return "job \(id) (\(details.selector)\(shown.joined()))"
    }

    /// The place of the submit in a trace, as a `traceparent`
    /// (https://www.w3.org/TR/trace-context/#traceparent-header); nil for none.
    public var trace: String? {
        details.options.trace.map { String(decoding: $0, as: UTF8.self) }
    }

    /// The payload as text; invalid UTF-8 becomes U+FFFD.
    public var text: String { String(decoding: payload, as: UTF8.self) }

    /// Whether a client, a shutdown or the time limit asks the job to end early.
    ///
    /// A handler that runs for long checks it now and then, and throws `CancellationError` when it
    /// is set.
    public var isCancelled: Bool {
        cancelRequested.load(ordering: .acquiring) || isOverTime
    }

    /// Throws if the job is asked to end early.
    ///
    /// - Throws: `CancellationError`.
    public func checkCancellation() throws {
        if isCancelled { throw CancellationError() }
    }

    /// Whether the job has exceeded its time limit.
    var isOverTime: Bool { run?.limit?.isOver == true }

    /// The thread and the start of the run; nil before it began.
    var run: Run? { state.withLock { $0.run } }

    /// Whether a cancel was requested while the job ran.
    var isCancelRequested: Bool { cancelRequested.load(ordering: .acquiring) }

    /// Begins the job on the calling worker thread.
    ///
    /// - Parameters:
    ///   - timeout: the time limit; nil for none.
    ///   - clock: the clock of the time limit.
    /// - Returns: false when the job was withdrawn: then it must not run.
    func begin(
        on thread: String, at unixMilliseconds: Int64, timeout: Duration? = nil,
        by clock: @autoclosure () -> any LoopClock
    ) -> Bool {
        guard leaveWaiting(for: 1) else { return false }
        let limit = timeout.map { TimeLimit($0, by: clock()) }
        let tell = state.withLock {
            $0.run = Run(thread: thread, startedAt: unixMilliseconds, limit: limit)
            return $0.news?.whenChanged.take()
        }
        tell?()
        return true
    }

    /// The latest progress that the handler has reported.
    var progress: JobProgress? { state.withLock { $0.news?.progress } }

    /// Stores the progress that the handler reports.
    func note(_ progress: JobProgress) {
        let tell = state.withLock { state in
            let news = state.madeNews()
            news.progress = progress
            return news.whenChanged.take()
        }
        tell?()
    }

    /// The output of its program; nil if there is none.
    var written: WrittenBytes? { state.withLock { $0.news?.written } }

    /// Counts what its program has written.
    func noteWritten(output: Int = 0, errors: Int = 0) {
        guard output + errors > 0 else { return }
        let tell = state.withLock { state in
            let news = state.madeNews()
            var written = news.written ?? WrittenBytes()
            written.output += output
            written.errors += errors
            news.written = written
            return news.whenChanged.take()
        }
        tell?()
    }

    /// Calls `body` once, when the job begins, reports progress or writes output.
    ///
    /// A read after this call sees every change that `body` is not called for.
    ///
    /// - Thread: any thread; `body` is called on the thread that makes the change.
    func tellNextChange(_ body: @escaping @Sendable () -> Void) {
        state.withLock { $0.madeNews().whenChanged = body }
    }

    /// Takes the job back.
    ///
    /// - Returns: false when it has begun; true means that it never runs.
    func withdraw() -> Bool {
        guard leaveWaiting(for: 2) else { return false }
        state.withLock { $0.onWithdraw.take() }?()
        return true
    }

    /// Whether the job was taken back.
    var isWithdrawn: Bool { phase.load(ordering: .acquiring) == 2 }

    /// Sets the closure that tells of the job's withdrawal; calls it at once if it was withdrawn.
    func onWithdraw(_ body: (@Sendable () -> Void)?) {
        state.withLock { $0.onWithdraw = body }
        if isWithdrawn { state.withLock { $0.onWithdraw.take() }?() }
    }

    /// Lets a job wait again that has begun and not ended, as if it had not begun.
    ///
    /// - Returns: false when the job was given up.
    func putBack() -> Bool {
        state.withLock {
            $0.run = nil
            $0.onCancel = nil
            $0.news?.progress = nil
            $0.news?.written = nil
        }
        putBackCount.add(1, ordering: .relaxed)
        return leave(1, for: 0)
    }

    /// Whether other daemons leave the job alone, or have no access to it.
    var isStoreTrusted: Bool { !isStored || runner.isStoreTrusted }

    /// Notes that its program is killed because the store is away.
    func leaveWithStore() { wasLeft.store(true, ordering: .relaxed) }

    /// Whether its program was killed because the store is away, and no one asks it to end; once.
    func takeLeft() -> Bool {
        // Each end of a job asks, and few were left.
        guard wasLeft.load(ordering: .relaxed) else { return false }
        wasLeft.store(false, ordering: .relaxed)
        return !isCancelRequested
    }

    /// Whether it waits.
    var isWaiting: Bool { phase.load(ordering: .acquiring) == 0 }

    /// Whether it was begun and put back: then it expires no more.
    var hasBegunBefore: Bool { putBackCount.load(ordering: .relaxed) > 0 }

    /// Takes it from the queue of its pool, if it waits there.
    ///
    /// - Thread: the driver's.
    func retract() {
        if let ticket = unsafe ticket { group.pool.cancel(ticket) }
    }

    /// Counts an attempt that has ended without a result.
    func noteVanished() { vanished.add(1, ordering: .relaxed) }

    /// Notes that the handler has returned.
    ///
    /// - Returns: false when the job was given up: its result is dropped.
    func finish() -> Bool { leave(1, for: 3) }

    /// Gives the handler up: its result no longer counts.
    ///
    /// - Returns: false when the handler has returned.
    func giveUp() -> Bool { leave(1, for: 4) }

    /// Whether the handler was given up.
    var isGivenUp: Bool { phase.load(ordering: .acquiring) == 4 }

    /// Asks a running job to end early.
    func requestCancel() {
        cancelRequested.store(true, ordering: .releasing)
        let onCancel = state.withLock { $0.onCancel }
        onCancel?()
    }

    /// Sets the closure that asks the job to end early; calls it at once if that was asked already.
    func onCancel(_ body: @escaping @Sendable () -> Void) {
        state.withLock { $0.onCancel = body }
        if isCancelRequested { body() }
    }

    /// Drops the closure that asks the job to end early: the job is over.
    ///
    /// - Returns: when the run began; nil if it has not.
    @discardableResult
    func end() -> Int64? {
        state.withLock {
            $0.onCancel = nil
            return $0.run?.startedAt
        }
    }

    private func leaveWaiting(for next: UInt8) -> Bool { leave(0, for: next) }

    private func leave(_ value: UInt8, for next: UInt8) -> Bool {
        phase.compareExchange(expected: value, desired: next, ordering: .acquiringAndReleasing)
            .exchanged
    }
}

extension JobContext {
    /// Reports the job's progress to clients that ask or watch.
    ///
    /// `JOB` shows the latest report while the job runs, `OBSERVE` pushes it, at most every 50 ms
    /// and the last in any case. So it may be called in a tight loop: without a watching client it
    /// costs a lock and a store, and wakes up no thread.
    ///
    /// ```swift
    /// daemon.register("convert") { job in
    ///     for page in 0..<50 {
    ///         try job.checkCancellation()
    ///         job.report(progress: Double(page) / 50, text: "page \(page)")
    ///     }
    ///     return "converted"
    /// }
    /// ```
    ///
    /// - Parameters:
    ///   - fraction: from 0 to 1; a value outside counts as the nearer end of the range. Nil or NaN
    ///   if it is not known.
    ///   - text: the current activity, in one line; the first 200 characters are shown.
    /// - Thread: any thread.
    /// - Blocks: never.
    public func report(progress fraction: Double? = nil, text: String? = nil) {
        guard let progress = JobProgress(fraction: fraction, text: text) else { return }
        note(progress)
    }
}
