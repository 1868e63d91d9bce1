// A connection that one thread uses at a time, which waits for each reply. How it is made is in
// Connection+Open.swift. It knows neither jobs nor what the commands mean.

internal import Kernel
internal import RESP
internal import Synchronization

/// Ends the waiting of a connection from another thread, for good.
final class Interruption: Sendable {
    fileprivate let poller = SystemPoller()
    private let hasHappened = Atomic<Bool>(false)

    /// - Thread: any thread.
    func interrupt() {
        hasHappened.store(true, ordering: .sequentiallyConsistent)
        poller.wake()
    }

    var isOver: Bool { hasHappened.load(ordering: .sequentiallyConsistent) }
}

/// A connection to a daemon, one command at a time.
struct Connection: ~Copyable {
    private var wire: Wire
    private let set: any PollSet
    private var lastUse: Instant
    private var interest = Readiness.readable
    private let interruption: Interruption

    /// Takes over a connected socket.
    init(_ wire: consuming Wire, interruption: Interruption) throws(SystemError) {
        let set = try interruption.poller.makeSet()
        try set.add(wire.socket.number, for: .readable, token: 1)
        self.set = set
        self.wire = wire
        self.interruption = interruption
        lastUse = interruption.poller.clock.now()
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
        let clock = interruption.poller.clock
        let deadline = limit.map { clock.now().advanced(by: $0) } ?? .distantFuture
        var outbox = Outbox()
        outbox.append(command)
        while try wire.send(&outbox) != nil, !outbox.isEmpty {
            try watch(for: .writable)
            try waitUntilReady(until: deadline, limit)
        }
        try watch(for: .readable)
        while true {
            if let reply = try wire.nextReply() {
                lastUse = clock.now()
                return reply
            }
            try waitUntilReady(until: deadline, limit)
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
            try waitUntilReady(until: .distantFuture, nil)
            _ = try wire.read()
        }
    }

    /// Whether the daemon has not hung up since the last reply.
    ///
    /// - Parameter idle: a connection that was used later than that is not looked at.
    mutating func isStillUsable(lookingAfter idle: Duration) -> Bool {
        if lastUse.duration(to: interruption.poller.clock.now()) < idle { return true }
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
            try set.change(wire.socket.number, for: interest, token: 1)
        } catch {
            throw .closed(error.description)
        }
        self.interest = interest
    }

    private func waitUntilReady(
        until deadline: Instant, _ limit: Duration?
    ) throws(WorkerClientError) {
        var ready: [ReadyEvent] = []
        while true {
            if interruption.isOver { throw .closed("the client was closed") }
            interruption.poller.wait(on: set, until: deadline, ready: &ready)
            if !ready.isEmpty { return }
            if let limit, interruption.poller.clock.now() >= deadline {
                throw .timedOut(after: limit)
            }
        }
    }
}
