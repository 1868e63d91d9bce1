// All queues of stored jobs, the progress of counting those of an earlier run, and the unserved
// jobs.

/// The queues of a scheduler by their names, and the counts of their jobs.
package struct JobQueues {
    let window: WindowLimits
    private var byName: [QueueName: JobQueue] = [:]
    /// All queues, in the order in which they came: the same inputs have the same effects.
    private(set) var all: [JobQueue] = []
    /// The one that was looked up last: most clients ask for the same again and again.
    private var recent: JobQueue?
    /// The jobs of all queues together.
    let load = JobLoad()
    package let miscounts = Miscounts()
    /// How much of an earlier run has been counted.
    private var recovery = RecoveryCount()
    /// The driver's tags that are confirmed when all of it has been counted.
    var countTags: [UInt64] = []
    /// Jobs of an earlier run that were parked before the count reached them: they are counted
    /// already.
    private var parkedAgain: Set<JobID> = []
    /// Jobs whose thread is not configured any more.
    package internal(set) var orphans = OrphanedJobs()
    /// Jobs whose selector is not configured any more.
    package internal(set) var unserved = UnknownSelectorJobs()
    var parkedExpiry = ParkedExpiry()

    init(_ window: WindowLimits) { self.window = window }

    subscript(name: QueueName) -> JobQueue? { byName[name] }

    /// The queue of a name, made if there is none.
    mutating func queue(
        _ name: QueueName, of group: ThreadGroup, mayHaveEarlierJobs: Bool = false
    ) -> JobQueue {
        if let recent, recent.name == name { return recent }
        let queue = byName[name] ?? make(name, of: group, mayHaveEarlierJobs: mayHaveEarlierJobs)
        recent = queue
        return queue
    }

    private mutating func make(
        _ name: QueueName, of group: ThreadGroup, mayHaveEarlierJobs: Bool
    ) -> JobQueue {
        let queue = JobQueue(
            name, of: group, load: load, limits: window.shared(by: group.slots.count),
            miscounts: miscounts,
            mayHaveEarlierJobs: mayHaveEarlierJobs)
        byName[name] = queue
        all.append(queue)
        return queue
    }

    /// The queues that a name of a group addresses; the group's name includes those of its members.
    func addressed(by thread: String, of group: ThreadGroup) -> [JobQueue] {
        all.filter {
            $0.group === group && group.addresses($0.name.thread, by: thread)
        }
    }

    // MARK: - Counts

    /// A job that was in memory is parked.
    mutating func park(_ id: JobID, _ state: JobState, byteCount: Int, in queue: JobQueue) {
        if !recovery.includes(id) { parkedAgain.insert(id) }
        queue.addParked(state, .one(byteCount))
    }

    /// A parked job is parked no more.
    mutating func unpark(_ id: JobID, _ state: JobState, byteCount: Int, from queue: JobQueue) {
        guard hasCounted(id) else { return }
        parkedAgain.remove(id)
        queue.removeParked(state, .one(byteCount))
    }

    /// A job has no thread: it stays in the store.
    mutating func addOrphan(_ job: Job) {
        if !recovery.includes(job.id) { parkedAgain.insert(job.id) }
        orphans.add(.one(job.payload.count), job.state.asParked, to: job.queue)
    }

    /// A job without a thread has left the store.
    mutating func removeOrphan(_ job: CountedJob, from queue: QueueName) {
        guard hasCounted(job.id) else { return }
        parkedAgain.remove(job.id)
        if !orphans.remove(job, from: queue) {
            miscounts.report("orphaned jobs", of: queue)
        }
    }

    /// A job of an unknown selector has left the store.
    mutating func removeUnserved(_ job: CountedJob, from queue: QueueName) {
        guard hasCounted(job.id) else { return }
        if !unserved.remove(job, from: queue) {
            miscounts.report("jobs of an unknown selector", of: queue)
        }
    }

    /// The count of an earlier run begins.
    mutating func beginCount(_ count: RecoveryCount) { recovery = count }

    /// More of an earlier run has been counted.
    mutating func add(_ part: RecoveryCount.Part) {
        recovery.add(part)
        if part.isLast { parkedAgain = [] }
    }

    /// Whether all jobs of an earlier run are counted.
    var areCounted: Bool { recovery.isComplete }

    /// Whether a parked job is counted as one.
    func hasCounted(_ id: JobID) -> Bool { parkedAgain.contains(id) || recovery.includes(id) }
}

extension JobState {
    /// The state in which a store has a job that is not in memory.
    var asParked: JobState {
        switch self {
        case .delayed, .buffered: self
        case .waiting, .running, .done, .failed, .cancelled, .expired: .waiting
        }
    }
}
