// What the desk has to ask the journal for: jobs that are not in memory. The answers come later, and
// what has changed meanwhile counts.

internal import Jobs
internal import Kernel
internal import RunLoops

extension JobDesk {
    /// Forgets what has been kept for as long as it is to be: nobody else does while no job comes or ends.
    func forgetExpired() { store.expire(at: wall.unixMilliseconds()) }

    /// Looks for a job that is not in memory.
    ///
    /// - Parameter body: told the job, or `NOJOB`.
    func lookUp(_ id: JobID, _ body: @escaping (Result<Job, WireError>) -> Void) {
        guard let durable else { return body(.failure(noJob(id))) }
        let ticket = durable.expect(
            .found { [unowned self] found in
                switch found {
                case .success(let job?)
                where !store.limits.haveExpired(for: job, at: wall.unixMilliseconds()):
                    body(.success(job))
                case .success: body(.failure(noJob(id)))
                case .failure(let fault): body(.failure(Self.busy(fault)))
                }
            })
        tell(.find(id, ticket: ticket))
    }

    /// The result of a job as the journal knows it; nil if it has not ended.
    static func answer(_ job: Job, _ id: JobID) -> Result<[UInt8]?, WireError> {
        guard let outcome = job.outcome else { return .success(nil) }
        return answer(outcome, id).map { $0 }
    }

    /// Answers once what was done before is on the disk.
    func confirm<Value>(
        _ value: Value, _ body: @escaping (Result<Value, WireError>) -> Void
    ) {
        guard let durable else { return body(.success(value)) }
        let ticket = durable.expect(
            .confirmed { fault in
                body(fault.map { .failure(Self.busy($0)) } ?? .success(value))
            })
        tell(.confirm(ticket: ticket))
    }

    /// Lists the newest jobs, in memory and in the journal.
    func list(
        thread: String?, state: JobState?, limit: Int,
        _ body: @escaping (Result<[Job], WireError>) -> Void
    ) {
        func inMemory() -> [Job] {
            noteRunning()
            forgetExpired()
            return store.list(thread: thread, state: state, limit: limit, order: .newestFirst)
        }
        guard let durable else { return body(.success(inMemory())) }
        let hasAny = durable.load.all.count > 0 || durable.unserved.count > 0
        let wantsParked = state?.isEnded != true && hasAny
        var queues = durable.backlogs.values.filter { backlog in
            wantsParked && (thread == nil || backlog.queue.thread == thread)
        }.map(\.queue)
        if state?.isEnded != true { queues += durable.orphans.queues(of: thread) }
        let listing = JobListing(queues: queues, thread: thread, state: state, limit: limit)
        let ticket = durable.expect(
            .listed { [unowned self] result in
                switch result {
                case .failure(let fault): body(.failure(Self.busy(fault)))
                case .success(let stored):
                    // Now, and not when it was asked: what was brought meanwhile is parked no more.
                    let known = inMemory()
                    let now = wall.unixMilliseconds()
                    let others = stored.filter {
                        store.state(of: $0.id) == nil
                            && !store.limits.haveExpired(for: $0, at: now)
                    }
                    let all = (known + others).sorted { $1.id < $0.id }
                    body(.success(Array(all.prefix(limit))))
                }
            })
        tell(.list(listing, ticket: ticket))
    }
}
