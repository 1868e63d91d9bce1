// What was in the file when it was opened is counted in small parts while the daemon serves: nobody has
// to wait for a million rows. Until that is done, what is told of waiting jobs is "at least".

internal import Jobs
internal import SQLiteJobs

/// How far the jobs of before have been counted; the desk and the journal each have one, and since
/// answers keep their order, both say the same of the same moment.
struct JournalStock: Sendable {
    /// What has been counted at once.
    struct Part: Sendable {
        /// Parked jobs by their queues and states.
        var amounts: [QueueName: [JobState: JobAmount]] = [:]
        /// Those of selectors that nobody serves, which are not among them, by their selectors.
        var unserved: [QueueName: [String: JobAmount]] = [:]
        /// The last number of it.
        var through: UInt64 = 0
        /// Whether there is no more.
        var isLast = false
    }

    /// The largest number of before.
    let last: UInt64
    private(set) var through: UInt64 = 0
    private(set) var isComplete: Bool

    /// - Parameter last: the largest number that there is; 0 for none.
    init(last: UInt64 = 0) {
        self.last = last
        isComplete = last == 0
    }

    /// Whether a job is among what has been counted.
    func includes(_ id: JobID) -> Bool {
        isComplete || id.number <= through || id.number > last
    }

    /// A part has been counted.
    mutating func add(_ part: Part) {
        through = part.through
        isComplete = part.isLast
    }
}

/// Counts what was in the file.
///
/// Confined to the journal's thread.
final class StockTaking {
    private(set) var stock: JournalStock
    /// Jobs of before that the desk was given: they are not parked.
    private var given: Set<JobID> = []
    /// The selectors that somebody serves; jobs of others stay where they are.
    private let selectors: Set<String>
    /// The queues in which such jobs have been counted.
    private var unservedQueues: Set<QueueName> = []
    /// How many rows are looked at before others have their turn.
    let stepCount: Int

    init(
        _ store: SQLiteStore, serving selectors: Set<String>, stepCount: Int
    ) throws(StoreFault) {
        self.selectors = selectors
        self.stepCount = stepCount
        stock = JournalStock(last: try store.lastLiveNumber())
    }

    /// The desk is given jobs; it passes over those that nobody serves.
    func give(_ jobs: [Job]) {
        guard !stock.isComplete else { return }
        for job in jobs where !stock.includes(job.id) && serves(job.selector) {
            given.insert(job.id)
        }
    }

    /// Whether somebody serves a selector.
    func serves(_ selector: String) -> Bool { selectors.contains(selector) }

    /// Whether jobs that nobody serves have been counted in a queue.
    func hasUnserved(in queue: QueueName) -> Bool { unservedQueues.contains(queue) }

    /// Counts a little more.
    func next(_ store: SQLiteStore) throws(StoreFault) -> JournalStock.Part {
        var part = JournalStock.Part()
        let given = given
        // Mostly the next one is of the same queue and state: they are added up before it is looked
        // for among the others.
        var alike: (queue: QueueName, state: JobState)?
        var amount = JobAmount()
        var latest = (selector: "", isServed: serves(""))
        func addAlike() {
            guard let (queue, state) = alike else { return }
            part.amounts[queue, default: [:]][state, default: JobAmount()] += amount
            amount = JobAmount()
        }
        let seen = try store.forEachLive(
            after: stock.through, through: stock.last, limit: stepCount
        ) { queue, job in
            if job.selector != latest.selector { latest = (job.selector, serves(job.selector)) }
            guard latest.isServed else {
                part.unserved[queue, default: [:]][job.selector, default: JobAmount()] += .one(
                    job.byteCount)
                return
            }
            guard given.isEmpty || !given.contains(job.id) else { return }
            if alike?.state != job.state || alike?.queue != queue {
                addAlike()
                alike = (queue, job.state)
            }
            amount += .one(job.byteCount)
        }
        addAlike()
        unservedQueues.formUnion(part.unserved.keys)
        part.through = seen ?? stock.last
        part.isLast = seen == nil
        stock.add(part)
        if part.isLast { self.given = [] }
        return part
    }
}
