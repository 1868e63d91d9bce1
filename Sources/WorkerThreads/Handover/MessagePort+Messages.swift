// The messages of a port as an asynchronous sequence: the loop's thread hands over one whenever a
// task asks for it. Until then they wait in the port, so that its limit counts all of them.

internal import Kernel
internal import RunLoops
internal import Structures
internal import Synchronization

extension MessagePort {
    /// The messages of a port, for a task.
    ///
    /// The sequence ends when the port is invalid and its last message was taken, or when the
    /// port's loop has ended: messages that wait then count in `abandonedCount`. A task that is
    /// cancelled gets nil.
    ///
    /// Several tasks may take messages: each message goes to one of them, in the order in which
    /// they asked.
    public struct Messages: AsyncSequence, AsyncIteratorProtocol, Sendable {
        fileprivate let demand: Demand<Message>
        fileprivate let port: ThreadRunLoop.Port

        /// The sequence itself: it has no state of its own.
        public func makeAsyncIterator() -> Messages { self }

        /// Takes the next message.
        ///
        /// - Returns: nil at the end, or when the task was cancelled.
        /// - Thread: any task.
        /// - Blocks: no thread; the task is suspended until a message is there.
        public nonisolated(nonsending) func next() async -> Message? {
            let waiter = Waiter<Message?>()
            return try? await waiter.wait {
                if demand.add(waiter) { port.signal() }
            } cancelled: {
                demand.remove(waiter)
            }
        }
    }

    /// Makes a port and the sequence of its messages.
    ///
    /// ```swift
    /// let (port, messages) = MessagePort.makeStream(of: Int.self, limit: 100)
    /// port.add(to: worker.runLoop)
    /// port.send(1)
    /// for await message in messages {
    ///     print(message)
    ///     if message == 1 { break }
    /// }
    /// ```
    ///
    /// - Parameters:
    ///   - type: what is sent.
    ///   - order: smaller ones are handled first among ports ready in the same pass.
    ///   - limit: the most messages that may wait to be taken, at least 1; `Int.max` for no limit.
    ///   - fileID: the caller's file, told of its calls while its loop is measured.
    ///   - line: the caller's line.
    /// - Returns: the port, to be kept and added to a loop, and its messages.
    /// - Thread: any thread.
    public static func makeStream(
        of type: Message.Type = Message.self, order: Int = 0, limit: Int = .max,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> (port: MessagePort, messages: Messages) {
        require(limit > 0, "a port holds at least 1 message, not \(limit)")
        let mailbox = Mailbox<Message>(limit: limit)
        let demand = Demand<Message>()
        let server = DemandServer(mailbox: mailbox, demand: demand)
        let port = ThreadRunLoop.Port(
            order: order, handler: { port, _ in server.serve(port) }, fileID: fileID, line: line)
        return (
            MessagePort(mailbox: mailbox, port: port), Messages(demand: demand, port: port)
        )
    }
}

/// Tasks that wait for a message, in the order in which they asked.
private final class Demand<Message: Sendable>: Sendable {
    private struct State {
        var waiters = FIFO<Waiter<Message?>>()
        /// Messages whose taker was cancelled as it got them, for the next ones.
        var returned = FIFO<Message>()
        var hasEnded = false
    }

    private let state = Mutex(State())

    /// Lets a task wait, or gives it what was returned.
    ///
    /// - Returns: whether a message is to be handed over by the loop's thread.
    func add(_ waiter: Waiter<Message?>) -> Bool {
        let (isWaiting, message) = state.withLock { state -> (Bool, Message?) in
            if let message = state.returned.popFirst() { return (false, message) }
            if !state.hasEnded { state.waiters.append(waiter) }
            return (!state.hasEnded, nil)
        }
        if isWaiting { return true }
        if !waiter.settle(.success(message)), let message { giveBack(message) }
        return false
    }

    /// Lets a cancelled task wait no longer.
    func remove(_ waiter: Waiter<Message?>) {
        state.withLock { state in
            for _ in 0..<state.waiters.count {
                guard let first = state.waiters.popFirst() else { return }
                if first !== waiter { state.waiters.append(first) }
            }
        }
    }

    var isWaiting: Bool { state.withLock { !$0.waiters.isEmpty } }

    /// Hands a message to the task that waits longest.
    func hand(over message: Message) {
        while let waiter = state.withLock({ $0.waiters.popFirst() }) {
            if waiter.settle(.success(message)) { return }
        }
        giveBack(message)
    }

    /// Keeps a message for the next that asks; before all others, which are handed over later.
    private func giveBack(_ message: Message) {
        let next = state.withLock { state -> Waiter<Message?>? in
            if let next = state.waiters.popFirst() { return next }
            state.returned.append(message)
            return nil
        }
        if let next, !next.settle(.success(message)) { giveBack(message) }
    }

    /// Ends the sequence for all that wait and will ask.
    func end() {
        let waiters = state.withLock { state in
            state.hasEnded = true
            defer { state.waiters.removeAll() }
            return state.waiters
        }
        var left = waiters
        while let waiter = left.popFirst() { waiter.settle(.success(nil)) }
    }
}

/// The loop's side of such a port, which only its handler holds: it goes when the port is invalid.
private final class DemandServer<Message: Sendable>: Sendable {
    private let mailbox: Mailbox<Message>
    private let demand: Demand<Message>

    init(mailbox: Mailbox<Message>, demand: Demand<Message>) {
        self.mailbox = mailbox
        self.demand = demand
    }

    deinit {
        mailbox.abandon()
        demand.end()
    }

    /// Hands over as many messages as tasks wait for; on the loop's thread.
    func serve(_ port: ThreadRunLoop.Port) {
        while demand.isWaiting {
            if let message = mailbox.inbox.popFirst() {
                mailbox.room.giveBack()
                demand.hand(over: message)
            } else if mailbox.inbox.rest() {
                // The next message announces itself.
                return
            } else {
                // It is just being written.
                SystemThread.yield()
                return port.signal()
            }
        }
    }
}
