// A connection that one thread uses at a time, which waits for each reply. How it is made is in
// Connection+Open.swift. It knows neither jobs nor what the commands mean.

internal import Kernel
internal import RESP
internal import TLS

/// A connection to a daemon, one command at a time.
struct Connection: ~Copyable {
    private var wire: Wire
    private let wait: InterruptibleWait
    private var lastUse: Instant
    private var interest = Readiness.readable
    /// Whether the daemon reads nothing more: it hangs up, though that may not be seen yet.
    private(set) var isGivenUp = false

    /// Takes over a connected socket.
    init(_ wire: consuming Wire, interruption: Interruption) throws(SystemError) {
        wait = try InterruptibleWait(on: wire.socket.number, interruption)
        self.wire = wire
        lastUse = wait.now
    }

    /// Does the handshake of TLS, if there is one.
    ///
    /// - Throws: a `TLSError`; or a `WorkerClientError`: `.timedOut`, `.closed`.
    /// - Blocks: until it is done.
    mutating func encrypt(before deadline: CallDeadline?) throws {
        while let need = try wire.shakeHands() {
            try watch(for: need)
            try wait.untilReady(before: deadline)
        }
        try watch(for: .readable)
    }

    /// Sends a command and waits for its reply.
    ///
    /// - Parameters:
    ///   - command: its chunks.
    ///   - limit: how long that may take; nil for as long as it takes.
    /// - Returns: nil if the daemon hung up before all of the command was out, and so never had it.
    /// - Throws: `.timedOut`, `.closed`, `.protocolFault`; the connection is of no use afterwards.
    /// - Blocks: until the reply is there.
    mutating func exchange(
        _ command: [[UInt8]], within limit: Duration?
    ) throws(WorkerClientError) -> RESPValue? {
        let deadline = wait.deadline(after: limit)
        let extent = try send(command, before: deadline)
        if extent == .nothing { return nil }
        do throws(WorkerClientError) {
            return try reply(before: deadline)
        } catch {
            guard extent == .part && wire.hasEnded else { throw error }
            return nil
        }
    }

    /// Waits for the reply to what was sent.
    ///
    /// - Throws: `.timedOut`, `.closed`, `.protocolFault`; the connection is of no use afterwards.
    /// - Blocks: until it is there.
    mutating func reply(before deadline: CallDeadline?) throws(WorkerClientError) -> RESPValue {
        while true {
            let value = try nextValue(before: deadline)
            // Pushes come whenever they come, and this reply is all that is waited for.
            if case .push = value { continue }
            // So begins the reply to what can't be read, or is too much.
            if value.errorMessage?.hasPrefix("Protocol error") == true { isGivenUp = true }
            lastUse = wait.now
            return value
        }
    }

    /// When waiting for so long, from now on, is over; nil if it never is.
    func deadline(after limit: Duration?) -> CallDeadline? { wait.deadline(after: limit) }

    /// How much of a command the daemon took.
    enum Extent {
        case nothing
        /// It hung up in the middle of it, and may have said why.
        case part
        case whole
    }

    /// Sends a command, or as much of it as the daemon takes before it hangs up.
    ///
    /// - Throws: `.timedOut`, `.closed`; the connection is of no use afterwards.
    /// - Blocks: until it is out.
    mutating func send(
        _ command: [[UInt8]], before deadline: CallDeadline?
    ) throws(WorkerClientError) -> Extent {
        var outbox = Outbox()
        outbox.append(command)
        let byteCount = outbox.byteCount
        while try sendMore(of: &outbox) {
            try watch(for: .writable)
            try wait.untilReady(before: deadline)
        }
        try watch(for: .readable)
        if outbox.isEmpty { return .whole }
        return outbox.byteCount < byteCount ? .part : .nothing
    }

    /// - Returns: whether there is more to be sent.
    private mutating func sendMore(of outbox: inout Outbox) throws(WorkerClientError) -> Bool {
        guard try wire.send(&outbox) != nil else {
            isGivenUp = true
            return false
        }
        return !outbox.isEmpty
    }

    /// Waits for the next reply or push.
    ///
    /// - Throws: `.timedOut`, `.closed`, `.protocolFault`; the connection is of no use afterwards.
    /// - Blocks: until there is one.
    mutating func nextValue(before deadline: CallDeadline?) throws(WorkerClientError) -> RESPValue {
        while true {
            if let value = try wire.nextValue() { return value }
            if !wire.holdsInput { try wait.untilReady(before: deadline) }
            _ = try wire.read()
        }
    }

    /// Whether the daemon has not hung up since the last reply.
    ///
    /// - Parameter idle: a connection that was used later than that is not looked at.
    mutating func isStillUsable(lookingAfter idle: Duration) -> Bool {
        if lastUse.duration(to: wait.now) < idle { return true }
        // Whatever came unasked, pushes aside, would be taken for the reply to the next command.
        do throws(WorkerClientError) {
            _ = try wire.read()
            return try wire.nextReply() == nil
        } catch {
            return false
        }
    }

    /// Gives away what a loop needs to go on with the connection.
    consuming func handOver() -> Wire { wire }

    private mutating func watch(for interest: Readiness) throws(WorkerClientError) {
        guard interest != self.interest else { return }
        do throws(SystemError) {
            try wait.watch(wire.socket.number, for: interest)
        } catch {
            throw .closed(error.description)
        }
        self.interest = interest
    }
}
