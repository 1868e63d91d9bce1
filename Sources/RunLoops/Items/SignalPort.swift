// Signals of the process as events of a loop.

public import Kernel

/// Receives signals of the process on a loop's thread.
///
/// The signals have to be blocked in every thread, or they have their usual effect. So make the
/// port on the main thread before other threads are started: making it blocks its signals in the
/// calling thread, and threads inherit that from the thread that starts them.
///
/// Keep the port for as long as it is to receive: its loop does not. Once the last reference to it
/// is gone it is invalid. Its signals stay blocked.
///
/// ```swift
/// let ends = try SignalPort([.terminate, .interrupt]) { received in
///     print("\(received.signal) from process \(received.senderProcessID)")
///     ThreadRunLoop.current.stop()
/// }
/// try ends.add(to: .current)
/// ```
///
/// - Source: signalfd(2).
public final class SignalPort: Sendable {
    private let port: ThreadRunLoop.Port

    /// The object that only the port's handler holds: the descriptor is closed once the port has
    /// left its loop.
    private final class Reader: Sendable {
        let signals: SignalDescriptor

        init(_ signals: consuming SignalDescriptor) { self.signals = signals }

        /// Takes a pending signal: each signal is pending once at most.
        func next() -> ReceivedSignal? { try? signals.next() }
    }

    /// A port that is in no loop yet; blocks its signals in the calling thread.
    ///
    /// - Parameters:
    ///   - signals: which ones; not `kill` and `stop`, which can't be received.
    ///   - order: smaller ones are handled first among ports ready in the same pass.
    ///   - handler: called on the loop's thread for each signal. A signal that is sent again before
    ///     it is handled comes once.
    ///   - fileID: the caller's file, told of its calls while its loop is measured.
    ///   - line: the caller's line.
    /// - Throws: EMFILE, ENFILE or ENOMEM when there is no room for its descriptor.
    /// - Thread: the main thread before others are started, if it is to receive the process's
    ///   signals.
    /// - Blocks: never.
    public init(
        _ signals: Set<Signal>, order: Int = 0,
        handler: @escaping @Sendable (ReceivedSignal) -> Void,
        fileID: StaticString = #fileID, line: UInt = #line
    ) throws(SystemError) {
        Signal.block(signals)
        let reader = Reader(try SignalDescriptor(signals))
        port = ThreadRunLoop.Port(
            watching: reader.signals.descriptor.number, order: order,
            handler: { port, _ in
                while port.isValid, let received = reader.next() { handler(received) }
            }, fileID: fileID, line: line)
    }

    deinit { port.invalidate() }

    /// Puts the port into a mode of a loop.
    ///
    /// - Throws: ENOMEM, ENOSPC or EMFILE when the kernel has no room.
    /// - Thread: the loop's own thread.
    /// - Blocks: never.
    public func add(
        to loop: ThreadRunLoop, mode: ThreadRunLoop.Mode = .default
    ) throws(SystemError) {
        try loop.add(port, to: mode)
    }

    /// Takes the port out of its modes for good; its signals stay blocked.
    ///
    /// - Thread: any thread; on the loop's own thread the handler is not called any more.
    /// - Blocks: never.
    public func invalidate() { port.invalidate() }

    /// Whether it can still receive.
    ///
    /// - Thread: any thread.
    public var isValid: Bool { port.isValid }
}
