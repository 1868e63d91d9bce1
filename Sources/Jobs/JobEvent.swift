// Events in the life of a job after it was accepted.

/// A step in the life of a job; `JobState.swift` has the picture.
package enum JobEvent: Hashable, Sendable {
    /// Its time has come, or its buffer was fired: it now waits for its thread.
    case release
    /// A worker has taken it and begins an attempt.
    case start(worker: String)
    /// The attempt failed and another follows: not before `dueAt` if it is given.
    case retry(dueAt: Int64?)
    /// The attempt does not count, and the job waits again at its place.
    case putBack
    /// Its worker has vanished: the job waits again at its place, and its retries are as many as
    /// before.
    case vanish
    /// The attempt has ended, and the job with it.
    case finish(Outcome)
    /// A client has a failed job run again (RETRY); its attempts count anew.
    case runAgain
    /// A client cancelled it before it began. A running job is asked to end, then `finish`es.
    case cancel
    /// Its EXPIRE time has passed before it began.
    case expire

    /// The event without its values.
    package var name: String {
        switch self {
        case .release: "release"
        case .start: "start"
        case .retry: "retry"
        case .putBack: "put back"
        case .vanish: "vanish"
        case .finish: "finish"
        case .runAgain: "run again"
        case .cancel: "cancel"
        case .expire: "expire"
        }
    }
}

/// An event that the job's state does not allow.
///
/// Thrown and not trapped on: events come from several threads, so a handler's last report after
/// its time limit, or a `CANCEL` of a job that has just ended, is no mistake. The job is unchanged.
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
