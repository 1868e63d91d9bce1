// A connection that one thread uses at a time, which waits for each reply. How it is made is in
// Connection+Open.swift. It knows neither jobs nor what the commands mean.

internal import Kernel
internal import RESP

/// A connection to a daemon, one command at a time.
struct Connection: ~Copyable {
    private var wire: Wire
    private let wait: InterruptibleWait
    private var lastUse: Instant
    private var interest = Readiness.readable

    /// Takes over a connected socket.
    init(_ wire: consuming Wire, interruption: Interruption) throws(SystemError) {
        wait = try InterruptibleWait(on: wire.socket.number, interruption)
        self.wire = wire
        lastUse = wait.now
    }

    /// Sends a command and waits for its reply.
    ///
    /// - Parameters:
    ///   - command: its chunks.
    ///   - limit: how long that may take; nil for as long as it takes.
    /// - Throws: `.timedOut`, `.closed`, `.protocolFault`; the connection is of no use afterwards.
    /// - Blocks: until the reply is there.
    mutating func exchange(
        _ command: [[UInt8]], within limit: Duration?
    ) throws(WorkerClientError) -> RESPValue {
        let deadline = wait.deadline(after: limit)
        var outbox = Outbox()
        outbox.append(command)
        while try wire.send(&outbox) != nil, !outbox.isEmpty {
            try watch(for: .writable)
            try wait.untilReady(before: deadline)
        }
        try watch(for: .readable)
        while true {
            if let reply = try wire.nextReply() {
                lastUse = wait.now
                return reply
            }
            try wait.untilReady(before: deadline)
            _ = try wire.read()
        }
    }

    /// Waits for the next push.
    ///
    /// - Throws: `.closed`, `.protocolFault`; the connection is of no use afterwards.
    /// - Blocks: until there is one.
    mutating func nextPush() throws(WorkerClientError) -> RESPValue {
        try watch(for: .readable)
        while true {
            if let value = try wire.nextValue() {
                guard case .push = value else { throw Read.unexpected(value, "a push") }
                return value
            }
            try wait.untilReady(before: nil)
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
