// A port for messages between threads of one process: sending wakes the receiver's loop.

internal import Kernel
public import RunLoops
internal import Structures

/// A port to which any thread sends messages, received one by one on a loop's thread.
///
/// It costs no descriptor. Like every port it keeps its mode alive, and what arrives while the loop
/// runs in another mode is held.
///
/// - Source: NSMachPort in Apple's Threading Programming Guide, "Configuring a Port-Based Input
///   Source".
public final class MessagePort<Message: Sendable>: Sendable {
    private let inbox: Inbox<Message>
    private let port: ThreadRunLoop.Port

    /// A port that is in no loop yet.
    ///
    /// - Parameters:
    ///   - order: smaller ones are handled first among ports ready in the same pass.
    ///   - receive: called on the loop's thread for each message, in order.
    public init(order: Int = 0, receive: @escaping @Sendable (Message) -> Void) {
        let inbox = Inbox<Message>()
        self.inbox = inbox
        port = ThreadRunLoop.Port(order: order) { port, _ in
            // Those that arrive from now on are for the next pass.
            let end = inbox.end
            while !inbox.isTaken(upTo: end), let message = inbox.popFirst() {
                // A run nested in the receiver goes on with those behind this one.
                if !inbox.rest() { port.signal() }
                receive(message)
            }
            if !inbox.rest() {
                SystemThread.yield()
                port.signal()
            }
        }
    }

    deinit {
        port.invalidate()
    }

    /// Sends a message and wakes the receiver's loop.
    ///
    /// - Returns: false when the port was invalidated or its loop's thread has ended: the message
    ///   is not received.
    /// - Thread: any thread; the messages of one thread keep their order.
    /// - Blocks: never; a system call only if the loop sleeps.
    @discardableResult
    public func send(_ message: Message) -> Bool {
        guard port.isValid else { return false }
        switch inbox.push(message) {
        case .first: port.signal()
        case .queued: break
        case .closed: return false
        }
        return true
    }

    /// Puts the port into a mode of a loop.
    ///
    /// - Thread: any thread.
    public func add(to loop: ThreadRunLoop, mode: ThreadRunLoop.Mode = .default) {
        do {
            try loop.add(port, to: mode)
        } catch {
            preconditionFailure("a port without a descriptor asks nothing of the kernel: \(error)")
        }
    }

    /// Takes the port out of its modes for good and refuses later messages.
    ///
    /// - Returns: the messages that nobody will receive, in order.
    /// - Thread: the loop's own thread, or any thread once no loop handles it.
    @discardableResult
    public func invalidate() -> [Message] {
        port.invalidate()
        var left: [Message] = []
        inbox.close(into: &left, waiting: SystemThread.yield)
        return left
    }
}
