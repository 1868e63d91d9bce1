// One reply that a task waits for: given once, by whoever comes first, the daemon's answer, the
// task's cancellation, or the end of the connection.

internal import RESP
internal import Synchronization

/// A task's side of a reply.
final class PendingReply: Sendable {
    typealias Answer = Result<RESPValue, any Error>
    typealias Continuation = CheckedContinuation<RESPValue, any Error>

    private enum State {
        case new
        case waited(Continuation)
        /// Answered before anybody waited.
        case early(Answer)
        case over
    }

    private let state = Mutex(State.new)

    /// Resumes the continuation once there is an answer.
    ///
    /// - Returns: false when there was one already: the command need not be sent.
    func wait(_ continuation: Continuation) -> Bool {
        let early = state.withLock { state -> Answer? in
            switch state {
            case .new:
                state = .waited(continuation)
                return nil
            case .early(let answer):
                state = .over
                return answer
            case .waited, .over: fatalError("a reply is waited for once")
            }
        }
        guard let early else { return true }
        continuation.resume(with: early)
        return false
    }

    /// Waits for the answer, however long it takes.
    func value() async throws -> RESPValue {
        try await withCheckedThrowingContinuation { _ = wait($0) }
    }

    /// Gives the answer; a later one changes nothing.
    ///
    /// - Thread: any thread.
    func answer(_ answer: Answer) {
        let continuation = state.withLock { state -> Continuation? in
            switch state {
            case .new:
                state = .early(answer)
                return nil
            case .waited(let continuation):
                state = .over
                return continuation
            case .early, .over: return nil
            }
        }
        continuation?.resume(with: answer)
    }
}

/// The connection's side of a reply: a place in the order of replies.
///
/// A task that is cancelled leaves its place as it is, for the reply still comes. Whoever lets go of
/// a place without an answer, on whatever way a connection or its thread ends, thereby tells the task
/// that the connection is over; so no task waits for ever.
final class ReplyPlace: Sendable {
    private let pending: PendingReply
    private let budget: Budget
    /// Touched by the connection's thread, and in `deinit`; nothing is published by it.
    private let isAnswered = Atomic<Bool>(false)

    /// - Parameter budget: a command's share of it was taken, and is given back at the end.
    init(_ pending: PendingReply, _ budget: Budget) {
        self.pending = pending
        self.budget = budget
    }

    deinit {
        if isAnswered.load(ordering: .relaxed) { return }
        budget.answered()
        let reason = budget.endReason ?? .closed("the thread that serves the client has ended")
        pending.answer(.failure(reason))
    }

    func answer(_ reply: RESPValue) {
        isAnswered.store(true, ordering: .relaxed)
        // First, so that the task finds room for its next command.
        budget.answered()
        pending.answer(.success(reply))
    }
}
