// What can happen to a job after it was accepted.

/// A step in the life of a job; `JobState.swift` has the picture.
package enum JobEvent: Hashable, Sendable {
    /// Its time has come, or its buffer was fired: it now waits for its thread.
    case release
    /// A worker has taken it and begins an attempt.
    case start(worker: String)
    /// The attempt came to nothing and another follows: not before `dueAt` if it is given.
    case retry(dueAt: Int64?)
    /// The attempt has ended, and the job with it.
    case finish(Outcome)
    /// Somebody wants it to be tried again after it had failed for good; its attempts count anew.
    case runAgain
    /// Somebody took it back before it began; a running job is asked to stop and then finishes.
    case cancel
    /// It has not begun in time.
    case expire

    /// The event without what comes with it.
    package var name: String {
        switch self {
        case .release: "release"
        case .start: "start"
        case .retry: "retry"
        case .finish: "finish"
        case .runAgain: "run again"
        case .cancel: "cancel"
        case .expire: "expire"
        }
    }
}

/// Says that an event came to a job that was in no state for it.
///
/// Thrown and not trapped on: events come from several threads, and a handler's last word after its
/// time limit, or a `CANCEL` of what has just ended, is nobody's mistake. The job is as it was.
package struct IllegalTransition: Error, Hashable, CustomStringConvertible {
    /// The job.
    package let id: JobID

    /// The state that it is in, and stays in.
    package let state: JobState

    /// The name of the event.
    package let event: String

    /// One line for the log.
    package var description: String {
        "job \(id) is \(state.rawValue): it is too early or too late to \(event)"
    }
}
