// Observing jobs with the asynchronous client: any number of them, on the one connection.

extension AsyncWorkerClient {
    /// The present state of a job, and each change until it has ended.
    ///
    /// ```swift
    /// for try await news in client.observe(id) {
    ///     print(news.state, news.progress ?? 0)
    /// }
    /// ```
    ///
    /// A task that takes long between two elements gets the latest only; the last one is always the
    /// job's end. Letting go of the sequence ends the watch; until then, it keeps the client.
    ///
    /// - Returns: a sequence that throws `.daemon` with NOJOB, or why the client is over.
    /// - Thread: any task.
    public func observe(_ id: UInt64) -> AsyncThrowingStream<JobNews, any Error> {
        AsyncThrowingStream(bufferingPolicy: .bufferingNewest(1)) { continuation in
            let ticket = pushes.makeTicket()
            // Before anything can end the stream: its end breaks the circle of client and stream.
            continuation.onTermination = { _ in
                self.pushes.remove(ticket, for: id) {
                    // A client that is over has nothing to take back.
                    _ = try? self.send(.unobserve(id), within: .passed)
                }
            }
            let call = Call<Int>.observe(id)
            do {
                try pushes.add(continuation, ticket, for: id) {
                    // As the reply is read: the connection may end a moment later, and is not the
                    // reason then.
                    let early = try send(call).wait { answer in
                        do {
                            _ = try call.value(of: answer.get())
                        } catch {
                            continuation.finish(throwing: error)
                        }
                    }
                    if let early { _ = try call.value(of: early.get()) }
                }
            } catch {
                continuation.finish(throwing: error)
            }
        }
    }
}
