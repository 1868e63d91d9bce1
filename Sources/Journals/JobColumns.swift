// The columns of jobs and outcomes in the tables of every store, and their values here.

package import Jobs

/// The columns of the tables `jobs` and `ended`.
package enum JobColumns {
    package static let live = live(payload: "payload")

    package static func live(payload: String) -> String {
        "id, thread, selector, priority, retries, timeout_ms, accepted_at, due_at, attempt, "
            + "started_at, worker, held, \(payload), order_key, retry_blocks, forgiven, carried, "
            + "expires_at, released_before"
    }

    package static let ended = ended(result: "result")

    package static func ended(result: String) -> String {
        "id, thread, selector, priority, retries, timeout_ms, accepted_at, due_at, attempt, "
            + "started_at, worker, ended_at, outcome, \(result), "
            + "order_key, retry_blocks, forgiven, carried"
    }

    // MARK: - Codes, which never change

    package enum OutcomeCode {
        package static let done: Int64 = 1
        package static let failed: Int64 = 2
        package static let timedOut: Int64 = 3
        package static let cancelled: Int64 = 4
        package static let expired: Int64 = 5
    }

    /// The code of the column `held` for a job that has not ended.
    package static func heldCode(of state: JobState) -> Int64 {
        switch state {
        case .delayed: 1
        case .buffered: 2
        case .waiting, .running, .done, .failed, .cancelled, .expired: 0
        }
    }

    /// The value of the column `released_before` for a job that was in turn, and has been made due
    /// at an opening because a worker may still hold it.
    package static let hasLeftTurn: Int64 = -1

    /// The state that a code of the column `held` means.
    package static func state(held: Int64) -> JobState {
        switch held {
        case 1: .delayed
        case 2: .buffered
        default: .waiting
        }
    }

    /// An outcome as two columns.
    package static func encode(_ outcome: Outcome) -> (code: Int64, result: [UInt8]?) {
        switch outcome {
        case .done(let result): (OutcomeCode.done, result)
        case .failed(let reason): (OutcomeCode.failed, Array(reason.utf8))
        case .timedOut: (OutcomeCode.timedOut, nil)
        case .cancelled: (OutcomeCode.cancelled, nil)
        case .expired: (OutcomeCode.expired, nil)
        }
    }

    /// An outcome of two columns.
    package static func decode(_ code: Int64, _ result: [UInt8]) -> Outcome {
        switch code {
        case OutcomeCode.done: .done(result)
        case OutcomeCode.failed: .failed(reason: String(decoding: result, as: UTF8.self))
        case OutcomeCode.timedOut: .timedOut
        case OutcomeCode.expired: .expired
        default: .cancelled
        }
    }

    // MARK: - Jobs

    /// The job of a row with the columns of `live`.
    package static func liveJob(_ row: some TableRow) -> Job {
        var request = request(row, payload: row.bytes(12), orderFrom: 13)
        if let expiresAt = row.optionalInteger(17) {
            var options = request.options.value
            options.expireMilliseconds = expiresAt - row.integer(6)
            request.options = SharedJobOptions(options)
        }
        var progress = progress(row, orderFrom: 13)
        let releasedBefore = row.integer(18)
        if releasedBefore > 0 { progress.releasedBefore = JobID(UInt64(releasedBefore)) }
        return Job(
            id: id(row), request: request, acceptedAt: row.integer(6),
            state: state(held: row.integer(11)), progress: progress)
    }

    /// The job of a row with the columns of `ended`.
    package static func endedJob(_ row: some TableRow) -> Job {
        let outcome = decode(row.integer(12), row.bytes(13))
        var progress = progress(row, orderFrom: 14)
        progress.endedAt = row.integer(11)
        progress.outcome = outcome
        return Job(
            id: id(row), request: request(row, payload: [], orderFrom: 14),
            acceptedAt: row.integer(6), state: outcome.state, progress: progress)
    }

    /// The number in the first column.
    package static func id(_ row: some TableRow) -> JobID {
        JobID(UInt64(clamping: row.integer(0)))
    }

    /// The request in the columns from 13 or 14 on, which both tables have at their end.
    private static func request(
        _ row: some TableRow, payload: [UInt8], orderFrom column: Int32
    ) -> JobRequest {
        var options = JobOptions(
            timeoutMilliseconds: row.optionalInteger(5), retryCountMax: Int(row.integer(4)),
            retryBlocks: row.isTrue(column + 1), key: row.optionalBytes(column))
        options.carried = row.optionalBytes(column + 3)
        return JobRequest(
            thread: row.text(1), selector: row.text(2), payload: payload,
            priority: Priority(rawValue: Int(row.integer(3))) ?? .normal, options: options)
    }

    private static func progress(_ row: some TableRow, orderFrom column: Int32) -> Job.Progress {
        var progress = Job.Progress()
        progress.dueAt = row.optionalInteger(7)
        progress.attempt = Int(row.integer(8))
        progress.startedAt = row.optionalInteger(9)
        progress.workerName = row.optionalText(10)
        progress.forgivenCount = Int(row.integer(column + 2))
        return progress
    }
}
