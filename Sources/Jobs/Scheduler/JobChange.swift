// Changes of jobs, as they are told to readers of all of them (EVENTS). The scheduler notes them
// only while the driver wants them.

internal import Wording

/// A change of a job's state.
package struct JobChange: Sendable, Equatable {
    /// The kinds of changes; raw values are their names on the wire.
    package enum Kind: String, Sendable, CaseIterable {
        /// The job is accepted and kept: it waits, is delayed or is buffered.
        case accepted
        /// Its moment has come, or its buffer was fired.
        case released
        case running
        /// The attempt failed and another follows.
        case retry
        /// The attempt does not count, and the job waits again.
        case putBack = "put-back"
        /// It goes on after its end was due.
        case stuck
        case done, failed
        case timedOut = "timed-out"
        case cancelled, expired
        /// A client has the failed job run again.
        case runAgain = "run-again"
        /// A client has dropped the failed job.
        case dropped

        init(_ outcome: Outcome) {
            self =
                switch outcome {
                case .done: .done
                case .failed: .failed
                case .timedOut: .timedOut
                case .cancelled: .cancelled
                case .expired: .expired
                }
        }
    }

    package let kind: Kind
    package let id: JobID
    /// In Unix milliseconds.
    package let at: Int64
    /// The state behind the change, as JOB names it; `dropped` for a job that is known no more.
    package let state: String
    /// The thread or pool that the job is for; nil if only its number is known.
    package var thread: String?
    package var selector: String?
    /// The attempt that runs or ran last; 0 before the first one.
    package var attempt = 0
    /// The thread that runs it, or ran it last.
    package var worker: String?
    /// When a delayed job may begin.
    package var dueAt: Int64?
    package var key: [UInt8]?
    package var label: [UInt8]?
    /// Why it has failed, in one line.
    package var failure: String?

    /// The longest reason that is told.
    package static let failureScalarCountMax = 200

    init(_ kind: Kind, _ id: JobID, state: String, at moment: Int64) {
        self.kind = kind
        self.id = id
        self.state = state
        at = moment
    }

    /// A change of a job in memory, which has happened.
    init(_ kind: Kind, of entry: JobEntry, at moment: Int64) {
        let job = entry.job
        self.init(
            kind, entry.id, state: kind == .stuck ? "stuck" : job.state.rawValue, at: moment)
        set(entry.details)
        attempt = job.attempt
        worker = job.workerName
        dueAt = job.state == .delayed ? job.dueAt : nil
        let reason = kind == .retry ? entry.lastFailure : job.outcome?.failureReason
        failure = reason.map { inOneLine($0, scalarCountMax: Self.failureScalarCountMax) }
    }

    mutating func set(_ details: JobDetails) {
        thread = details.thread
        selector = details.selector
        key = details.options.key
        label = details.options.value.label
    }

    /// The memory that it takes beside its own size.
    package var memoryByteCount: Int {
        (key?.count ?? 0) + (label?.count ?? 0) + (failure?.utf8.count ?? 0)
    }
}

/// A change that the scheduler tells its driver.
package enum SchedulerChange: Sendable, Equatable {
    case job(JobChange)
    /// The buffered jobs of a thread or pool with numbers below this one were fired.
    case fired(thread: String, before: JobID, at: Int64)
}

extension JobScheduler {
    /// Tells a change of a job in memory.
    ///
    /// A job that is not accepted yet has none: `tellAccepted` tells its end behind that.
    mutating func tell(_ kind: JobChange.Kind, of entry: JobEntry, at moment: Int64? = nil) {
        let isAccepted = !entry.isStored || !store.commits.mayContain(entry.id)
        guard isAccepted || kind == .accepted else { return }
        effects.change(.job(JobChange(kind, of: entry, at: moment ?? now.unixMilliseconds)))
    }

    /// Tells what an event has made of a job in memory.
    mutating func tell(_ event: JobEvent, of entry: JobEntry, at moment: Int64) {
        let kind: JobChange.Kind =
            switch event {
            case .release: .released
            case .start: .running
            case .retry: .retry
            case .putBack, .vanish: .putBack
            case .finish(let outcome): JobChange.Kind(outcome)
            case .runAgain: .runAgain
            case .cancel: .cancelled
            case .expire: .expired
            }
        tell(kind, of: entry, at: moment)
    }

    /// Tells that the store keeps a job, and how the job has ended since.
    mutating func tellAccepted(_ commit: CommitQueue.Commit) {
        var change = JobChange(
            .accepted, commit.id, state: commit.state.rawValue, at: now.unixMilliseconds)
        change.set(commit.details)
        change.dueAt = commit.state == .delayed ? commit.dueAt : nil
        effects.change(.job(change))
        if let entry = commit.job, let outcome = entry.job.outcome {
            tell(JobChange.Kind(outcome), of: entry)
        }
    }

    /// Tells that the buffered jobs of threads were fired, once that is so for all of a thread.
    mutating func tellFired(_ part: ReleaseBatch, rest: ReleaseBatch?) {
        let left = Set(rest?.queues.map { PoolSlot.shown($0.thread) } ?? [])
        let fired = Set(part.queues.map { PoolSlot.shown($0.thread) })
        for thread in fired.subtracting(left).sorted() {
            effects.change(
                .fired(thread: thread, before: part.before, at: now.unixMilliseconds))
        }
    }

    /// Tells how a job has ended that is not in memory.
    mutating func tellEnd(of id: JobID, thread: String, selector: String, _ outcome: Outcome) {
        var change = JobChange(
            JobChange.Kind(outcome), id, state: outcome.state.rawValue, at: now.unixMilliseconds)
        change.thread = thread
        change.selector = selector
        effects.change(.job(change))
    }

    /// Tells that a failed job was dropped.
    ///
    /// - Parameter known: the job, if it was in memory, with its key and label.
    mutating func tell(_ dropped: DroppedJob, _ known: JobEntry?) {
        var change = JobChange(.dropped, dropped.id, state: "dropped", at: now.unixMilliseconds)
        change.thread = dropped.thread
        change.selector = dropped.selector
        if let known { change.set(known.details) }
        effects.change(.job(change))
    }

    /// Tells that a failed job of the store runs again: it is delayed, and due at once.
    mutating func tellRunAgain(_ job: Job) {
        var change = JobChange(
            .runAgain, job.id, state: job.state.rawValue, at: now.unixMilliseconds)
        change.set(job.details)
        change.dueAt = job.dueAt
        change.attempt = job.attempt
        effects.change(.job(change))
    }

    /// The thread of a job says that it may have begun.
    package mutating func mayHaveBegun(_ id: JobID) {
        if let job = book.active(id) { noteBeginning(of: job) }
    }
}
