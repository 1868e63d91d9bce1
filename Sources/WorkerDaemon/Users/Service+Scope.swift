// Commands about jobs of which a client knows the number only: a user that may not touch all
// threads and selectors gets the answer of a job that is not there.

internal import Jobs
internal import RESP

extension Service {
    /// Goes on with a command about a job, unless the client's user may not touch that.
    ///
    /// - Parameter body: given the place of the answer. Not called once the client has left.
    func withJob(
        _ id: JobID, _ session: Session, _ reply: ReplyToken,
        _ body: @escaping (ReplyToken) -> Void
    ) {
        withJobs([id], session, reply, body)
    }

    /// The same about several jobs: all of them, or none.
    func withJobs(
        _ ids: [JobID], _ session: Session, _ reply: ReplyToken,
        _ body: @escaping (ReplyToken) -> Void
    ) {
        guard !session.user.touchesAll else { return body(reply) }
        var left = ids
        while let id = left.popLast() {
            if let job = driver.scheduler.book.job(id) {
                if session.user.scope.has(job) { continue }
                return session.fill(reply, with: WireError(JobError.unknownJob(id)).reply)
            }
            return lookUp(id, byteCount: Self.descriptionByteCount, session, reply) {
                [unowned self, left] reply in
                // The description comes to `answer`, which goes on with this.
                scopeChecks[reply] = { [unowned self] reply in
                    withJobs(left, session, reply, body)
                }
                driver.input { $0.describe(id, reply) }
            }
        }
        body(reply)
    }

    /// Looks at a job that was looked up, before it is told to a client.
    ///
    /// - Returns: whether the answer is given elsewhere.
    func isAnsweredElsewhere(_ status: JobStatus, _ session: Session, _ reply: ReplyToken) -> Bool {
        let body = scopeChecks.isEmpty ? nil : scopeChecks.removeValue(forKey: reply)
        guard session.user.scope.has(status.job) else {
            session.fill(reply, with: WireError(JobError.unknownJob(status.job.id)).reply)
            return true
        }
        guard let body else { return false }
        if let owner = owner(ofThread: status.job.slot), owner != .here,
            isThread(status.job.thread)
        {
            let name = PoolSlot.shown(status.job.thread)
            let busy = WireError(.busy, "thread \(name) has passed to another node; try again")
            session.fill(reply, with: busy.reply)
        } else {
            body(reply)
        }
        return true
    }
}
