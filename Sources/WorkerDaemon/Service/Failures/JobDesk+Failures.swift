// Jobs that have failed for good: they are kept with their payloads until they are dropped or run
// again. A durable one is in the journal, a volatile one in memory.

internal import Jobs
internal import Kernel
internal import WorkerThreads

extension JobDesk {
    /// Lets failed jobs run again, with as many attempts as before.
    ///
    /// Each is due now, and takes its place behind what waits, under the number that it has.
    ///
    /// - Parameter body: told how many.
    func runAgain(
        _ failed: FailedJobs, _ body: @escaping (Result<Int, JobError>) -> Void
    ) throws(JobError) {
        if isRefusing { throw JobError.shuttingDown }
        forgetExpired()
        switch failed {
        case .one(let id): try checkIsNotLive(id)
        case .all(let selector): try checkIsServed(selector)
        }
        guard let durable else { return body(runAgainInMemory(failed)) }
        let (threads, selectors) = (openThreads, Set(handlers.keys))
        let isServed: @Sendable (Job) -> Bool = {
            threads.contains($0.thread) && selectors.contains($0.selector)
        }
        settle(failed, .runAgain(isServed: isServed), firstPart(durable), body) { [unowned self] in
            runAgainInMemory(failed, besides: $0, $1)
        }
    }

    /// Forgets failed jobs.
    ///
    /// - Parameter body: told how many.
    func drop(
        _ failed: FailedJobs, _ body: @escaping (Result<Int, JobError>) -> Void
    ) throws(JobError) {
        forgetExpired()
        if case .one(let id) = failed { try checkIsNotLive(id) }
        guard let durable else { return body(dropInMemory(failed)) }
        settle(failed, .drop, firstPart(durable), body) { [unowned self] in
            dropInMemory(failed, besides: $0, $1)
        }
    }

    // MARK: - In the journal

    private func firstPart(_ durable: DurableJobs) -> FailedJobsPart {
        FailedJobsPart(
            before: JobID(store.nextNumber), countMax: durable.window.settledAtOnce,
            byteCountMax: durable.window.byteCountMax)
    }

    /// Lets a part of them have their fate, then the next one.
    ///
    /// - Parameters:
    ///   - count: how many there were in the parts before.
    ///   - body: told how many there were in all.
    ///   - inMemory: does the same with those in memory; given how many there were in the journal, and
    ///     of the one that was asked for what it is if nothing could be done about it.
    private func settle(
        _ failed: FailedJobs, _ fate: FailedJobAction, _ part: FailedJobsPart,
        besides count: Int = 0, _ body: @escaping (Result<Int, JobError>) -> Void,
        _ inMemory: @escaping (Int, Job?) -> Result<Int, JobError>
    ) {
        guard let durable else { return }
        let ticket = durable.expect(
            .settled { [unowned self] result in
                switch result {
                case .failure(let fault): body(.failure(Self.busy(fault)))
                case .success(let answer):
                    for job in answer.jobs { readmit(job) }
                    for id in answer.droppedIDs { _ = store.dropFailed(id) }
                    let count = count + answer.jobs.count + answer.droppedIDs.count
                    guard let last = answer.last else {
                        if case .one = failed, count > 0 { return body(.success(1)) }
                        let settled = inMemory(count, answer.other)
                        guard !part.isSynced, case .success(let all) = settled else {
                            return body(settled)
                        }
                        return confirm(all, body)
                    }
                    if isRefusing { return body(.failure(Self.notAll(count))) }
                    var next = part
                    next.after = last
                    next.isSynced = false
                    settle(failed, fate, next, besides: count, body, inMemory)
                }
            })
        tell(.settle(failed, fate, part, ticket: ticket))
    }

    // MARK: - In memory

    private func runAgainInMemory(
        _ failed: FailedJobs, besides count: Int = 0, _ other: Job? = nil
    ) -> Result<Int, JobError> {
        switch failed {
        case .all(let selector):
            let again = store.failed(of: selector).filter { runAgainInMemory($0) }
            return .success(count + again.count)
        case .one(let id):
            if runAgainInMemory(id) { return .success(1) }
            return .failure(cannot("run again", id, other))
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

    private func dropInMemory(
        _ failed: FailedJobs, besides count: Int = 0, _ other: Job? = nil
    ) -> Result<Int, JobError> {
        switch failed {
        case .all(let selector):
            return .success(
                count + store.failed(of: selector).count { store.dropFailed($0) })
        case .one(let id):
            if store.dropFailed(id) { return .success(1) }
            return .failure(cannot("be dropped", id, other))
        }
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
        guard let job = store.job(id) ?? known else { return noJob(id) }
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
