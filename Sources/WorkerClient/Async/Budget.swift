// How much of an asynchronous client may be outstanding, and whether it is over. Shared by the
// tasks that ask and the thread that serves them.

internal import Synchronization

/// The limits of one asynchronous client, and what is used of them.
final class Budget: Sendable {
    private struct State {
        var outstandingCount = 0
        var unsentByteCount = 0
        /// Why the client takes no more commands; the first reason stays.
        var end: WorkerClientError?
        var hasDaemonLeft = false
    }

    private let state = Mutex(State())
    private let outstandingCountMax: Int
    private let unsentByteCountMax: Int
    private let address: WorkerAddress

    init(_ options: ClientOptions, _ address: WorkerAddress) {
        self.address = address
        outstandingCountMax = options.outstandingCountMax
        unsentByteCountMax = options.unsentByteCountMax
    }

    /// Whether a command is refused when too much is outstanding.
    enum Limits {
        case applied
        /// For what takes something back that was within the limits: there is no more of these.
        case passed
    }

    /// Takes what one command needs.
    ///
    /// A command larger than the limit is taken when no other waits to be sent: it could never be
    /// sent otherwise.
    ///
    /// - Throws: `.tooManyOutstanding`, or why the client is over.
    /// - Thread: any thread.
    func take(byteCount: Int, within limits: Limits) throws(WorkerClientError) {
        try state.withLock { (state) throws(WorkerClientError) in
            if let end = state.end { throw end.asUnsent(to: address) }
            if limits == .applied { try checkRoom(for: byteCount, state) }
            state.outstandingCount += 1
            state.unsentByteCount += byteCount
        }
    }

    private func checkRoom(for byteCount: Int, _ state: State) throws(WorkerClientError) {
        guard state.outstandingCount < outstandingCountMax else {
            throw .tooManyOutstanding(limit: outstandingCountMax)
        }
        let unsent = state.unsentByteCount
        guard unsent == 0 || unsent + byteCount <= unsentByteCountMax else {
            throw .tooManyOutstanding(limit: unsentByteCountMax)
        }
    }

    /// Gives back what was sent.
    func sent(byteCount: Int) {
        state.withLock { $0.unsentByteCount -= byteCount }
    }

    /// Gives back the place of a command that was answered.
    func answered() {
        state.withLock { $0.outstandingCount -= 1 }
    }

    /// Takes no more commands.
    ///
    /// - Parameter isByDaemon: whether it was the daemon that ended the connection.
    func end(_ reason: WorkerClientError, isByDaemon: Bool = false) {
        state.withLock { state in
            guard state.end == nil else { return }
            state.end = reason
            state.hasDaemonLeft = isByDaemon
        }
    }

    /// The error of a command that gets no answer.
    ///
    /// - Parameter isSent: whether the daemon may have got it.
    func failure(isSent: Bool) -> WorkerClientError {
        let reason = endReason ?? .closed("the thread that serves the client has ended")
        return isSent ? reason : reason.asUnsent(to: address)
    }

    /// Whether it is over because the daemon ended the connection.
    var hasDaemonLeft: Bool { state.withLock { $0.hasDaemonLeft } }

    /// Why it is over; nil while it is not.
    var endReason: WorkerClientError? { state.withLock { $0.end } }

    /// How many commands are without a reply.
    var outstandingCount: Int { state.withLock { $0.outstandingCount } }
}
