// A port for messages between threads of one process: sending wakes the receiver's loop. Messages
// that want an answer are in Question.swift; this knows nothing of answers.

internal import Kernel
public import RunLoops
public import Structures
internal import Synchronization

/// The fate of a message.
public enum SendResult: Sendable, Hashable {
    /// The port has it, and its loop has been woken.
    case sent
    /// As many messages wait as the port may hold: it was refused. Try again later.
    case full
    /// The port was invalidated, or its loop's thread has ended: it was refused, as all later ones.
    case closed
}

/// A port to which any thread sends messages, received one by one on a loop's thread.
///
/// It costs no descriptor. Like every port it keeps its mode alive, and messages that arrive while
/// the loop runs in another mode wait. When its loop's thread ends, waiting messages are
/// dropped and counted in `abandonedCount`, here and of the worker.
///
/// Keep it for as long as it is to receive: its loop does not. Once the last reference to it is
/// gone it is invalid, and senders that wait for an answer are told.
///
/// - Source: NSMachPort in Apple's Threading Programming Guide, "Configuring a Port-Based Input
///   Source".
public final class MessagePort<Message: Sendable>: Sendable {
    @usableFromInline let mailbox: Mailbox<Message>
    @usableFromInline let port: ThreadRunLoop.Port

    /// A port that is in no loop yet.
    ///
    /// - Parameters:
    ///   - order: smaller ones are handled first among ports ready in the same pass.
    ///   - limit: the most messages that may wait to be received, at least 1; `Int.max` for as many
    ///     as memory allows.
    ///   - receive: called on the loop's thread for each message, in order.
    ///   - fileID: the caller's file, told of its calls while its loop is measured.
    ///   - line: the caller's line.
    @inlinable
    public init(
        order: Int = 0, limit: Int = .max, receive: @escaping @Sendable (Message) -> Void,
        fileID: StaticString = #fileID, line: UInt = #line
    ) {
        // Inlined where the type of the messages is known, as the buffer of commands is.
        require(limit > 0, "a port holds at least 1 message, not \(limit)")
        let mailbox = Mailbox<Message>(limit: limit)
        self.mailbox = mailbox
        let receiver = Receiver(mailbox: mailbox, receive: receive)
        port = ThreadRunLoop.Port(
            order: order, handler: { port, _ in receiver.receiveArrived(port) },
            fileID: fileID, line: line)
    }

    /// A port whose messages something else than a closure takes.
    init(mailbox: Mailbox<Message>, port: ThreadRunLoop.Port) {
        self.mailbox = mailbox
        self.port = port
    }

    deinit {
        port.invalidate()
    }

    /// The most messages that may wait; `Int.max` for as many as memory allows.
    public var limit: Int { mailbox.room.limit }

    /// Sends a message and wakes the receiver's loop.
    ///
    /// - Returns: whether it was sent, or why it is not received.
    /// - Thread: any thread; the messages of one thread keep their order.
    /// - Blocks: never; a system call only if the loop sleeps.
    @discardableResult
    @inlinable
    public func send(_ message: consuming Message) -> SendResult {
        guard port.isValid else { return .closed }
        guard mailbox.room.take() else { return .full }
        switch mailbox.inbox.push(message) {
        case .first: port.signal()
        case .queued: break
        case .closed: return .closed
        }
        return .sent
    }

    /// Puts the port into a mode of a loop.
    ///
    /// - Thread: any thread.
    public func add(to loop: ThreadRunLoop, mode: ThreadRunLoop.Mode = .default) {
        // A loop whose thread has ended takes nothing: waiting messages would wait for ever.
        if !loop.add(signalled: port, to: mode) {
            port.invalidate()
            mailbox.abandon()
        }
    }

    /// Takes the port out of its modes for good and refuses later messages.
    ///
    /// - Returns: the messages that will not be received, in order; none once its loop's thread has
    ///   ended, with which they were let go of.
    /// - Thread: the loop's own thread, or any thread once no loop handles it.
    @discardableResult
    public func invalidate() -> [Message] {
        let left = mailbox.close()
        port.invalidate()
        return left
    }

    /// Whether it takes messages still.
    ///
    /// - Thread: any thread; out of date as soon as it is known, but once false, always false.
    public var isValid: Bool { port.isValid && !mailbox.inbox.isClosed }

    /// How many messages were sent and never received, because the loop's thread had ended.
    ///
    /// - Thread: any thread; final once the thread has been joined.
    public var abandonedCount: Int { mailbox.abandonedCount.load(ordering: .relaxed) }

    /// The loop that receives; nil as long as there is none.
    var receivingLoop: ThreadRunLoop? { port.loop }

    /// The modes in which it receives.
    var receivingModes: [ThreadRunLoop.Mode] { port.modes }
}

/// The waiting messages of a port, on both sides.
@usableFromInline
final class Mailbox<Message: Sendable>: @unchecked Sendable {
    // SAFETY: messages are taken out of `inbox` on the loop's thread only, or by the thread that
    // closes the box once no loop handles it. The rest is safe from any thread.
    @usableFromInline let inbox = Inbox<Message>()
    @usableFromInline let room: Room
    /// Messages that were dropped at the end of the loop's thread.
    let abandonedCount = Atomic<Int>(0)

    @usableFromInline
    init(limit: Int) { room = Room(limit: limit) }

    /// - Returns: the next of the messages before a mark.
    @inlinable
    func next(upTo mark: Inbox<Message>.Mark) -> Message? {
        guard !inbox.isTaken(upTo: mark), let message = inbox.popFirst() else { return nil }
        room.giveBack()
        return message
    }

    /// Takes no more.
    ///
    /// - Returns: the waiting messages, in order.
    @discardableResult
    func close() -> [Message] {
        var left: [Message] = []
        inbox.close(into: &left, waiting: SystemThread.yield)
        return left
    }
}

extension Mailbox {
    /// Takes no more, and counts the waiting messages, which will not be received.
    func abandon() {
        let count = close().count
        abandonedCount.add(count, ordering: .relaxed)
        ThreadRunLoop.noteAbandoned(count)
    }
}

/// The receiving side of a port, which only its handler holds.
///
/// So it goes when the port becomes invalid, be it that its loop's thread ends, and lets go of what
/// waits: senders that wait for an answer to one of those messages are told.
@usableFromInline
final class Receiver<Message: Sendable>: Sendable {
    @usableFromInline let mailbox: Mailbox<Message>
    @usableFromInline let receive: @Sendable (Message) -> Void

    @usableFromInline
    init(mailbox: Mailbox<Message>, receive: @escaping @Sendable (Message) -> Void) {
        self.mailbox = mailbox
        self.receive = receive
    }

    deinit {
        mailbox.abandon()
    }

    /// Receives the messages of this moment; later ones are for the next pass.
    @inlinable
    func receiveArrived(_ port: ThreadRunLoop.Port) {
        let end = mailbox.inbox.end
        var isNextArriving = true
        while port.isValid, let message = mailbox.next(upTo: end) {
            isNextArriving = false
            // A run nested in the receiver goes on with those behind this one.
            if !mailbox.inbox.rest(), !port.isSignalled { port.signal() }
            receive(message)
        }
        // Nothing is left of what a run nested in the receiver was to go on with.
        if port.isSignalled { takeBackSignal(of: port) }
        if !mailbox.inbox.rest() {
            if isNextArriving { giveWay() }
            port.signal()
        }
    }

    @usableFromInline
    func takeBackSignal(of port: ThreadRunLoop.Port) { port.takeBackSignal() }

    @usableFromInline
    func giveWay() { SystemThread.yield() }
}
