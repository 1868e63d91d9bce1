// The turn of a thread that serves a job for a worker in another process. When the job has ended,
// the exchange takes the thread's next job, if that is one for workers too: the thread is busy, and
// sleeps on. When the next job is of another kind, the thread goes on by itself.

internal import Jobs
internal import Synchronization
internal import WorkerThreads

/// A job for workers, as it waits for its thread.
final class RemoteWork: DelegatedWork {
    let context: JobContext
    private let selector: Configuration.Selector

    init(_ context: JobContext, _ selector: Configuration.Selector) {
        self.context = context
        self.selector = selector
    }

    func perform(in turn: MemberTurn?) { context.serve(self, in: turn) }

    /// The job, on a thread; nil if it was withdrawn, or has expired.
    func job(in turn: RemoteTurn) -> RemoteJob? { context.remoteJob(selector, in: turn) }
}

/// The jobs that a thread serves for workers, one after another.
///
/// - Thread: any thread, unless said otherwise.
final class RemoteTurn: Sendable {
    /// A thread's next job.
    enum Next {
        case job(RemoteJob)
        /// There is none yet.
        case nothing
        /// Its thread goes on by itself.
        case over
    }

    let group: WorkerGroup
    /// The thread.
    let member: WorkerGroup.Member
    private let worker: WorkerCore
    /// Nil if the thread takes its next job itself.
    private let turn: MemberTurn?
    private let reports: MessagePort<RemoteReport>
    /// The job that is served.
    private let current = Mutex<RemoteJob?>(nil)

    /// - Thread: a member's of the group.
    init(_ turn: MemberTurn?, _ group: WorkerGroup, _ reports: MessagePort<RemoteReport>) {
        guard let worker = WorkerCore.current else { fatalError("not on a worker thread") }
        self.turn = turn
        self.group = group
        self.worker = worker
        self.reports = reports
        member = group.currentMember
    }

    /// Serves a job, and then others that the exchange takes.
    ///
    /// - Thread: the member's.
    /// - Blocks: until the thread has to go on by itself; it serves its loop in mode `job`.
    func serve(_ first: RemoteJob) {
        turn?.whenCalled(
            wanted: { [weak self] in if let self { reports.send(.wanted(self)) } },
            over: { [weak self] in self?.wake() })
        current.withLock { $0 = first }
        first.wait()
        first.report()
        worker.serveJob { mayGoOn }
        // Before the job is let go of: from now on the exchange takes no other one.
        turn?.end()
        current.withLock { $0.take() }?.leaveThread()
    }

    private var mayGoOn: Bool { current.withLock { $0 }?.mayGoOn ?? isOver }

    private var isOver: Bool { turn?.isOver ?? true }

    /// Whether no job is served, and one may come.
    var isIdle: Bool { current.withLock { $0 } == nil && !isOver }

    /// Has the thread look whether it may go on.
    func wake() {
        let loop = worker.loop
        loop.perform(inModes: [.job]) { loop.stop() }
    }

    // MARK: - For the exchange

    /// Lets go of a job that has ended.
    ///
    /// - Returns: false if another one is served.
    func release(_ job: RemoteJob) -> Bool {
        current.withLock { current in
            guard current === job else { return false }
            current = nil
            return true
        }
    }

    /// Takes the thread's next job, while none is served.
    func next() -> Next {
        while true {
            switch turn?.next() ?? .over {
            case .work(let work):
                guard let work = work as? RemoteWork else { fatalError("no job for workers") }
                guard let job = work.job(in: self) else { continue }
                current.withLock { $0 = job }
                job.wait()
                return .job(job)
            case .nothing: return .nothing
            case .over:
                wake()
                return .over
            }
        }
    }

    /// Lets the thread go on if no job is served.
    func endIfIdle() { turn?.endIfIdle() }
}
