// The payload of a job that runs, waits, or has failed and is kept: from memory, or from the store.

extension JobScheduler {
    /// Whether a job's payload is in memory, or known to be gone: then the answer comes at once.
    package mutating func knowsPayload(of id: JobID) -> Bool {
        if book.active(id) != nil || !store.isKeeping { return true }
        forgetExpired()
        return book.job(id).map { !isPayloadStored(of: $0) } == true
    }

    /// Answers with the payload of a job.
    package mutating func payload(of id: JobID, _ reply: ReplyToken) {
        if let active = book.active(id) { return effects.answer(reply, .result(active.payload)) }
        forgetExpired()
        if let job = book.job(id), !isPayloadStored(of: job) {
            return effects.answer(reply, Self.payload(job.mayRunAgain ? job.payload : nil, of: job))
        }
        ask(.payload(id, reply)) { .findPayload(id, ticket: $0) }
    }

    /// Whether the store has the payload of a job that is known here and not active.
    private func isPayloadStored(of job: Job) -> Bool {
        let isKept = store.isKeeping && !job.details.isVolatile
        return isKept && (!job.state.isEnded || job.state == .failed && !job.mayRunAgain)
    }

    /// The store has looked for a job and its payload.
    mutating func payload(
        of id: JobID, _ found: Result<FoundPayload?, StoreFault>, _ reply: ReplyToken
    ) {
        // It may have come into memory since.
        if book.active(id) != nil { return payload(of: id, reply) }
        switch known(found.map { $0?.job }, id) {
        case .failure(let error): effects.answer(reply, .failed(error))
        case .success(let job):
            effects.answer(reply, Self.payload((try? found.get())?.bytes, of: job))
        }
    }

    private static func payload(_ bytes: [UInt8]?, of job: Job) -> JobAnswer {
        bytes.map { .result($0) } ?? .failed(.hasNoPayload(job.id, job.state))
    }
}
