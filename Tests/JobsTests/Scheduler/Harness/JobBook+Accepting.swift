// Jobs for tests of the book alone, which have no scheduler.

import Jobs

extension JobBook {
    /// Keeps a new job.
    ///
    /// - Returns: its id.
    mutating func accept(_ request: JobRequest, at now: Int64) throws(JobStoreError) -> JobID {
        let id = try takeNumber(forPayloadOf: request.payload.count, at: now)
        keep(JobEntry(inactive: Job(id: id, request: request, acceptedAt: now)))
        return id
    }

    mutating func adopt(_ job: Job) { _ = adopt(JobEntry(inactive: job)) }
}
