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
