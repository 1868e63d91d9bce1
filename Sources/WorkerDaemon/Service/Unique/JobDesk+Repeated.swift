// Submits that are repeated because their first answer was never seen: they get it also when there is
// no room for another job.

internal import Jobs

extension JobDesk {
    /// Accepts a job durably, or finds the one that was accepted under its name before.
    ///
    /// - Parameter answer: told the id, or why there is none.
    /// - Throws: why it is refused at once; then `answer` is not called.
    func acceptOrFind(
        _ request: JobRequest, answer: @escaping (Result<JobID, JobError>) -> Void
    ) throws(JobError) {
        do throws(JobError) {
            try acceptDurably(request, answer: answer)
        } catch {
            guard let name = request.uniqueName, let durable, error != .shuttingDown else {
                throw error
            }
            let ticket = durable.expect(
                .named { found in
                    if case .success(let id?) = found {
                        answer(.success(id))
                    } else {
                        answer(.failure(error))
                    }
                })
            tell(.findNamed(name, ticket: ticket))
        }
    }
}
