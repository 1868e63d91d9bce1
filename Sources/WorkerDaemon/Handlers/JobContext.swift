// One job as its handler sees it, and the atomic word that decides who gets it: the thread that
// begins it or the client that takes it back.
//
// Values of `phase`: 0 waiting · 1 running · 2 withdrawn · 3 over · 4 given up. It leaves 0 once, and 1
// once, by compareExchange:
// E1  begin (worker) and withdraw (io thread) both try 0 → theirs: exactly one of them succeeds.
// E2  finish (worker) and giveUp (io thread) both try 1 → theirs: exactly one of them says how the job
//     ended.

internal import Jobs
internal import Kernel
internal import Synchronization
internal import WorkerThreads
internal import Wording

/// A job that a handler has been called for.
///
/// - Thread: any thread.
public final class JobContext: Sendable {
    /// The job's number, as clients know it.
    public let id: UInt64
    /// The name of the handler.
    public var selector: String { details.selector }
    /// What the client sent.
    public let payload: [UInt8]
    /// Which try this is, from 1 on.
    public let attempt: Int
    let details: JobDetails
    /// When it is too late to begin, in Unix milliseconds; `.max` for never.
    let expiresAt: Int64
    /// How it is tried again.
    let retry: RetryPlan
    private let pool: WorkerPool
    // SAFETY: set once it is queued, and read when it is retracted, both on the driver's thread.
    nonisolated(unsafe) private var ticket: WorkerPool.Ticket?
    private let phase = Atomic<UInt8>(0)
    private let cancelRequested = Atomic<Bool>(false)
    private let state = Mutex(State())

    private struct State {
        var run: Run?
        var onCancel: (@Sendable () -> Void)?
        var news: News?

        /// What has to be told, made when there is something: a million jobs may wait.
        mutating func madeNews() -> News {
            let made = news ?? News()
            news = made
            return made
        }
    }

    /// How far it is, and who wants to know; guarded as the state it is in.
    private final class News {
        var progress: JobProgress?
        var whenChanged: (@Sendable () -> Void)?
    }

    /// Where and since when a job runs.
    struct Run: Sendable {
        let thread: String
        let startedAt: Int64
        fileprivate let limit: TimeLimit?

        /// When its time is up, by the loops' clock.
        var deadline: Instant { limit?.deadline ?? .distantFuture }
    }

    /// When a job's time is up, and by which clock; a class, as most of a million jobs have none.
    fileprivate final class TimeLimit: Sendable {
        let deadline: Instant
        private let clock: any LoopClock

        init(_ timeout: Duration, by clock: any LoopClock) {
            deadline = clock.now().advanced(by: timeout)
            self.clock = clock
        }

        var isOver: Bool { clock.now() >= deadline }
    }

    /// An attempt of a job that is offered to the threads of a pool.
    init(_ job: JobEntry, in pool: WorkerPool) {
        id = job.id.number
        details = job.details
        payload = job.payload
        attempt = job.attemptNumber
        expiresAt = job.expiresAt
        retry = job.retry
        self.pool = pool
    }

    /// Notes its place in the queue of its pool.
    ///
    /// - Thread: the driver's.
    func note(_ ticket: WorkerPool.Ticket) { unsafe self.ticket = ticket }

    /// What else was said about it.
    var options: SharedJobOptions { details.options }

    /// What the log calls it.
    var title: String { Self.title(of: id, details) }

    /// What the log calls a job.
    static func title(of id: UInt64, _ details: JobDetails) -> String {
        let shown = details.options.shown.map { option in
            ", \(option.name) \(printable(String(decoding: option.value, as: UTF8.self)))"
        }
        return "job \(id) (\(details.selector)\(shown.joined()))"
    }

    /// The payload as text; bytes that are no UTF-8 become U+FFFD.
    public var text: String { String(decoding: payload, as: UTF8.self) }

    /// Whether a client, a shutdown or the time limit wants the job to end early.
    ///
    /// A handler that runs for long looks at it now and then, and throws `CancellationError` when it
    /// is set.
    public var isCancelled: Bool {
        cancelRequested.load(ordering: .acquiring) || isOverTime
    }

    /// Throws if the job is to end early.
    ///
    /// - Throws: `CancellationError`.
    public func checkCancellation() throws {
        if isCancelled { throw CancellationError() }
    }

    /// Whether the job has run longer than it may.
    var isOverTime: Bool { run?.limit?.isOver == true }

    /// Where it runs; nil before it began.
    var run: Run? { state.withLock { $0.run } }

    /// Whether a cancel was asked for while it ran.
    var isCancelRequested: Bool { cancelRequested.load(ordering: .acquiring) }

    /// Begins the job on the calling worker thread.
    ///
    /// - Parameters:
    ///   - timeout: how long it may run; nil for as long as it likes.
    ///   - clock: by which that goes.
    /// - Returns: false when it was withdrawn: then it must not run.
    func begin(
        on thread: String, at unixMilliseconds: Int64, timeout: Duration? = nil,
        by clock: any LoopClock
    ) -> Bool {
        guard leaveWaiting(for: 1) else { return false }
        let limit = timeout.map { TimeLimit($0, by: clock) }
        let tell = state.withLock {
            $0.run = Run(thread: thread, startedAt: unixMilliseconds, limit: limit)
            return $0.news?.whenChanged.take()
        }
        tell?()
        return true
    }

    /// What its handler has said last about how far it is.
    var progress: JobProgress? { state.withLock { $0.news?.progress } }

    /// Notes what the handler says about how far it is.
    func note(_ progress: JobProgress) {
        let tell = state.withLock { state in
            let news = state.madeNews()
            news.progress = progress
            return news.whenChanged.take()
        }
        tell?()
    }

    /// Has `body` called once, when it begins or says how far it is.
    ///
    /// Whoever looks at it after this call sees all changes that `body` is not called for.
    ///
    /// - Thread: any thread; `body` is called on the one that makes the change.
    func tellNextChange(_ body: @escaping @Sendable () -> Void) {
        state.withLock { $0.madeNews().whenChanged = body }
    }

    /// Takes the job back.
    ///
    /// - Returns: false when it has begun; true means that it never runs.
    func withdraw() -> Bool { leaveWaiting(for: 2) }

    /// Takes it from the queue of its pool, if it waits there.
    ///
    /// - Thread: the driver's.
    func retract() {
        if let ticket = unsafe ticket { pool.cancel(ticket) }
    }

    /// Notes that the handler has returned.
    ///
    /// - Returns: false when the job was given up: nobody wants to know any more.
    func finish() -> Bool { leave(1, for: 3) }

    /// Goes on without the handler's return: what it returns does not count any more.
    ///
    /// - Returns: false when it has returned.
    func giveUp() -> Bool { leave(1, for: 4) }

    /// Asks a running job to end early.
    func requestCancel() {
        cancelRequested.store(true, ordering: .releasing)
        let onCancel = state.withLock { $0.onCancel }
        onCancel?()
    }

    /// Sets what is called when the job is to end early; at once if that was asked for already.
    func onCancel(_ body: @escaping @Sendable () -> Void) {
        state.withLock { $0.onCancel = body }
        if isCancelRequested { body() }
    }

    /// Forgets what was to be called on a cancel: the job is over.
    func end() {
        state.withLock { $0.onCancel = nil }
    }

    private func leaveWaiting(for next: UInt8) -> Bool { leave(0, for: next) }

    private func leave(_ value: UInt8, for next: UInt8) -> Bool {
        phase.compareExchange(expected: value, desired: next, ordering: .acquiringAndReleasing)
            .exchanged
    }
}
