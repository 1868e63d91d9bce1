// Counts the jobs that were in the file when it was opened, a few rows at a time.

package import Jobs

/// Counts the recovered jobs.
///
/// Confined to the journal's thread.
package final class RecoveryCounter {
    private(set) var stock: RecoveryCount
    /// Recovered jobs that the scheduler was given: they are not parked.
    private var given: Set<JobID> = []
    /// The selectors that have a handler; jobs of others stay in the store.
    private var selectors: Set<String>
    /// The selectors whose jobs the scheduler counts as parked: also those that are served no more.
    private var countedSelectors: Set<String>
    /// The queues in which jobs without a handler were counted.
    private var unservedQueues: Set<QueueName> = []
    /// The number of rows of one part; other commands have their turn between two parts.
    let stepCount: Int

    package init(
        _ store: any JournalTables, serving selectors: Set<String>, stepCount: Int
    ) throws(StoreFault) {
        self.selectors = selectors
        countedSelectors = selectors
        self.stepCount = stepCount
        stock = RecoveryCount(last: try store.lastLiveNumber())
    }

    /// Records that the scheduler is given jobs; it skips those without a handler.
    func give(_ jobs: [Job]) {
        guard !stock.isComplete else { return }
        for job in jobs where !stock.includes(job.id) && serves(job.selector) {
            given.insert(job.id)
        }
    }

    /// Whether a selector has a handler.
    func serves(_ selector: String) -> Bool { selectors.contains(selector) }

    /// Other selectors have handlers from now on.
    func serve(_ selectors: Set<String>) {
        self.selectors = selectors
        countedSelectors.formUnion(selectors)
    }

    /// Whether a queue may have jobs without a handler among those before the parked ones.
    func hasUnserved(in queue: QueueName) -> Bool {
        unservedQueues.contains(queue) || countedSelectors.count > selectors.count
    }

    /// Jobs of a taken queue were counted; those without a handler stay in the store.
    func noteCounted(_ selectors: some Sequence<String>, in queue: QueueName) {
        if selectors.contains(where: { !serves($0) }) { unservedQueues.insert(queue) }
    }

    /// Counts the next part.
    func next(_ store: any JournalTables) throws(StoreFault) -> RecoveryCount.Part {
        var part = RecoveryCount.Part()
        let given = given
        // Mostly the next job is of the same queue and state: such jobs are added up before the
        // queue is looked up.
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
                part.unserved[queue, default: [:]][job.selector, default: [:]][
                    job.state, default: JobAmount()] += .one(job.byteCount)
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
