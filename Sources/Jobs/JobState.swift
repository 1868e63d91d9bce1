// The life of a job.
//
//   accept ─▶ delayed  ─ release ─┐
//   accept ─▶ buffered ─ release ─┤
//   accept ───────────────────────┴▶ waiting ─ start ─▶ running ─ finish ─▶ done, failed, cancelled
//                                       ▲                  │
//      delayed if the retry has a time ─┴───── retry ──────┘
//
// CANCEL takes a delayed, buffered or waiting job to cancelled; the end of its EXPIRE time takes it
// to expired if it has never begun. RETRY takes a failed job back to waiting.

/// The states of a job; raw values are their names on the wire and in a store.
package enum JobState: String, CaseIterable, Sendable {
    /// Waits for its time.
    case delayed
    /// Waits for its buffer to be fired.
    case buffered
    /// Waits for its thread.
    case waiting
    /// A handler runs.
    case running
    /// Ended with a result.
    case done
    /// Ended without a result, after its last attempt.
    case failed
    /// Ended because a client cancelled it.
    case cancelled
    /// Ended because it had not begun in time.
    case expired

    /// Whether nothing can happen to the job any more.
    package var isEnded: Bool {
        switch self {
        case .delayed, .buffered, .waiting, .running: false
        case .done, .failed, .cancelled, .expired: true
        }
    }
}

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
