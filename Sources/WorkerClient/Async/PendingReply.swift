// One reply that a task waits for: given once, by the first of the daemon's answer, the
// task's cancellation, or the end of the connection.

internal import RESP
internal import Synchronization

/// The waiting side of a reply.
final class PendingReply: Sendable {
    typealias Answer = Result<RESPValue, any Error>
    typealias Receiver = @Sendable (Answer) -> Void

    private enum State {
        case new
        case waited(Receiver)
        /// Answered before the task waited.
        case early(Answer)
        case over
    }

    private let state = Mutex(State.new)

    /// Has `receive` called once there is an answer, on the thread that gives it.
    ///
    /// - Returns: the answer that there is already: then it is not called.
    func wait(_ receive: @escaping Receiver) -> Answer? {
        state.withLock { state in
            switch state {
            case .new:
                state = .waited(receive)
                return nil
            case .early(let answer):
                state = .over
                return answer
            case .waited, .over: fatalError("a reply is waited for once")
            }
        }
    }

    /// Gives the answer; a later one changes nothing.
    ///
    /// - Thread: any thread.
    func answer(_ answer: Answer) {
        let receiver = state.withLock { state -> Receiver? in
            switch state {
            case .new:
                state = .early(answer)
                return nil
            case .waited(let receive):
                state = .over
                return receive
            case .early, .over: return nil
            }
        }
        receiver?(answer)
    }
}

/// The connection's side of a reply: a place in the order of replies.
///
/// A task that is cancelled leaves its place as it is, for the reply still comes. Code that lets go
/// of a place without an answer, on whatever way a connection or its thread ends, thereby tells the
/// task that the connection is over; so no task waits for ever.
final class ReplyPlace: Sendable {
    private let pending: PendingReply
    private let budget: Budget
    /// Touched by the connection's thread, and in `deinit`; nothing is published by it.
    private let isAnswered = Atomic<Bool>(false)
    /// Whether the daemon may have got all of the command; touched by the same.
    private let isSent = Atomic<Bool>(false)
    /// How long the command is.
    let byteCount: Int

    /// - Parameter budget: a command's share of it was taken, and is given back at the end.
    init(_ pending: PendingReply, _ budget: Budget, byteCount: Int) {
        self.pending = pending
        self.budget = budget
        self.byteCount = byteCount
    }

    deinit {
        if isAnswered.load(ordering: .relaxed) { return }
        budget.answered()
        pending.answer(.failure(budget.failure(isSent: isSent.load(ordering: .relaxed))))
    }

    /// Notes whether the daemon may have got all of the command.
    func note(isSent: Bool) {
        self.isSent.store(isSent, ordering: .relaxed)
    }

    func answer(_ reply: RESPValue) {
        isAnswered.store(true, ordering: .relaxed)
        // First, so that the task finds room for its next command.
        budget.answered()
        pending.answer(.success(reply))
    }
}
