// Schedules whose former jobs may not have ended. The scheduler says where a job is, or the store
// if the job is parked: that answer comes later, and the schedule waits for it.

internal import Jobs
internal import Kernel

/// A question about one of a schedule's jobs.
struct OverlapLook {
    let id: JobID
    let round: OverlapRound
}

/// A look at a schedule's jobs before a moment makes the next one.
final class OverlapRound {
    let entry: ScheduleEntry
    /// Questions without an answer.
    fileprivate var openCount: Int
    fileprivate var isHeldUp = false

    fileprivate init(_ entry: ScheduleEntry) {
        self.entry = entry
        openCount = entry.living.count
    }
}

extension ScheduleRunner {
    /// Makes the jobs of a schedule that are due, unless a former one keeps it from that.
    func look(for entry: ScheduleEntry, at now: Int64) {
        let round = OverlapRound(entry)
        expectAnswer(for: entry.definition.name)
        for id in entry.living {
            let reply = nextReply()
            looks[reply.number] = OverlapLook(id: id, round: round)
            driver.input { $0.describe(id, reply) }
        }
    }

    /// One of its jobs was found, or is known no more.
    func answered(_ look: OverlapLook, _ answer: JobAnswer) {
        let (entry, round) = (look.round.entry, look.round)
        switch answer {
        case .job(let status):
            if status.job.state.isEnded { forget(look) }
            if entry.definition.overlap.isHeldUp(byJobIn: status.job.state) {
                round.isHeldUp = true
            }
        case .failed(.unknownJob): forget(look)
        // The store can't be read: then it can't be written, and the job is refused.
        default: break
        }
        round.openCount -= 1
        if round.openCount == 0 { end(round) }
    }

    private func forget(_ look: OverlapLook) {
        look.round.entry.living.removeAll { $0 == look.id }
    }

    private func end(_ round: OverlapRound) {
        let (entry, now) = (round.entry, driver.wall.unixMilliseconds())
        let isAwaiting = stillAwaits(entry.definition.name)
        guard let present = entries[entry.definition.name] else { return }
        // Another one in its place looks for itself.
        if present === entry, !driver.isRefusing, let found = found(for: entry, at: now) {
            guard round.isHeldUp else {
                makeJobs(found, of: entry, at: now)
                return setAlarm()
            }
            entry.progress.through = found.through
            entry.leftOutCount = found.leftOutCountAtLeast + found.runs.count
            countLeftOut(by: entry)
            entry.fault = nil
        }
        guard !isAwaiting else { return }
        goOn(present)
        setAlarm()
    }
}
