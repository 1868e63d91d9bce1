// How a job ended.

/// The result of a job, or why there is none.
package enum Outcome: Hashable, Sendable {
    /// The handler returned these bytes.
    case done([UInt8])
    /// The handler gave up, for this reason.
    case failed(reason: String)
    /// The time limit passed first.
    case timedOut
    /// Somebody asked for it.
    case cancelled
    /// It had not begun in time, and never did.
    case expired

    /// The state in which it leaves the job.
    package var state: JobState {
        switch self {
        case .done: .done
        case .failed, .timedOut: .failed
        case .cancelled: .cancelled
        case .expired: .expired
        }
    }

    /// The word by which a client's program knows the error; `nil` if there is none.
    package var errorWord: String? {
        switch self {
        case .done: nil
        case .failed: "FAILED"
        case .timedOut: "TIMEOUT"
        case .cancelled: "CANCELLED"
        case .expired: "EXPIRED"
        }
    }

    /// The bytes of the result or reason, which are what keeping it costs.
    package var byteCount: Int {
        switch self {
        case .done(let result): result.count
        case .failed(let reason): reason.utf8.count
        case .timedOut, .cancelled, .expired: 0
        }
    }
}
