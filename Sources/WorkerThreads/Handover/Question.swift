// Messages that want an answer: the question, and the port that takes the answer. Waiting for
// it is in MessagePort+Asking.swift.

internal import Synchronization

/// Why an answer did not come.
public enum PortError: Error, Equatable, Sendable, CustomStringConvertible {
    /// No answer will come: the port takes no messages, its loop's thread has ended, or the code
    /// that received the message let go of it without a word.
    case closed
    /// As many messages wait as the port may hold. Try again later.
    case full(limit: Int)
    /// The time limit has passed; an answer that comes now is refused.
    case timedOut
    /// The caller is the thread that would have to answer, and its loop does not receive from the
    /// port in the mode in which it would wait.
    case ownThread

    /// The fault, and its cure.
    public var description: String {
        switch self {
        case .closed: "nobody will answer: the receiver has gone, or let go of the message"
        case .full(let limit):
            "the port holds \(limit) waiting messages, its limit; try again later"
        case .timedOut: "no answer came in time"
        case .ownThread:
            "the port is received on the thread that asks; wait in one of the port's modes"
        }
    }
}

/// A message with a port for its answer: NSPortMessage, under a name that Foundation leaves free.
///
/// Its body is what Cocoa calls components: any sendable value, ports among them. That is how a
/// thread checks in with another: it sends a port of its own, which the other keeps.
///
/// ```swift
/// let squares = MessagePort<Question<Int, Int>>(answering: { $0 * $0 })
/// squares.add(to: worker.runLoop)
/// let nine = try await squares.ask(3, timeout: .seconds(60))
/// ```
///
/// - Source: NSPortMessage.
public struct Question<Body: Sendable, Reply: Sendable>: Sendable {
    /// Tells kinds of messages apart, for programs that need it; `msgid` in Cocoa.
    public let id: Int
    /// The value that is sent.
    public let body: Body
    /// Takes the answer.
    public let reply: ReplyPort<Reply>

    /// A message to send.
    public init(id: Int = 0, body: Body, reply: ReplyPort<Reply>) {
        self.id = id
        self.body = body
        self.reply = reply
    }
}

/// Takes the answer to a message, once.
///
/// It can be kept, and answered later from any thread. Let go of without an answer, it tells
/// the waiting sender that none will come.
public final class ReplyPort<Reply: Sendable>: Sendable {
    private let pending: PendingAnswer<Reply>

    init(_ pending: PendingAnswer<Reply>) {
        self.pending = pending
    }

    /// A port that calls a closure with the answer, on the thread that gives it.
    public convenience init(
        _ receive: @escaping @Sendable (Result<Reply, PortError>) -> Void
    ) {
        self.init(PendingAnswer(receive))
    }

    /// A port that sends the answer on to a message port, to be received on its loop's thread.
    ///
    /// An answer that the port refuses is lost, as any message to it is.
    public convenience init(to port: MessagePort<Result<Reply, PortError>>) {
        self.init { port.send($0) }
    }

    deinit {
        pending.settle(.failure(.closed))
    }

    /// Gives the answer.
    ///
    /// - Returns: false when no sender waits any more, or an answer was given before.
    /// - Thread: any thread.
    /// - Blocks: never.
    @discardableResult
    public func send(_ reply: Reply) -> Bool { pending.settle(.success(reply)) }

    /// Whether a sender waits for the answer still; out of date as soon as it is known.
    ///
    /// - Thread: any thread.
    public var isWanted: Bool { pending.isWanted }
}

extension ReplyPort<Void> {
    /// Says that it is done.
    ///
    /// - Returns: false when no sender waits any more, or it was said before.
    /// - Thread: any thread.
    @discardableResult
    public func send() -> Bool { send(()) }
}

/// A sender that waits for an answer, seen from all that may end the waiting.
///
/// Those are: the answer, the message let go of, the time limit, a cancelled task. The one that
/// takes the closure has won.
final class PendingAnswer<Reply: Sendable>: Sendable {
    private let receive: Mutex<(@Sendable (Result<Reply, PortError>) -> Void)?>

    init(_ receive: @escaping @Sendable (Result<Reply, PortError>) -> Void) {
        self.receive = Mutex(receive)
    }

    var isWanted: Bool { receive.withLock { $0 != nil } }

    /// - Returns: whether this ended the waiting.
    @discardableResult
    func settle(_ result: Result<Reply, PortError>) -> Bool {
        guard let receive = receive.withLock({ $0.take() }) else { return false }
        receive(result)
        return true
    }
}
