// Actions on failed jobs: run again, or drop.

internal import Jobs

extension JournalTables {
    /// Applies an action to failed jobs; part of a transaction.
    func settle(
        _ failed: FailedJobs, _ fate: FailedJobAction, _ part: FailedJobsPart
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
                if let dropped = try dropFailed(id) {
                    answer.dropped.append(dropped)
                } else {
                    answer.other = try job(id)
                }
            case .runAgain(let isServed):
                guard let known = try job(id) else { continue }
                answer.other = known
                guard isServed(known),
                    let again = try runAgain(id, before: part.before, at: part.moment)
                else { continue }
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
