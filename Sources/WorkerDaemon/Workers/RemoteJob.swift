// A job for a worker in another process, on the thread that holds it. The thread waits in mode
// `job` until a worker has taken the job, and then until the worker has said how it ended. So no
// other job of the thread overtakes it, and nothing else of a job's life differs: a job that no
// worker has taken has not begun.

internal import Jobs
internal import Kernel
internal import RESP
internal import RunLoops
internal import Synchronization
internal import WorkerThreads

/// A thread's report of such a job, in the order of the events.
enum RemoteReport: Sendable {
    /// The thread waits for a worker; once more, if one has given the job back.
    case ready(RemoteJob, isAgain: Bool)
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
        /// It has ended; its thread may let go of it or not yet.
        case ended(RetryWish, isLetGo: Bool)
        case givenBack
        /// It is left to its worker: the daemon ends.
        case left
        /// Its pool's member lets go of it, since no worker is there.
        case sentBack
    }

    /// How a thread lets go of it.
    enum Parting {
        /// It was asked to stop before another worker could take it, and has begun for that.
        case cancelled
        case ended
        case givenBack
        case left
    }

    /// What becomes of it when a worker takes it.
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

    /// Holds the job until a worker has ended it, or the thread has to let go of it.
    ///
    /// - Thread: the worker thread that holds it.
    /// - Blocks: until then; the thread serves its loop in mode `job`.
    func hold() -> Parting {
        // It was asked to stop, and given back in the same moment.
        if context.isCancelRequested, group.begin(context, handler, on: member, store: store) {
            return .cancelled
        }
        let isAgain = isGivenBack
        step.withLock { $0 = .waiting }
        group.awaitingWorkerCount.add(1, ordering: .relaxed)
        context.onWithdraw { [weak self] in self?.wake() }
        reports.send(.ready(self, isAgain: isAgain))
        worker.serveJob { parting != nil }
        context.onWithdraw(nil)
        let last = parting ?? .left
        if case .left = last, context.run == nil {
            group.awaitingWorkerCount.subtract(1, ordering: .relaxed)
        }
        return last
    }

    private var parting: Parting? {
        let step = step.withLock { $0 }
        switch step {
        case .waiting: return context.isWithdrawn ? .left : nil
        case .begun: return nil
        case .ended(_, let isLetGo): return isLetGo ? .ended : nil
        case .givenBack: return .givenBack
        case .left, .sentBack: return .left
        }
    }

    /// Says that the thread holds the job no more.
    func leave() { reports.send(.left(self)) }

    /// Whether the worker has given it back.
    private var isGivenBack: Bool {
        step.withLock { if case .givenBack = $0 { true } else { false } }
    }

    /// Whether its thread lets go of it although it has not ended.
    var isSentBack: Bool {
        step.withLock { if case .sentBack = $0 { true } else { false } }
    }

    /// What follows its failure.
    var retry: RetryWish {
        step.withLock { if case .ended(let retry, _) = $0 { retry } else { .asPlanned } }
    }

    // MARK: - For the exchange

    /// Begins it for a worker, while its thread waits: that is not woken.
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

    /// Ends it, while its thread waits: that takes nothing else before `letGo`.
    ///
    /// - Returns: nil if it had been given up.
    func end(_ outcome: Outcome, _ retry: RetryWish) -> Completion? {
        step.withLock { $0 = .ended(retry, isLetGo: false) }
        return group.end(context, outcome, on: member, as: self, store: store, failures)
    }

    /// Has its thread go on: it has ended.
    func letGo() {
        step.withLock { $0 = .ended(.never, isLetGo: true) }
        wake()
    }

    /// Gives it back: its thread waits for another worker.
    func giveBack() { leaveBegun(for: .givenBack) }

    /// Leaves it to its worker, which may end it after the restart.
    func leaveToWorker() { leaveBegun(for: .left) }

    private func leaveBegun(for next: Step) {
        step.withLock { if case .begun = $0 { $0 = next } }
        wake()
    }

    /// Has its thread let go of it: no worker is there.
    func sendBack() {
        step.withLock { if case .waiting = $0 { $0 = .sentBack } }
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
