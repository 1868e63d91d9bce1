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
    /// A worker's job has begun: the worker is to get it.
    case begun(RemoteJob)
    /// The worker is to stop: the job was cancelled, or is over its time limit.
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
        case claimed
        case begun
        case ended(Outcome, RetryWish)
        case givenBack
        /// It is left to its worker: the daemon ends.
        case left
        /// Its pool's member lets go of it, since no worker is there.
        case sentBack
    }

    let context: JobContext
    let selector: Configuration.Selector
    let group: WorkerGroup
    /// The thread that holds it.
    let member: WorkerGroup.Member
    let isStored: Bool
    private let worker: WorkerCore
    private let reports: MessagePort<RemoteReport>
    private let step = Mutex(Step.waiting)
    /// Whether a crash of the daemon leaves its result.
    let isEndMarked = Atomic<Bool>(false)
    private let holderBox = Mutex<JobHolder?>(nil)

    /// - Thread: the worker thread that holds it.
    init(
        _ context: JobContext, _ selector: Configuration.Selector, on group: WorkerGroup,
        isStored: Bool, _ reports: MessagePort<RemoteReport>
    ) {
        guard let worker = WorkerCore.current else { fatalError("not on a worker thread") }
        self.context = context
        self.selector = selector
        self.group = group
        self.isStored = isStored
        self.worker = worker
        self.reports = reports
        member = group.currentMember
    }

    var id: JobID { JobID(context.id) }

    /// The worker that has taken it.
    var holder: JobHolder? { holderBox.withLock { $0 } }

    /// Whether the job's thread takes jobs now.
    var isPaused: Bool { member.thread.isPaused }

    // MARK: - On the job's thread

    /// Waits until a worker takes the job.
    ///
    /// - Returns: false if the job was withdrawn meanwhile.
    /// - Thread: the worker thread that holds it.
    /// - Blocks: until then; the thread serves its loop in mode `job`.
    func waitForWorker() -> Bool {
        // It was asked to stop, and given back in the same moment.
        if context.isCancelRequested {
            step.withLock { $0 = .ended(.cancelled, .never) }
            return true
        }
        let isAgain = isGivenBack
        step.withLock { $0 = .waiting }
        group.awaitingWorkerCount.add(1, ordering: .relaxed)
        context.onWithdraw { [weak self] in self?.wake() }
        reports.send(.ready(self, isAgain: isAgain))
        worker.serveJob { isClaimed || isSentBack || context.isWithdrawn }
        context.onWithdraw(nil)
        group.awaitingWorkerCount.subtract(1, ordering: .relaxed)
        return isClaimed && !context.isWithdrawn
    }

    /// Whether its thread lets go of it although it has not ended.
    var isSentBack: Bool {
        step.withLock { if case .sentBack = $0 { true } else { false } }
    }

    private var isClaimed: Bool {
        step.withLock { if case .claimed = $0 { true } else { false } }
    }

    /// Lets the worker have the job, and waits until it has said how that ended.
    ///
    /// - Returns: nil if it was given back and waits again.
    /// - Thread: the worker thread that holds it; the job has begun.
    /// - Blocks: until then; the thread serves its loop in mode `job`.
    func serve() -> Outcome? {
        if let outcome = outcome { return outcome }
        step.withLock { $0 = .begun }
        reports.send(.begun(self))
        context.onCancel { [weak self] in
            if let self { reports.send(.stop(self)) }
        }
        let limit = context.run?.deadline ?? .distantFuture
        let timer = ThreadRunLoop.Timer(at: limit) { [weak self] _ in
            if let self { reports.send(.stop(self)) }
        }
        if limit != .distantFuture { worker.loop.add(timer, to: .job) }
        worker.serveJob { outcome != nil || isGivenBack || isLeft }
        timer.invalidate()
        if isGivenBack, !context.putBack() { return .cancelled }
        return outcome
    }

    /// Says that the thread holds the job no more.
    func leave() { reports.send(.left(self)) }

    /// Whether the worker has given it back.
    var isGivenBack: Bool {
        step.withLock { if case .givenBack = $0 { true } else { false } }
    }

    private var isLeft: Bool {
        step.withLock { if case .left = $0 { true } else { false } }
    }

    /// What follows its failure.
    var retry: RetryWish {
        step.withLock { if case .ended(_, let retry) = $0 { retry } else { .asPlanned } }
    }

    private var outcome: Outcome? {
        step.withLock { if case .ended(let outcome, _) = $0 { outcome } else { nil } }
    }

    // MARK: - For the exchange

    /// Takes it for a worker: its thread begins it.
    func claim(for holder: JobHolder) {
        holderBox.withLock { $0 = holder }
        step.withLock { $0 = .claimed }
        wake()
    }

    /// Has its thread let go of it: no worker is there.
    func sendBack() {
        step.withLock { if case .waiting = $0 { $0 = .sentBack } }
        wake()
    }

    /// Leaves it to its worker, which may end it after the restart.
    func leaveToWorker() {
        step.withLock { if case .begun = $0 { $0 = .left } }
        wake()
    }

    /// Says how it ended.
    func end(_ outcome: Outcome, _ retry: RetryWish) {
        step.withLock { if case .begun = $0 { $0 = .ended(outcome, retry) } }
        wake()
    }

    /// Gives it back: its thread waits for another worker.
    func giveBack() {
        step.withLock { if case .begun = $0 { $0 = .givenBack } }
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
