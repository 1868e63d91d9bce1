// Observing a job with the blocking client, on a connection of its own: other threads' commands
// need not wait for the job's end.

internal import RESP

extension WorkerClient {
    /// Calls `body` with the present state of a job, and with each change until it has ended.
    ///
    /// - Parameters:
    ///   - id: the job's number.
    ///   - body: called on this thread; when it returns false, that was the last time. A body that
    ///     takes long in it is told only the latest.
    /// - Throws: `.daemon` with NOJOB; `.closed` when the daemon goes down first.
    /// - Thread: any thread.
    /// - Blocks: until the job has ended.
    public func observe(_ id: UInt64, _ body: (JobNews) -> Bool) throws(WorkerClientError) {
        var connection = try Connection.open(address, options, interruption)
        let call = Call<Int>.observe(id)
        // Until the reply only: a job may take as long as it likes.
        var deadline = connection.deadline(after: options.replyTimeout)
        guard try connection.send(call.encoded, before: deadline) != .nothing else {
            throw Connection.hungUp(address)
        }
        var isAnswered = false
        while true {
            let value = try connection.nextValue(before: deadline)
            if case .push = value {
                // Pushes keep no order with replies: the last one may come before the reply.
                guard let news = try JobNews(value), news.id == id else { continue }
                if !body(news) || news.isFinal { return }
            } else {
                guard !isAnswered else { throw Read.unexpected(value, "a push") }
                _ = try call.value(of: value)
                (isAnswered, deadline) = (true, nil)
            }
        }
    }
}
