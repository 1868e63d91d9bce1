// Asking through a message port: send a message and wait for its answer, as a task, as a thread
// that has nothing else to do, or through the thread's own loop, which serves a mode meanwhile.

public import RunLoops
internal import Kernel
internal import Synchronization

extension ThreadRunLoop.Mode {
    /// A thread waits in here for an answer and serves nothing else.
    static let reply: ThreadRunLoop.Mode = "reply"
}

extension MessagePort {
    /// A port that answers each message with what a closure returns.
    ///
    /// - Parameters:
    ///   - order: smaller ones are handled first among ports ready in the same pass.
    ///   - limit: the most messages that may wait to be received; `Int.max` for no limit.
    ///   - answer: called on the loop's thread for each message, in order.
    ///   - fileID: the caller's file, told of its calls while its loop is measured.
    ///   - line: the caller's line.
    public convenience init<Body, Reply>(
        order: Int = 0, limit: Int = .max, answering answer: @escaping @Sendable (Body) -> Reply,
        fileID: StaticString = #fileID, line: UInt = #line
    ) where Message == Question<Body, Reply> {
        self.init(
            order: order, limit: limit, receive: { $0.reply.send(answer($0.body)) },
            fileID: fileID, line: line)
    }

    /// Sends a message whose answer is received by another port, on that port's thread.
    ///
    /// - Parameters:
    ///   - body: what it says.
    ///   - id: tells kinds of messages apart.
    ///   - port: gets the answer, or why none will come.
    /// - Returns: whether it was sent; if it was not, `port` is told `closed` too.
    /// - Thread: any thread; the messages of one thread keep their order.
    /// - Blocks: never.
    @discardableResult
    public func send<Body, Reply>(
        _ body: Body, id: Int = 0, replyTo port: MessagePort<Result<Reply, PortError>>
    ) -> SendResult where Message == Question<Body, Reply> {
        send(Question(id: id, body: body, reply: ReplyPort(to: port)))
    }

    /// Sends a message and waits for its answer.
    ///
    /// - Parameters:
    ///   - body: what it says.
    ///   - id: tells kinds of messages apart.
    ///   - timeout: how long to wait; nil for as long as it takes. Of zero it still sends, and an
    ///     answer that comes at once may be in time.
    ///   - clock: what the time limit goes by.
    /// - Returns: the answer.
    /// - Throws: `PortError`; `CancellationError` as soon as the task is cancelled. A message that
    ///   was sent by then is received all the same, and its answer refused.
    /// - Thread: any task.
    /// - Blocks: no thread; the task is suspended.
    public nonisolated(nonsending) func ask<Body, Reply>(
        _ body: Body, id: Int = 0, timeout: Duration? = nil,
        clock: some Clock<Duration> = ContinuousClock()
    ) async throws -> Reply where Message == Question<Body, Reply> {
        let waiter = Waiter<Reply>()
        let pending = PendingAnswer<Reply> { waiter.settle($0.mapError { $0 }) }
        let limit = timeout.map { timeout in
            TaskTimeLimit(after: timeout, by: clock) { pending.settle(.failure(.timedOut)) }
        }
        defer { limit?.cancel() }
        return try await waiter.wait {
            let message = Question(id: id, body: body, reply: ReplyPort(pending))
            // Refused, it is let go of, and that settles it as `closed`.
            if send(message) == .full { pending.settle(.failure(.full(limit: self.limit))) }
        } cancelled: {
            pending.settle(.failure(.closed))
        }
    }

    /// Sends a message and blocks the calling thread until its answer is there.
    ///
    /// The thread waits in its run loop: in a mode of which it serves what is in it, or in one of
    /// its own, in which nothing else happens. A stop of that loop ends the run around this, once
    /// the answer is there.
    ///
    /// - Parameters:
    ///   - body: what it says.
    ///   - id: tells kinds of messages apart.
    ///   - timeout: how long to wait, by the clock of the calling thread's loop; nil for as long as
    ///     it takes.
    ///   - mode: what the calling thread serves meanwhile, not `.common`; nil for nothing.
    /// - Returns: the answer.
    /// - Throws: `closed`, `full`, `timedOut` or `ownThread`.
    /// - Thread: any thread; the one that receives only with one of the port's modes.
    /// - Blocks: until the answer is there or the time has passed.
    public func askAndWait<Body, Reply>(
        _ body: Body, id: Int = 0, timeout: Duration? = nil, serving mode: ThreadRunLoop.Mode? = nil
    ) throws(PortError) -> Reply where Message == Question<Body, Reply> {
        let loop = ThreadRunLoop.current
        let mode = mode ?? .reply
        if receivingLoop === loop && !receivingModes.contains(mode) { throw .ownThread }
        let deadline = timeout.map { loop.now.advanced(by: $0) } ?? .distantFuture
        let answer = LoopAnswer<Reply>()
        loop.add(signalled: answer.port, to: mode)
        defer { answer.port.invalidate() }
        let pending = PendingAnswer<Reply> { answer.give($0) }
        switch send(Question(id: id, body: body, reply: ReplyPort(pending))) {
        case .sent: break
        case .full: throw .full(limit: limit)
        case .closed: throw .closed
        }
        var wasStopped = false
        while true {
            if let result = answer.value {
                // The stop was meant for a run that waited: for this one, and so for the one
                // around.
                if wasStopped { loop.stop() }
                return try result.get()
            }
            let end = loop.run(mode: mode, until: deadline, returnAfterSourceHandled: true)
            if end == .stopped { wasStopped = true }
            // If this comes too late, the answer is there in a moment.
            if end == .timedOut { pending.settle(.failure(.timedOut)) }
        }
    }
}

/// An answer that a thread waits for in its loop.
private final class LoopAnswer<Reply: Sendable>: Sendable {
    let port = ThreadRunLoop.Port(order: .min) { _, _ in }
    private let stored = Mutex<Result<Reply, PortError>?>(nil)

    var value: Result<Reply, PortError>? { stored.withLock { $0 } }

    func give(_ result: Result<Reply, PortError>) {
        stored.withLock { $0 = result }
        port.signal()
    }
}
