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
    func lookUp(_ id: JobID, _ body: @escaping (Result<Job, JobError>) -> Void) {
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
    static func answer(_ job: Job, _ id: JobID) -> Result<[UInt8]?, JobError> {
        guard let outcome = job.outcome else { return .success(nil) }
        return answer(outcome, id).map { $0 }
    }

    /// Answers once what was done before is on the disk.
    func confirm<Value>(
        _ value: Value, _ body: @escaping (Result<Value, JobError>) -> Void
    ) {
        guard let durable else { return body(.success(value)) }
        let ticket = durable.expect(
            .confirmed { fault in
                body(fault.map { .failure(Self.busy($0)) } ?? .success(value))
            })
        tell(.confirm(ticket: ticket))
    }
}
