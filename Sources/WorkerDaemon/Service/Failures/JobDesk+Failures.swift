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
        _ failed: FailedJobs, _ body: @escaping (Result<Int, WireError>) -> Void
    ) throws(WireError) {
        if isRefusing { throw WireError(.shuttingDown, "the daemon is going down") }
        switch failed {
        case .one(let id): try checkIsNotLive(id)
        case .all(let selector): try checkIsServed(selector)
        }
        guard let durable else { return body(runAgainInMemory(failed)) }
        let ticket = durable.expect(
            .settled { [unowned self] result in
                switch result {
                case .failure(let fault): body(.failure(Self.busy(fault)))
                case .success(let answer):
                    for job in answer.jobs { readmit(job) }
                    if case .one = failed, !answer.jobs.isEmpty { return body(.success(1)) }
                    body(runAgainInMemory(failed, besides: answer.jobs.count, answer.other))
                }
            })
        let (threads, selectors) = (openThreads, Set(handlers.keys))
        let isServed: @Sendable (Job) -> Bool = {
            threads.contains($0.thread) && selectors.contains($0.selector)
        }
        tell(.settle(failed, .runAgain(isServed: isServed), ticket: ticket))
    }

    /// Forgets failed jobs.
    ///
    /// - Parameter body: told how many.
    func drop(
        _ failed: FailedJobs, _ body: @escaping (Result<Int, WireError>) -> Void
    ) throws(WireError) {
        if case .one(let id) = failed { try checkIsNotLive(id) }
        guard let durable else { return body(dropInMemory(failed)) }
        let ticket = durable.expect(
            .settled { [unowned self] result in
                switch result {
                case .failure(let fault): body(.failure(Self.busy(fault)))
                case .success(let answer):
                    for id in answer.droppedIDs { _ = store.dropFailed(id) }
                    if case .one = failed, !answer.droppedIDs.isEmpty { return body(.success(1)) }
                    body(dropInMemory(failed, besides: answer.droppedIDs.count, answer.other))
                }
            })
        tell(.settle(failed, .drop, ticket: ticket))
    }

    // MARK: - In memory

    private func runAgainInMemory(
        _ failed: FailedJobs, besides count: Int = 0, _ other: Job? = nil
    ) -> Result<Int, WireError> {
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
        let request = request(of: job)
        let again = LiveJob(
            id, context(of: request, id, handler, attempt: job.attempt + 1), handler,
            for: job.thread, of: lane, priority: job.priority, key: job.key,
            order: order(of: request, lane, request.retryPlan(for: handler)))
        live[id] = again
        submitInOrder(again)
        return true
    }

    private func dropInMemory(
        _ failed: FailedJobs, besides count: Int = 0, _ other: Job? = nil
    ) -> Result<Int, WireError> {
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

    private func checkIsNotLive(_ id: JobID) throws(WireError) {
        guard live[id] != nil else { return }
        throw cannot("run again or be dropped", id, store.job(id))
    }

    private func checkIsServed(_ selector: String) throws(WireError) {
        guard handlers[selector] == nil else { return }
        throw WireError(
            .noSelector, "there is no selector \(quoted(selector)); SELECTORS lists them")
    }

    private func cannot(_ what: String, _ id: JobID, _ known: Job?) -> WireError {
        guard let job = store.job(id) ?? known else { return noJob(id) }
        guard job.state == .failed else {
            return WireError(
                .err, "job \(id) is \(job.state.rawValue): only one that has failed can \(what)")
        }
        do throws(WireError) {
            try checkIsServed(job.selector)
            _ = try lane(of: job.thread)
        } catch {
            return error
        }
        guard openThreads.contains(job.thread) else {
            return WireError(.noThread, "thread \(job.thread) has been stopped")
        }
        return WireError(.err, "job \(id) was kept without its payload: it can't run again")
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
