// A job: one request to run a handler on a thread, and what has become of it.
//
// A pure value with a checked state machine: it knows no clock, thread or store. All moments are
// Unix milliseconds, since they are shown to people and survive a restart.

/// A request with an id, and how far it has come.
package struct Job: Hashable, Sendable {
    /// The job's number.
    package let id: JobID

    /// The request, without its payload.
    package let details: JobDetails

    /// The handler's input; released when the job has ended, unless it has failed.
    package private(set) var payload: [UInt8]

    /// Whether a period must pass before it begins, however the wall clock is set.
    private let isWhile: Bool

    /// The state of the job.
    package private(set) var state: JobState

    /// The number of attempts begun.
    package private(set) var attempt = 0

    /// The number of attempts that no longer count: those before the last RETRY.
    package private(set) var forgivenCount = 0

    /// Whether it has failed and can run again: its payload is still there.
    package private(set) var mayRunAgain = false

    /// When the job was accepted.
    package let acceptedAt: Int64

    /// The moment before which it may not begin; `nil` for none.
    package private(set) var dueAt: Int64?

    /// The first job number after the command that made this job due; nil if none has.
    package private(set) var releasedBefore: JobID?

    /// When the latest attempt began.
    package private(set) var startedAt: Int64?

    /// When the job ended.
    package private(set) var endedAt: Int64?

    /// The worker of the latest attempt.
    package private(set) var workerName: String?

    /// How it ended; `nil` until then.
    package private(set) var outcome: Outcome?

    /// Makes the job for `request`: delayed, buffered, or waiting for its thread.
    ///
    /// - Parameter details: the request's details, if the caller has them already.
    package init(
        id: JobID, request: borrowing JobRequest, _ details: JobDetails? = nil, acceptedAt: Int64
    ) {
        self.id = id
        self.acceptedAt = acceptedAt
        self.details = details ?? JobDetails(request)
        payload = request.payload
        switch request.schedule {
        case .now:
            (state, isWhile) = (.waiting, false)
        case .buffered:
            (state, isWhile) = (.buffered, false)
        case .at(let moment, let byClock):
            dueAt = moment
            (state, isWhile) = (moment > acceptedAt ? .delayed : .waiting, !byClock)
        }
    }

    /// Makes a job from a store's record.
    ///
    /// - Parameters:
    ///   - request: the request; of its schedule only the moment counts.
    ///   - state: its recorded state.
    ///   - progress: the recorded part of its life.
    package init(
        id: JobID, request: borrowing JobRequest, acceptedAt: Int64, state: JobState,
        progress: Progress
    ) {
        self.init(id: id, request: request, acceptedAt: acceptedAt)
        self.state = state
        dueAt = progress.dueAt
        releasedBefore = progress.releasedBefore
        attempt = progress.attempt
        forgivenCount = progress.forgivenCount
        startedAt = progress.startedAt
        workerName = progress.workerName
        endedAt = progress.endedAt
        outcome = progress.outcome
    }

    /// The part of a job's life that a store keeps beside its request.
    package struct Progress: Hashable, Sendable {
        package var dueAt: Int64?
        package var releasedBefore: JobID?
        package var attempt = 0
        package var forgivenCount = 0
        package var startedAt: Int64?
        package var workerName: String?
        package var endedAt: Int64?
        package var outcome: Outcome?

        /// Nothing has happened to it.
        package init() {}
    }

    /// Whether it is between two attempts, and later jobs of its order wait for it.
    package var isBlocker: Bool { state == .delayed && retryBlocks && attempt > forgivenCount }

    /// When it expires if no attempt has begun: only the first beginning counts.
    package var expiresAt: Int64? {
        guard attempt == 0, !state.isEnded else { return nil }
        return details.options.expireMilliseconds.map { acceptedAt + $0 }
    }

    /// Whether it is due at a time of the wall clock, however that is set; else after a period.
    package var goesByClock: Bool { attempt == 0 && !isWhile }

    /// The bytes of its payload that a store keeps, from where it can run again.
    private var releasedByteCount = 0

    /// The bytes that it takes beyond its fixed size, here or in a store: payload, then result.
    ///
    /// Inlined: a call copies the job, which is 200 bytes.
    @inline(__always)
    package var byteCount: Int {
        payload.count + releasedByteCount + (outcome?.byteCount ?? 0)
    }

    /// Takes one step, or throws the reason it cannot; `now` is when the event happened.
    package mutating func apply(_ event: JobEvent, at now: Int64) throws(IllegalTransition) {
        switch (state, event) {
        case (.delayed, .release), (.buffered, .release):
            state = .waiting
        case (.waiting, .start(let worker)):
            state = .running
            attempt += 1
            startedAt = now
            workerName = worker
        case (.running, .retry(let moment)):
            dueAt = moment
            releasedBefore = nil
            state = moment.map { $0 > now } == true ? .delayed : .waiting
        case (.running, .putBack):
            state = .waiting
            attempt -= 1
            startedAt = nil
            workerName = nil
        case (.running, .vanish), (.waiting, .vanish), (.delayed, .vanish):
            // Its beginning may not have been noted.
            if state == .running { state = .waiting } else { attempt += 1 }
            forgivenCount += 1
            startedAt = nil
            workerName = nil
        case (.running, .finish(let outcome)):
            end(outcome, at: now)
        case (.delayed, .cancel), (.buffered, .cancel), (.waiting, .cancel):
            end(.cancelled, at: now)
        case (.delayed, .expire), (.buffered, .expire), (.waiting, .expire):
            end(.expired, at: now)
        case (.failed, .runAgain) where mayRunAgain:
            state = .waiting
            dueAt = now
            endedAt = nil
            outcome = nil
            mayRunAgain = false
            forgivenCount = attempt
        default:
            throw IllegalTransition(id: id, state: state, event: event.name)
        }
    }

    /// Records its end as told to a store, whatever its state was.
    ///
    /// - Parameter attempt: the attempt that it ended with; nil for a job that had not begun.
    package mutating func end(_ attempt: Attempt?, _ outcome: Outcome, at now: Int64) {
        if let attempt {
            self.attempt = attempt.number
            startedAt = attempt.startedAt ?? startedAt
            workerName = attempt.workerName ?? workerName
        }
        end(outcome, at: now)
    }

    private mutating func end(_ outcome: Outcome, at now: Int64) {
        state = outcome.state
        endedAt = now
        self.outcome = outcome
        if state == .failed { mayRunAgain = true } else { payload = [] }
    }

    /// Releases the payload of a failed job, which its store keeps for another run.
    package mutating func releasePayload() {
        guard mayRunAgain else { return }
        releasedByteCount = payload.count
        payload = []
        mayRunAgain = false
    }
}

extension Job {
    /// The thread or pool that runs it.
    package var thread: String { details.thread }
    /// The name under which it waits, as of `JobDetails.slot`.
    package var slot: String { details.slot }
    /// The name of the handler.
    package var selector: String { details.selector }
    /// The job's lane while it waits.
    package var priority: Priority { details.priority }
    /// The time limit of one attempt; `nil` for none.
    package var timeoutMilliseconds: Int64? { details.options.timeoutMilliseconds }
    /// The number of further attempts after a failed one.
    package var retryCountMax: Int { details.options.retryCountMax ?? 0 }
    /// Whether later jobs of its order wait until a failed attempt was made good.
    package var retryBlocks: Bool { details.options.retryBlocks ?? false }
    /// The key: jobs with the same one run in order; `nil` for none.
    package var key: [UInt8]? { details.options.key }
}

/// The record of an attempt, written when it begins, and again when the job ends.
package struct Attempt: Hashable, Sendable {
    /// The attempt's number, from 1 on; 0 for a job that ends without an attempt.
    package var number: Int

    /// The worker thread that runs the attempt.
    package var workerName: String?

    /// When the attempt began.
    package var startedAt: Int64?

    /// Describes an attempt.
    package init(number: Int, workerName: String? = nil, startedAt: Int64? = nil) {
        self.number = number
        self.workerName = workerName
        self.startedAt = startedAt
    }
}
