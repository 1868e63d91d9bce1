// Refusals and failures in the core's own words. A door maps them to its protocol.

internal import Wording

/// Why a request about jobs was refused, or why a job brought no result.
package enum JobError: Error, Hashable, Sendable {
    /// No thread or pool of that name.
    case unknownThread(String)
    /// The thread was stopped and takes no jobs.
    case stoppedThread(String)
    /// The thread's jobs belong to another scheduler.
    case foreignThread(String)
    /// Another scheduler has the job's thread since a moment ago.
    case hasMoved(JobID, thread: String)
    /// The job's thread was stopped before the job began. A durable job runs after a restart.
    case leftForRestart(JobID, thread: String)
    /// No handler of that name.
    case unknownSelector(String)
    /// No job of that number, or its retention is over.
    case unknownJob(JobID)
    /// A limit is reached; the reason names it. There may be room after so many seconds.
    case full(reason: String, retryAfterSeconds: Int)
    /// The store in memory has no room.
    case refused(JobStoreError)
    /// The store in a file can't write or read.
    case storeFailed(StoreFault)
    /// The daemon shuts down and accepts nothing.
    case shuttingDown
    /// The daemon shut down before the job ended.
    case abandoned
    /// The daemon shut down during a bulk action, after so many jobs.
    case interrupted(jobCount: Int)
    /// The handler failed.
    case failed(JobID, reason: String)
    /// The time limit of the attempt passed.
    case timedOut(JobID)
    /// The job was cancelled.
    case cancelled(JobID)
    /// The job had not begun within its EXPIRE time.
    case expired(JobID)
    /// The client's time to wait has passed. With the latest attempt's failure, if there was one.
    case waitedInVain(JobID, milliseconds: Int, lastFailure: String?)
    /// The unique name belongs to a job with another thread, selector or payload.
    case nameTaken(JobID)
    /// The job of a unique name has ended, and its outcome is no longer kept.
    case resultIsGone(JobID)
    /// The action is for failed jobs, and this one is in another state.
    case hasNotFailed(JobID, JobState, action: String)
    /// The job has ended and is not kept as failed, so its payload is gone.
    case hasNoPayload(JobID, JobState)
    /// A failed job that was kept without its payload.
    case payloadIsGone(JobID)
    /// The limit of schedules is reached.
    case tooManySchedules(Int)
    /// The schedule belongs to the configuration.
    case configuredSchedule(String)
    /// The schedule itself is wrong.
    case invalidSchedule(ScheduleFault)

    /// Whether the same request may succeed once other jobs have left.
    package var mayFindRoom: Bool {
        switch self {
        case .full, .refused: true
        default: false
        }
    }

    /// Whether the same request may succeed later.
    package var isPassing: Bool {
        switch self {
        case .full, .refused, .storeFailed, .tooManySchedules, .hasMoved: true
        default: false
        }
    }
}

extension JobError: CustomStringConvertible {
    /// One line that says what was wrong.
    package var description: String {
        switch self {
        case .unknownThread(let name): "there is no thread \(quoted(name))"
        case .stoppedThread(let name): "thread \(PoolSlot.shown(name)) has been stopped"
        case .foreignThread(let name): "thread \(name) belongs to another workerd"
        case .hasMoved(let id, let thread):
            "another workerd has thread \(thread) of job \(id) now: ask again"
        case .leftForRestart(let id, let thread):
            "thread \(PoolSlot.shown(thread)) has been stopped: job \(id) runs after a restart"
        case .unknownSelector(let name): "there is no selector \(quoted(name))"
        case .unknownJob(let id): "there is no job \(id), or it ended too long ago to be kept"
        case .full(let reason, let seconds): "\(reason); try again in \(seconds) s"
        case .refused(let error): "\(error)"
        case .storeFailed(let fault) where fault.kind == .nameInUse: fault.detail
        case .storeFailed(let fault): "the journal can't write, try again later: \(fault)"
        case .shuttingDown: "the daemon is going down"
        case .abandoned: "the daemon went down before the job ended"
        case .interrupted(let count):
            "the daemon is going down: of these jobs, \(count) were settled"
        case .failed(let id, let reason): "job \(id): \(reason)"
        case .timedOut(let id): "job \(id) took longer than its time limit"
        case .cancelled(let id): "job \(id) was cancelled"
        case .expired(let id): "job \(id) had not begun in time, and never runs"
        case .waitedInVain(let id, let milliseconds, let failure):
            "job \(id) has not ended within \(milliseconds) ms"
                + (failure.map { " (it is tried again, its latest attempt failed: \($0))" } ?? "")
        case .nameTaken(let id):
            "the name belongs to job \(id), which has another thread, selector or payload"
        case .resultIsGone(let id): "job \(id) has ended, and its result is kept no more"
        case .hasNotFailed(let id, let state, let action):
            "job \(id) is \(state.rawValue): only one that has failed can \(action)"
        case .hasNoPayload(let id, let state):
            "job \(id) is \(state.rawValue): its payload is kept no more"
        case .payloadIsGone(let id): "job \(id) was kept without its payload: it can't run again"
        case .tooManySchedules(let count): "there are \(count) schedules, as many as may be"
        case .configuredSchedule(let name):
            "schedule \(name) is in the configuration: change it there"
        case .invalidSchedule(let fault): "\(fault)"
        }
    }
}
