// A connection that is passed on: two sockets, and the bytes that go from one to the other. Bytes
// that one end does not take stop the reading at the other end, so that each direction holds one
// read at most; an idle connection has no memory for bytes.

internal import Jobs
internal import Kernel
internal import RunLoops

/// A client's connection, and the one to the daemon that serves.
///
/// Confined to its relay's loop.
final class RelayedConnection {
    private enum State {
        /// The client has sent nothing.
        case silent
        /// The client has sent something, and there is no daemon that serves.
        case held
        case connecting
        /// Bytes go both ways.
        case open
        /// The client is told why it is not served; what it sends is discarded.
        case leaving
        case closed
    }

    /// One of the two sockets.
    private final class End {
        let number: Int32
        private(set) var descriptor: Descriptor?
        var port: ThreadRunLoop.Port?

        init(_ descriptor: consuming Descriptor) {
            number = descriptor.number
            self.descriptor = consume descriptor
        }

        func take() -> Descriptor? {
            port?.invalidate()
            port = nil
            return descriptor.take()
        }

        func close() { _ = take() }
    }

    /// The bytes of one direction.
    private struct Flow {
        var bytes: [UInt8] = []
        var sentCount = 0
        /// Whether the end that writes has ended, and whether the other one was told.
        var hasEnded = false
        var isShut = false

        var isEmpty: Bool { sentCount == bytes.count }
    }

    let number: UInt64
    let ends: PeerInfo
    let door: Door
    /// Whether another node has passed it on.
    private(set) var wasPassedOn = false
    private unowned let relay: Relay
    private let client: End
    private var server: End?
    /// The node to which it is passed on.
    private var node: Int64?
    private var toServer = Flow()
    private var toClient = Flow()
    private var state = State.silent
    private var isClientGone = false
    /// Ends the present state.
    private var limit: ThreadRunLoop.Timeout?
    /// When the client is told that no daemon serves; nil if it has not waited.
    private var heldUntil: Instant?

    private static let readByteCount = 64 << 10
    /// Reads in one go, before others get their turn.
    private static let readCountMax = 8
    private static let connectPatience = Duration.seconds(3)
    private static let connectPause = Duration.milliseconds(500)
    /// How long an end may go on when the other one has ended.
    private static let farewell = Duration.seconds(2)

    init(
        _ number: UInt64, _ socket: consuming Descriptor, _ ends: PeerInfo, _ door: Door,
        _ relay: Relay
    ) {
        self.number = number
        self.ends = ends
        self.door = door
        self.relay = relay
        client = End(socket)
    }

    /// Waits for the client's first byte.
    func start() throws(SystemError) {
        try watch(client, for: .readable) { $0.clientIsReady($1) }
    }

    private func watch(
        _ end: End, for interest: Readiness,
        _ handle: @escaping (RelayedConnection, Readiness) -> Void
    ) throws(SystemError) {
        let connection = Confined((self, handle), to: relay.loop)
        let port = ThreadRunLoop.Port(watching: end.number, for: interest) { _, readiness in
            let (connection, handle) = connection.value
            handle(connection, readiness)
        }
        end.port = port
        try relay.loop.add(port)
    }

    /// Closes both ends at once.
    func close(_ reason: String) {
        guard state != .closed else { return }
        state = .closed
        endLimit()
        client.close()
        server?.close()
        (toServer, toClient) = (Flow(), Flow())
        relay.ended(self, reason)
    }

    // MARK: - Before it is passed on

    private func clientIsReady(_ readiness: Readiness) {
        switch state {
        case .silent: firstByte()
        case .held, .connecting: if readiness.contains(.closed) { close("the client hung up") }
        case .leaving: discard()
        case .open:
            if readiness.contains(.closed) { isClientGone = true }
            moveBoth()
        case .closed: break
        }
    }

    private func firstByte() {
        var byte: UInt8 = 0
        do throws(SystemError) {
            switch try client.descriptor?.peek(&byte) {
            case .wouldBlock: return
            case .end, nil: return close("the client sent nothing")
            case .bytes: break
            }
        } catch {
            return close("reading failed: \(error)")
        }
        wasPassedOn = door.isTCP && RelayMark.begins(with: byte)
        goOn()
    }

    /// Takes the next step, once the client has sent something.
    private func goOn() {
        switch relay.way(of: self) {
        case .hold: hold()
        case .connect(let address, let node): connect(to: address, node)
        case .circle: close("it was passed on already")
        case .refuse(let reason): refuse("BUSY \(reason)")
        }
    }

    /// Leaves the client's bytes where they are until a daemon serves.
    ///
    /// - Parameter pause: after how much time the next step is tried again; nil for not before
    ///   another daemon has the seat.
    private func hold(retryAfter pause: Duration? = nil) {
        state = .held
        client.port?.interest = []
        let now = relay.loop.now
        let end = heldUntil ?? now.advanced(by: Relay.patience)
        heldUntil = end
        endAt(min(end, pause.map { now.advanced(by: $0) } ?? end)) { connection in
            guard connection.relay.loop.now >= end else { return connection.goOn() }
            connection.refuse(
                "BUSY no node that serves is reached: a takeover takes seconds, try again")
        }
    }

    /// Another daemon may have the seat.
    func holderMayHaveChanged(_ holder: SeatHolder) {
        switch (state, holder) {
        case (.held, _): goOn()
        case (.connecting, .node(let now)) where now.id != node: leaveServer()
        case (.connecting, .own): leaveServer()
        case (.open, .node(let now)) where now.id != node: close("its node serves no longer")
        case (.open, .own): close("its node serves no longer")
        default: break
        }
    }

    /// A client that is here for a while has to have sent something.
    func silenceMayEnd() { if state == .silent { close("it sent nothing") } }

    /// The client's socket, if nothing of it was read; otherwise closes both.
    func takeUnread() -> Descriptor? {
        guard state == .silent || state == .held else {
            close("its node serves no longer")
            return nil
        }
        state = .closed
        endLimit()
        relay.ended(self, "it is served here")
        return client.take()
    }

    /// Tells the client why it is not served, and closes the connection when it has read that.
    func refuse(_ reason: String) {
        guard let words = relay.words(reason, at: door) else { return close(reason) }
        state = .leaving
        do throws(SystemError) {
            _ = try client.descriptor?.send(contentsOf: words)
            try client.descriptor?.shutdownWriting()
        } catch {
            return close("\(reason); sending failed: \(error)")
        }
        client.port?.interest = .readable
        endAt(relay.loop.now.advanced(by: Self.farewell)) { $0.close(reason) }
    }

    /// Unread bytes would take the words with them when the socket is closed.
    private func discard() {
        var bytes: [UInt8] = []
        let result = try? client.descriptor?.read(appendingTo: &bytes, atMost: Self.readByteCount)
        guard let result else { return close("the client hung up") }
        if result == .end { close("refused") }
    }

    // MARK: - Connecting

    private func connect(to address: SocketAddress, _ node: Int64) {
        state = .connecting
        self.node = node
        client.port?.interest = []
        do throws(SystemError) {
            let end = End(try address.beginConnecting())
            server = end
            try watch(end, for: .writable) { connection, _ in connection.serverIsReady(address) }
        } catch {
            return leaveServer()
        }
        endAt(relay.loop.now.advanced(by: Self.connectPatience)) { $0.leaveServer() }
    }

    /// There is no connection to the daemon that serves, and nothing was sent: tried again soon.
    private func leaveServer() {
        server?.close()
        server = nil
        node = nil
        hold(retryAfter: Self.connectPause)
    }

    private func serverIsReady(_ address: SocketAddress) {
        guard state == .connecting else { return moveBoth() }
        do throws(SystemError) {
            try server?.descriptor?.checkConnected(to: address)
            // A new socket has room for a few bytes.
            guard
                case .wrote(RelayMark.bytes.count) = try server?.descriptor?.send(
                    contentsOf: RelayMark.bytes)
            else { return leaveServer() }
        } catch {
            return leaveServer()
        }
        endLimit()
        state = .open
        moveBoth()
    }

    // MARK: - Both ways

    private func moveBoth() {
        guard state == .open, let server else { return }
        do throws(SystemError) {
            try move(&toServer, from: client, to: server)
            try move(&toClient, from: server, to: client)
        } catch {
            return close("a connection broke: \(error)")
        }
        if toClient.isShut, toServer.isShut || isClientGone { return close("both ends are done") }
        if isClientGone, toServer.isShut { return close("the client hung up") }
        if toClient.isShut, limit == nil {
            endAt(relay.loop.now.advanced(by: Self.farewell)) { $0.close("its node has ended it") }
        }
        client.port?.interest = interest(reads: toServer, writes: toClient)
        server.port?.interest = interest(reads: toClient, writes: toServer)
    }

    private func interest(reads: Flow, writes: Flow) -> Readiness {
        var interest: Readiness = []
        if reads.isEmpty, !reads.hasEnded { interest.insert(.readable) }
        if !writes.isEmpty { interest.insert(.writable) }
        return interest
    }

    private func move(_ flow: inout Flow, from source: End, to sink: End) throws(SystemError) {
        if flow.isEmpty { swap(&flow.bytes, &relay.spare) }
        defer {
            if flow.isEmpty {
                flow.sentCount = 0
                flow.bytes.removeAll(keepingCapacity: true)
                swap(&flow.bytes, &relay.spare)
            }
        }
        for _ in 0..<Self.readCountMax {
            while !flow.isEmpty {
                let result = try sink.descriptor?.send(contentsOf: flow.bytes, from: flow.sentCount)
                guard case .wrote(let count) = result else { return }
                flow.sentCount += count
            }
            if flow.hasEnded {
                if !flow.isShut { try sink.descriptor?.shutdownWriting() }
                flow.isShut = true
                return
            }
            flow.sentCount = 0
            flow.bytes.removeAll(keepingCapacity: true)
            switch try source.descriptor?.read(
                appendingTo: &flow.bytes, atMost: Self.readByteCount)
            {
            case .bytes: break
            case .end: flow.hasEnded = true
            case .wouldBlock, nil: return
            }
        }
    }

    // MARK: - Limits

    private func endAt(_ date: Instant, _ end: @escaping (RelayedConnection) -> Void) {
        endLimit()
        let connection = Confined((self, end), to: relay.loop)
        limit = relay.loop.schedule(at: date) {
            let (connection, end) = connection.value
            connection.limit = nil
            end(connection)
        }
    }

    private func endLimit() {
        if let limit { relay.loop.cancel(limit) }
        limit = nil
    }
}
