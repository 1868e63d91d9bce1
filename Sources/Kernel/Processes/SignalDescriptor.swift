// Signals as something to read: the way in which they reach a loop.

internal import CLinux
internal import Glibc

/// A signal that has arrived.
public struct ReceivedSignal: Equatable, Sendable {
    /// Which one.
    public let signal: Signal
    /// The process id of the sender; 0 for the kernel and for senders outside of our namespace.
    public let senderProcessID: Int

    package init(signal: Signal, senderProcessID: Int) {
        self.signal = signal
        self.senderProcessID = senderProcessID
    }
}

/// A descriptor that becomes readable when one of its signals is pending.
///
/// The signals must be blocked (`Signal.block`), or they have their usual effect instead.
package struct SignalDescriptor: ~Copyable, Sendable {
    /// The descriptor that the poller watches.
    package let descriptor: Descriptor

    /// Makes one for a set of signals.
    ///
    /// - Parameter signals: not SIGKILL and SIGSTOP, which no process can receive.
    /// - Throws: EMFILE, ENFILE, ENOMEM.
    /// - Thread: any.
    /// - Blocks: never.
    /// - Source: signalfd(2).
    package init(_ signals: Set<Signal>) throws(SystemError) {
        var set = Signal.rawSet(signals)
        let flags = CInt(SFD_NONBLOCK | SFD_CLOEXEC)
        descriptor = Descriptor(
            owning: try retrying("signalfd") { unsafe signalfd(-1, &set, flags) })
    }

    /// Takes the next pending signal; nil when there is none.
    ///
    /// The same signal sent twice before it is taken arrives once.
    ///
    /// - Throws: nothing that a correct program meets.
    /// - Thread: any; it takes what is pending for the process and for the *calling* thread.
    /// - Blocks: never.
    package borrowing func next() throws(SystemError) -> ReceivedSignal? {
        var information = signalfd_siginfo()
        let result = try unsafe withUnsafeMutableBytes(of: &information) {
            (bytes) throws(SystemError) in
            try unsafe descriptor.read(into: bytes)
        }
        guard case .bytes = result else { return nil }
        return ReceivedSignal(
            signal: Signal(CInt(information.ssi_signo)),
            senderProcessID: Int(information.ssi_pid))
    }
}
