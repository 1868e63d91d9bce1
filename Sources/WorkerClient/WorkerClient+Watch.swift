// Watching a job with the blocking client, on a connection of its own: other threads' commands need
// not wait for the job's end.

internal import RESP

extension WorkerClient {
    /// Calls `body` with what is so with a job, and with each change until it has ended.
    ///
    /// - Parameters:
    ///   - id: the job's number.
    ///   - body: called on this thread; when it returns false, that was the last time. Who takes long
    ///     in it is told only the latest.
    /// - Throws: `.daemon` with NOJOB; `.closed` when the daemon goes down first.
    /// - Thread: any thread.
    /// - Blocks: until the job has ended.
    public func watch(_ id: UInt64, _ body: (JobNews) -> Bool) throws(WorkerClientError) {
        var connection = try Connection.open(address, options, interruption)
        let call = Call<Int>.watch(id)
        _ = try call.value(of: connection.exchange(call.encoded, within: options.replyTimeout))
        while true {
            guard let news = try JobNews(connection.nextPush()), news.id == id else { continue }
            if !body(news) || news.isFinal { return }
        }
    }
}
