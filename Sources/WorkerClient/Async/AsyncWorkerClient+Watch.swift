// Watching jobs with the asynchronous client: any number of them, on the one connection.

extension AsyncWorkerClient {
    /// What is so with a job, and each change until it has ended.
    ///
    /// ```swift
    /// for try await news in client.watch(id) {
    ///     print(news.state, news.progress ?? 0)
    /// }
    /// ```
    ///
    /// Who takes long between two elements is given the latest only; the last one is always the job's
    /// end. Letting go of the sequence ends the watch.
    ///
    /// - Returns: a sequence that throws `.daemon` with NOJOB, or why the client is over.
    /// - Thread: any task.
    public func watch(_ id: UInt64) -> AsyncThrowingStream<JobNews, any Error> {
        AsyncThrowingStream(bufferingPolicy: .bufferingNewest(1)) { continuation in
            let ticket = pushes.add(continuation, for: id)
            let request = Task {
                do {
                    _ = try await run(.watch(id))
                } catch {
                    continuation.finish(throwing: error)
                }
            }
            continuation.onTermination = { [weak self] _ in
                request.cancel()
                self?.pushes.remove(ticket, for: id) { self?.sendUnanswered(.unwatch(id)) }
            }
        }
    }
}
