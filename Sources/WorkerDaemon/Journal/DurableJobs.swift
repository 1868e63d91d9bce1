// What the desk remembers of durable jobs beside the live ones: those that are being committed, those
// that are parked, who waits for one of them, and who has asked the journal something.

internal import Jobs
internal import Structures

/// The desk's side of the journal.
///
/// Confined to the desk's thread.
final class DurableJobs {
    /// A job whose commit is awaited.
    struct Accepting {
        let id: JobID
        /// Nil if it is parked.
        let job: LiveJob?
        let backlog: Backlog
        let dueAt: Int64?
        let answer: (Result<JobID, WireError>) -> Void
    }

    /// What is done with the journal's answer.
    enum Question {
        case confirmed((StoreFault?) -> Void)
        case settled((Result<FailedJobsAnswer, StoreFault>) -> Void)
        case found((Result<Job?, StoreFault>) -> Void)
        case listed((Result<[Job], StoreFault>) -> Void)
        case cancelled((Result<[QueueName: [JobID]], StoreFault>) -> Void)
    }

    /// Numbers that are kept back in advance: those of volatile jobs leave no other trace.
    static let reservedCount: UInt64 = 20_000

    let journal: Journal
    /// In the order of their commands.
    var accepting = FIFO<Accepting>()
    var backlogs: [QueueName: Backlog] = [:]
    /// Who waits for the end of a parked job.
    var waiters: [JobID: [LiveJob.Waiter]] = [:]
    var reservedBelow: UInt64 = 0
    var isFireScheduled = false
    /// Whether parked jobs stay where they are: the daemon goes down.
    var isClosed = false
    /// Jobs of schedules that are told to the journal together, after they were accepted.
    private var runs: [MadeRun] = []
    private var questions: [UInt64: Question] = [:]
    private var lastTicket: UInt64 = 0

    init(_ journal: Journal) { self.journal = journal }

    /// Jobs that are in the journal and not in memory.
    private(set) var parkedCount = 0
    /// Selectors of jobs that nobody can run, which were told to the log.
    var unservedSelectors: Set<String> = []

    /// A queue and how many of its jobs are parked already.
    func add(_ backlog: Backlog) {
        backlogs[backlog.queue] = backlog
        parkedCount += backlog.parkedCount
    }

    /// One more job of a queue is parked.
    func addParked(to backlog: Backlog) {
        backlog.addParked()
        parkedCount += 1
    }

    /// Jobs of a queue are no longer parked.
    func removeParked(_ count: Int, from backlog: Backlog) {
        let before = backlog.parkedCount
        backlog.removeParked(count)
        parkedCount -= before - backlog.parkedCount
    }

    /// One more job of a schedule is to be told to the journal.
    func add(_ run: MadeRun) { runs.append(run) }

    /// Those jobs, once.
    func takeRuns() -> [MadeRun] {
        defer { runs.removeAll() }
        return runs
    }

    /// The ticket under which an answer is expected.
    func expect(_ question: Question) -> UInt64 {
        lastTicket += 1
        questions[lastTicket] = question
        return lastTicket
    }

    /// Whoever waits for the answer under a ticket.
    func take(_ ticket: UInt64) -> Question? { questions.removeValue(forKey: ticket) }

    /// The one who waited longer than they wanted.
    func removeWaiter(_ token: UInt64, of receiver: any OutcomeReceiver, for id: JobID) {
        waiters[id]?.removeAll { $0.token == token && $0.receiver === receiver }
        if waiters[id]?.isEmpty == true { waiters[id] = nil }
    }
}
