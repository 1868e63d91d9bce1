// A job: one request to run a handler on a thread, and what has become of it.
//
// A pure value with a checked state machine: it knows no clock, thread or store. All moments are
// Unix milliseconds, since they are shown to people and survive a restart.

/// A request with an id, and how far it has come.
package struct Job: Hashable, Sendable {
    /// Its name.
    package let id: JobID

    /// What was asked for, but for the payload.
    package let details: JobDetails

    /// What the handler is given; released when the job has ended, unless it has failed.
    package private(set) var payload: [UInt8]

    /// Whether a while is to pass before it begins, however the clock is set.
    private let isWhile: Bool

    /// Where it is in its life.
    package private(set) var state: JobState

    /// The number of attempts begun.
    package private(set) var attempt = 0

    /// How many of them do not count any more: somebody had it run again after it had failed.
    package private(set) var forgivenCount = 0

    /// Whether it has failed and can be run again: its payload is still there.
    package private(set) var mayRunAgain = false

    /// When it was accepted.
    package let acceptedAt: Int64

    /// The moment before which it may not begin, `nil` if there was none.
    package private(set) var dueAt: Int64?

    /// Jobs from this number on came after the command that has made it due; nil if none has.
    package private(set) var releasedBefore: JobID?

    /// When the latest attempt began.
    package private(set) var startedAt: Int64?

    /// When it ended.
    package private(set) var endedAt: Int64?

    /// The worker of the latest attempt.
    package private(set) var workerName: String?

    /// How it ended, `nil` as long as it has not.
    package private(set) var outcome: Outcome?

    /// Makes the job for `request`: delayed, buffered, or waiting for its thread.
    ///
    /// - Parameter details: of the request, if somebody has them already.
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

    /// Makes a job as a store has kept it.
    ///
    /// - Parameters:
    ///   - request: what was asked for; of its schedule only the moment counts.
    ///   - state: where it was.
    ///   - progress: how far it had come.
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

    /// What a store keeps of a job's life beside its request.
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

    /// Whether another attempt may follow the one that runs or was the last.
    package var mayRetry: Bool { attempt - forgivenCount <= retryCountMax }

    /// Whether it is between two attempts, and others of its order wait for it.
    package var isBlocker: Bool { state == .delayed && retryBlocks && attempt > forgivenCount }

    /// When it ends if it has not begun: only its first beginning counts.
    package var expiresAt: Int64? {
        guard attempt == 0, !state.isEnded else { return nil }
        return details.options.expireMilliseconds.map { acceptedAt + $0 }
    }

    /// Whether it is due at a time of the clock on the wall, however that is set; else a while is
    /// to pass.
    package var goesByClock: Bool { attempt == 0 && !isWhile }

    /// How much of a payload is kept elsewhere, to run it again from there.
    private var releasedByteCount = 0

    /// The bytes that keeping it costs beyond its fixed size, here or elsewhere: payload, then
    /// result.
    package var byteCount: Int {
        payload.count + releasedByteCount + (outcome?.byteCount ?? 0)
    }

    /// Takes one step, or says why it cannot; `now` is when it happened.
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

    /// Records how it has ended, as a store is told it: whatever its state was.
    ///
    /// - Parameter attempt: the one that it ended with; nil for a job that had not begun.
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

    /// Gives up what a failed job would need to run again: it is kept elsewhere.
    package mutating func releasePayload() {
        guard mayRunAgain else { return }
        releasedByteCount = payload.count
        payload = []
        mayRunAgain = false
    }
}

extension Job {
    /// What was asked for, but for when it may begin and what it was called.
    package var request: JobRequest {
        var request = JobRequest(
            thread: thread, selector: selector, payload: payload, priority: priority,
            options: details.options)
        request.isVolatile = details.isVolatile
        return request
    }

    /// The thread or pool that it is for.
    package var thread: String { details.thread }
    /// The name of the handler.
    package var selector: String { details.selector }
    /// Its lane while it waits.
    package var priority: Priority { details.priority }
    /// How long one attempt may take; `nil` for as long as it likes.
    package var timeoutMilliseconds: Int64? { details.options.timeoutMilliseconds }
    /// How many further attempts follow one that failed.
    package var retryCountMax: Int { details.options.retryCountMax ?? 0 }
    /// Whether what follows in its order waits until a failed attempt was made good.
    package var retryBlocks: Bool { details.options.retryBlocks ?? false }
    /// What it has in common with those whose order counts; `nil` for none.
    package var key: [UInt8]? { details.options.key }
}
