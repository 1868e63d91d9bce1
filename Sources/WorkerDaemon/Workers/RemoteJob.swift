// A job for a worker in another process, on the thread that serves it. The thread waits in mode
// `job` until the job has ended, so no other job of the thread overtakes it. Meanwhile the exchange
// begins the job for a worker, puts it back, ends it and takes the thread's next one
// (RemoteTurn.swift), all without waking the thread.

internal import Jobs
internal import Kernel
internal import RESP
internal import RunLoops
internal import Synchronization
internal import WorkerThreads

/// A thread's report of such a job, in the order of the events.
enum RemoteReport: Sendable {
    /// The thread serves a job that waits for a worker.
    case ready(RemoteJob)
    /// The worker is to stop: the job was cancelled.
    case stop(RemoteJob)
    /// The thread does not serve the job any more, and it has not ended.
    case left(RemoteJob)
    /// A thread whose turn is idle may have a job.
    case wanted(RemoteTurn)
}

/// One job that a thread serves for a worker.
///
/// - Thread: any thread, unless said otherwise.
final class RemoteJob: Sendable {
    /// How far it is.
    private enum Step {
        case waiting
        case begun
        /// It has ended, and the scheduler is being told.
        case ended(RetryWish)
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
    /// The turn of the thread that serves it.
    let turn: RemoteTurn
    private let failures: FailureLog
    /// Where it is marked; nil for a job in memory only.
    let store: (any JobStore)?
    private let reports: MessagePort<RemoteReport>
    private let step = Mutex(Step.waiting)
    /// Whether a daemon that takes the jobs over after a crash finds its result.
    let isEndMarked = Atomic<Bool>(false)

    init(
        _ context: JobContext, _ selector: Configuration.Selector, in turn: RemoteTurn,
        store: (any JobStore)?, _ failures: FailureLog, _ reports: MessagePort<RemoteReport>
    ) {
        self.context = context
        self.selector = selector
        self.turn = turn
        self.store = store
        self.failures = failures
        self.reports = reports
    }

    var group: WorkerGroup { turn.group }
    /// The thread that serves it.
    var member: WorkerGroup.Member { turn.member }

    var id: JobID { JobID(context.id) }

    var isStored: Bool { store != nil }

    /// Whether the job's thread takes jobs now.
    var isPaused: Bool { member.thread.isPaused }

    // MARK: - While its thread serves it

    /// Waits for a worker from now on.
    func wait() {
        group.awaitingWorkerCount.add(1, ordering: .relaxed)
        context.onWithdraw { [weak self] in self?.turn.wake() }
    }

    /// Tells the exchange that it waits.
    func report() { reports.send(.ready(self)) }

    /// Its thread goes on without it.
    ///
    /// - Thread: the worker thread that serves it.
    func leaveThread() {
        context.onWithdraw(nil)
        if context.run == nil { group.awaitingWorkerCount.subtract(1, ordering: .relaxed) }
        group.letGo(of: context, member)
        reports.send(.left(self))
    }

    /// Whether its thread goes on although it has not ended.
    var mayGoOn: Bool {
        switch step.withLock({ $0 }) {
        case .waiting: context.isWithdrawn
        case .begun, .ended: false
        case .left, .sentBack: true
        }
    }

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
        guard group.begin(context, on: member, for: holder, store: store) else {
            return .withdrawn
        }
        step.withLock { $0 = .begun }
        group.awaitingWorkerCount.subtract(1, ordering: .relaxed)
        context.onCancel { [weak self] in
            if let self { reports.send(.stop(self)) }
        }
        return .begun
    }

    /// Ends it; its thread waits until its turn goes on.
    ///
    /// - Returns: nil if it had been given up.
    func end(_ outcome: Outcome, _ retry: RetryWish) -> Completion? {
        step.withLock { $0 = .ended(retry) }
        return group.end(context, outcome, on: member, as: self, store: store, failures)
    }

    /// Lets it wait for another worker, as if it had not begun.
    ///
    /// - Returns: false if it had been given up.
    func putBack() -> Bool {
        guard context.putBack() else { return false }
        group.letGo(of: context, member)
        step.withLock { $0 = .waiting }
        wait()
        return true
    }

    /// Leaves it to its worker, which may end it after the restart.
    func leaveToWorker() { leave(for: .left) }

    /// Lets its pool's member go on without it.
    func sendBack() { leave(for: .sentBack) }

    private func leave(for last: Step) {
        step.withLock { $0 = last }
        turn.wake()
    }
}

extension RemoteJob {
    /// The wire's entries for a job that waits for a worker, and for its thread.
    var entries: [RESPValue.Entry] { [entry("waits-for", text("worker \(context.selector)"))] }
}
