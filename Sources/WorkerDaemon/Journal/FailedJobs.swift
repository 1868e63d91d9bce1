// Jobs that have failed for good, as the desk asks the journal for them and is answered.

internal import Jobs
internal import SQLiteJobs

/// Which failed jobs are meant.
enum FailedJobs: Sendable {
    case one(JobID)
    /// All of a selector.
    case all(selector: String)
}

/// What is to become of them.
enum FailedJobsFate: Sendable {
    /// They run again, as far as somebody serves them.
    case runAgain(isServed: @Sendable (Job) -> Bool)
    case drop
}

/// How many of them at once, and which: all of a selector are settled part by part, each a transaction.
struct FailedJobsPart: Sendable {
    /// Those up to this one have been settled.
    var after = JobID(0)
    /// None that was accepted later than the command came.
    let before: JobID
    let countMax: Int
    /// No further one, once the payloads of those that run again have this size together.
    let byteCountMax: Int
    /// Whether its answer waits for the disk: behind the first part, one sync at the end does for all.
    var isSynced = true
}

/// What has become of them.
struct FailedJobsAnswer: Sendable {
    /// Those that run again.
    var jobs: [Job] = []
    /// Those that were dropped.
    var droppedIDs: [JobID] = []
    /// The one that was asked for, if nothing could be done about it.
    var other: Job?
    /// The last one that was looked at, if there may be more behind it.
    var last: JobID?
}

extension SQLiteStore {
    /// Lets failed jobs have their fate; part of a transaction.
    func settle(
        _ failed: FailedJobs, _ fate: FailedJobsFate, _ part: FailedJobsPart, at now: Int64
    ) throws(StoreFault) -> FailedJobsAnswer {
        var answer = FailedJobsAnswer()
        let ids: [JobID] =
            switch failed {
            case .one(let id): [id]
            case .all(let selector):
                try self.failed(
                    of: selector, after: part.after, before: part.before, limit: part.countMax)
            }
        if case .all = failed, ids.count == part.countMax { answer.last = ids.last }
        var byteCount = 0
        for id in ids {
            switch fate {
            case .drop:
                if try dropFailed(id) {
                    answer.droppedIDs.append(id)
                } else {
                    answer.other = try job(id)
                }
            case .runAgain(let isServed):
                guard let known = try job(id) else { continue }
                answer.other = known
                guard isServed(known), let again = try runAgain(id, at: now) else { continue }
                answer.jobs.append(again)
                byteCount += again.payload.count
                if byteCount >= part.byteCountMax {
                    answer.last = id
                    return answer
                }
            }
        }
        return answer
    }
}
