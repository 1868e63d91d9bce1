// Jobs that have failed for good: they are kept with their payloads until they are dropped or run
// again. A durable one is in the journal, a volatile one in memory.

internal import Jobs
internal import Kernel
internal import WorkerThreads

/// Failed jobs that run again or are dropped, part by part.
struct FailedJobsChange {
    let failed: FailedJobs
    let action: FailedJobAction
    /// What is asked of the store next.
    var part: FailedJobsPart
    /// How many there were in the parts before.
    var count = 0
    let reply: ReplyToken
}

extension JobDesk {
    /// Lets failed jobs run again, with as many attempts as before; answers how many.
    ///
    /// Each is due now, and takes its place behind what waits, under the number that it has.
    func runAgain(_ failed: FailedJobs, _ reply: ReplyToken) {
        let (threads, selectors) = (openThreads, Set(handlers.keys))
        let isServed: @Sendable (Job) -> Bool = {
            threads.contains($0.thread) && selectors.contains($0.selector)
        }
        do throws(JobError) {
            if isRefusing { throw JobError.shuttingDown }
            if case .all(let selector) = failed { try checkIsServed(selector) }
            try resolve(failed, .runAgain(isServed: isServed), reply)
        } catch {
            door.answer(reply, .failed(error))
        }
    }

    /// Forgets failed jobs; answers how many.
    func drop(_ failed: FailedJobs, _ reply: ReplyToken) {
        do throws(JobError) {
            try resolve(failed, .drop, reply)
        } catch {
            door.answer(reply, .failed(error))
        }
    }

    private func resolve(
        _ failed: FailedJobs, _ action: FailedJobAction, _ reply: ReplyToken
    ) throws(JobError) {
        forgetExpired()
        if case .one(let id) = failed { try checkIsNotLive(id) }
        resolve(
            FailedJobsChange(
                failed: failed, action: action,
                part: FailedJobsPart(
                    before: JobID(store.nextNumber), countMax: stored.window.settledAtOnce,
                    byteCountMax: stored.window.byteCountMax),
                reply: reply))
    }

    // MARK: - In the store

    private func resolve(_ change: FailedJobsChange) {
        ask(.resolve(change)) { .settle(change.failed, change.action, change.part, ticket: $0) }
    }

    /// The store has resolved a part of them, or could not: the next one, and at last those in memory.
    func resolved(_ change: FailedJobsChange, _ result: Result<FailedJobsAnswer, StoreFault>) {
        let answer: FailedJobsAnswer
        switch result {
        case .failure(let fault):
            return door.answer(change.reply, .failed(.storeFailed(fault)))
        case .success(let success): answer = success
        }
        for job in answer.jobs { readmit(job) }
        for id in answer.droppedIDs { _ = store.dropFailed(id) }
        var change = change
        change.count += answer.jobs.count + answer.droppedIDs.count
        if let last = answer.last {
            if isRefusing {
                return door.answer(
                    change.reply, .failed(.interrupted(jobCount: change.count)))
            }
            change.part.after = last
            change.part.isSynced = false
            return resolve(change)
        }
        if case .one = change.failed, change.count > 0 {
            return door.answer(change.reply, .count(1))
        }
        switch resolveInMemory(change, answer.other) {
        case .failure(let error): door.answer(change.reply, .failed(error))
        case .success(let count) where change.part.isSynced:
            door.answer(change.reply, .count(count))
        case .success(let count): confirm(.count(count), change.reply)
        }
    }

    // MARK: - In memory

    /// - Parameter other: what the one that was asked for is, if nothing could be done about it.
    private func resolveInMemory(
        _ change: FailedJobsChange, _ other: Job?
    ) -> Result<Int, JobError> {
        let (what, resolve): (String, (JobID) -> Bool) =
            switch change.action {
            case .runAgain: ("run again", { [unowned self] in runAgainInMemory($0) })
            case .drop: ("be dropped", { [unowned self] in store.dropFailed($0) })
            }
        switch change.failed {
        case .all(let selector):
            return .success(change.count + store.failed(of: selector).count { resolve($0) })
        case .one(let id):
            return resolve(id) ? .success(1) : .failure(cannot(what, id, other))
        }
    }

    private func runAgainInMemory(_ id: JobID) -> Bool {
        guard let failed = store.job(id), failed.mayRunAgain,
            let handler = handlers[failed.selector], let lane = try? lane(of: failed.thread),
            openThreads.contains(failed.thread)
        else { return false }
        apply(.runAgain, to: id)
        guard let job = store.job(id) else { return false }
        let again = liveJob(job, handler, lane)
        live[id] = again
        submitInOrder(again)
        return true
    }

    // MARK: - Refusals

    private func checkIsNotLive(_ id: JobID) throws(JobError) {
        guard live[id] != nil else { return }
        throw cannot("run again or be dropped", id, store.job(id))
    }

    private func checkIsServed(_ selector: String) throws(JobError) {
        guard handlers[selector] == nil else { return }
        throw JobError.unknownSelector(selector)
    }

    private func cannot(_ what: String, _ id: JobID, _ known: Job?) -> JobError {
        guard let job = store.job(id) ?? known else { return .unknownJob(id) }
        guard job.state == .failed else {
            return .hasNotFailed(id, job.state, action: what)
        }
        do throws(JobError) {
            try checkIsServed(job.selector)
            _ = try lane(of: job.thread)
        } catch {
            return error
        }
        guard openThreads.contains(job.thread) else {
            return JobError.stoppedThread(job.thread)
        }
        return .payloadIsGone(id)
    }

    /// The names under which threads take jobs.
    private var openThreads: Set<String> {
        var names: Set<String> = []
        for lane in lanes {
            for name in [lane.name] + lane.members.map(\.thread.name)
            where (try? lane.pool.isStopped(onThread: name)) == false {
                names.insert(name)
            }
        }
        return names
    }
}
