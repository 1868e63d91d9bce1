// How a job ended.

/// The result of a job, or why there is none.
package enum Outcome: Hashable, Sendable {
    /// The handler returned these bytes.
    case done([UInt8])
    /// The handler failed, for this reason.
    case failed(reason: String)
    /// The time limit passed first.
    case timedOut
    /// A client cancelled the job.
    case cancelled
    /// The job had not begun within its EXPIRE time.
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

    /// The bytes of the result or reason, as limits count them.
    package var byteCount: Int {
        switch self {
        case .done(let result): result.count
        case .failed(let reason): reason.utf8.count
        case .timedOut, .cancelled, .expired: 0
        }
    }
}
