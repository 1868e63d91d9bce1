// Observing a job with the blocking client, on a connection of its own: other threads' commands
// need not wait for the job's end.

internal import RESP
internal import Structures

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
        try observe(id, withOutput: false, body)
    }

    /// Observes a job, and calls `body` also when its program has written something.
    package func observe(
        _ id: UInt64, withOutput: Bool, _ body: (JobNews) -> Bool
    ) throws(WorkerClientError) {
        var connection = try Connection.open(address, options, interruption)
        let call = Call<Int>.observe(id, withOutput: withOutput)
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

    /// As many jobs as the daemon lets one connection watch.
    private static let watchCountMax = 1_000

    /// Calls `body` with the present state of each of several jobs, and with each change, until all
    /// have ended.
    ///
    /// - Parameters:
    ///   - ids: the jobs' numbers, each once.
    ///   - limit: how long; nil for as long as it takes.
    ///   - body: called on this thread with a job's number, and its state or why there is none.
    ///     When it returns false, that was the last time.
    /// - Throws: `.timedOut`; `.closed` when the daemon goes down first.
    /// - Thread: any thread.
    /// - Blocks: until the jobs have ended.
    package func observe(
        _ ids: [UInt64], within limit: Duration?,
        _ body: (UInt64, Result<JobNews, WorkerClientError>) -> Bool
    ) throws(WorkerClientError) {
        var connection = try Connection.open(address, options, interruption)
        let deadline = connection.deadline(after: limit)
        var unasked = ids[...]
        var unanswered = FIFO<UInt64>()
        var watched: Set<UInt64> = []
        while true {
            var chunks: [[UInt8]] = []
            while watched.count < Self.watchCountMax, let id = unasked.popFirst() {
                // Each in a command of its own, so that each has its own answer.
                chunks += Call<Int>.observe(id).encoded
                unanswered.append(id)
                watched.insert(id)
            }
            if watched.isEmpty { return }
            if !chunks.isEmpty, try connection.send(chunks, before: deadline) != .whole {
                throw Connection.hungUp(address)
            }
            let value = try connection.nextValue(before: deadline)
            if case .push = value {
                guard let news = try JobNews(value), watched.contains(news.id) else { continue }
                if news.isFinal { watched.remove(news.id) }
                if !body(news.id, .success(news)) { return }
                continue
            }
            guard let id = unanswered.popFirst() else { throw Read.unexpected(value, "a push") }
            do throws(WorkerClientError) {
                _ = try Call<Int>.observe(id).value(of: value)
            } catch {
                watched.remove(id)
                if !body(id, .failure(error)) { return }
            }
        }
    }
}
