// A job for a worker in another process, on the thread that holds it. The thread waits in mode
// `job` until the job has ended, so no other job of the thread overtakes it. Meanwhile the exchange
// begins the job for a worker, puts it back and ends it, all without waking the thread.

internal import Jobs
internal import Kernel
internal import RESP
internal import RunLoops
internal import Synchronization
internal import WorkerThreads

/// A thread's report of such a job, in the order of the events.
enum RemoteReport: Sendable {
    /// The thread holds a job that waits for a worker.
    case ready(RemoteJob)
    /// The worker is to stop: the job was cancelled.
    case stop(RemoteJob)
    /// The thread does not hold the job any more, and it has not ended.
    case left(RemoteJob)
}

/// One job that a thread holds for a worker.
///
/// - Thread: any thread, unless said otherwise.
final class RemoteJob: Sendable {
    /// How far it is.
    private enum Step {
        case waiting
        case begun
        /// It has ended, and the scheduler is being told.
        case ended(RetryWish)
        /// The scheduler knows its end: the thread goes on.
        case over
        /// The daemon ends and leaves it to its worker.
        case left
        /// No worker is there: its pool's member goes on without it.
        case sentBack
    }

    /// The result of its beginning for a worker.
    enum Beginning {
        case begun
        /// It was taken back.
        case withdrawn
        /// It was too late to begin.
        case expired
    }

    let context: JobContext
    let selector: Configuration.Selector
    let group: WorkerGroup
    /// The thread that holds it.
    let member: WorkerGroup.Member
    private let handler: Handler
    private let failures: FailureLog
    /// Where it is marked; nil for a job in memory only.
    let store: (any JobStore)?
    private let worker: WorkerCore
    private let reports: MessagePort<RemoteReport>
    private let step = Mutex(Step.waiting)
    /// Whether a crash of the daemon leaves its result.
    let isEndMarked = Atomic<Bool>(false)

    /// - Thread: the worker thread that holds it.
    init(
        _ context: JobContext, _ handler: Handler, _ selector: Configuration.Selector,
        on group: WorkerGroup, store: (any JobStore)?, _ failures: FailureLog,
        _ reports: MessagePort<RemoteReport>
    ) {
        guard let worker = WorkerCore.current else { fatalError("not on a worker thread") }
        self.context = context
        self.handler = handler
        self.selector = selector
        self.group = group
        self.store = store
        self.failures = failures
        self.worker = worker
        self.reports = reports
        member = group.currentMember
    }

    var id: JobID { JobID(context.id) }

    var isStored: Bool { store != nil }

    /// Whether the job's thread takes jobs now.
    var isPaused: Bool { member.thread.isPaused }

    // MARK: - On the job's thread

    /// Holds the job until a worker has ended it, or the thread has to go on without it.
    ///
    /// - Thread: the worker thread that holds it.
    /// - Blocks: until then; the thread serves its loop in mode `job`.
    func hold() {
        group.awaitingWorkerCount.add(1, ordering: .relaxed)
        context.onWithdraw { [weak self] in self?.wake() }
        reports.send(.ready(self))
        worker.serveJob { mayGoOn }
        context.onWithdraw(nil)
        if isOver { return }
        if context.run == nil { group.awaitingWorkerCount.subtract(1, ordering: .relaxed) }
        group.letGo(of: context, member)
        reports.send(.left(self))
    }

    private var mayGoOn: Bool {
        switch step.withLock({ $0 }) {
        case .waiting: context.isWithdrawn
        case .begun, .ended: false
        case .over, .left, .sentBack: true
        }
    }

    private var isOver: Bool { step.withLock { if case .over = $0 { true } else { false } } }

    /// Whether its thread goes on without it although it has not ended.
    var isSentBack: Bool {
        step.withLock { if case .sentBack = $0 { true } else { false } }
    }

    /// The worker's wish for the attempt after its failure.
    var retry: RetryWish {
        step.withLock { if case .ended(let retry) = $0 { retry } else { .asPlanned } }
    }

    // MARK: - For the exchange

    /// Begins it for a worker.
    func begin(for holder: JobHolder) -> Beginning {
        guard context.hasBegunBefore || !group.expires(context) else { return .expired }
        guard group.begin(context, handler, on: member, for: holder, store: store) else {
            return .withdrawn
        }
        step.withLock { $0 = .begun }
        group.awaitingWorkerCount.subtract(1, ordering: .relaxed)
        context.onCancel { [weak self] in
            if let self { reports.send(.stop(self)) }
        }
        return .begun
    }

    /// Ends it; its thread waits until `letGo`.
    ///
    /// - Returns: nil if it had been given up.
    func end(_ outcome: Outcome, _ retry: RetryWish) -> Completion? {
        step.withLock { $0 = .ended(retry) }
        return group.end(context, outcome, on: member, as: self, store: store, failures)
    }

    /// Lets its thread go on after its end.
    func letGo() { leave(for: .over) }

    /// Lets it wait for another worker, as if it had not begun.
    ///
    /// - Returns: false if it had been given up.
    func putBack() -> Bool {
        guard context.putBack() else { return false }
        group.letGo(of: context, member)
        group.awaitingWorkerCount.add(1, ordering: .relaxed)
        step.withLock { $0 = .waiting }
        return true
    }

    /// Leaves it to its worker, which may end it after the restart.
    func leaveToWorker() { leave(for: .left) }

    /// Lets its pool's member go on without it.
    func sendBack() { leave(for: .sentBack) }

    private func leave(for last: Step) {
        step.withLock { $0 = last }
        wake()
    }

    private func wake() {
        let loop = worker.loop
        loop.perform(inModes: [.job]) { loop.stop() }
    }
}

extension RemoteJob {
    /// The wire's entries for a job that waits for a worker, and for its thread.
    var entries: [RESPValue.Entry] { [entry("waits-for", text("worker \(context.selector)"))] }
}
