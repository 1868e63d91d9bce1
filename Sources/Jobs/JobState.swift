// Where a job is in its life.
//
//    accept ─▶ delayed  ─ release ─┐
//    accept ─▶ buffered ─ release ─┤
//    accept ───────────────────────┴▶ waiting ─ start ─▶ running ─ finish ─▶ done, failed, cancelled
//                                        ▲                  │
//       delayed if the retry has a time ─┴───── retry ──────┘
//
// A job that is delayed, buffered or waiting goes to cancelled when it is cancelled, and to expired
// when it was to begin by then and never has. One that has failed goes to waiting when somebody has
// it run again.

/// The states of a job; raw values are their names on the wire and in a store.
package enum JobState: String, CaseIterable, Sendable {
    /// Waits for its time.
    case delayed
    /// Waits for its buffer to be fired.
    case buffered
    /// Waits for its thread.
    case waiting
    /// A handler is at it.
    case running
    /// Ended with a result.
    case done
    /// Ended without one, after its last attempt.
    case failed
    /// Ended because somebody asked for it.
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
