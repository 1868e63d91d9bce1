// The opening of a link to another node: a connection that has shown who it is, and for whom.
//
//     connecting ──▶ mark ──▶ TLS, if the node's door has it ──▶ LINK ──▶ accepted
//
// With TLS, the node is known by its certificate, whose digest it has told in the store: the secret
// of LINK goes to no other server. Nothing of a client is sent before the node has accepted LINK.

internal import Jobs
internal import Kernel
internal import RESP
internal import RunLoops
internal import TLS

/// Why there is no link to a node.
struct LinkFault: Error, Equatable {
    /// The word of the answer to the client, if another try is of no use.
    var word: WireError.Word?
    let reason: String
}

/// The other end of a link.
struct LinkTarget {
    let address: SocketAddress
    /// TLS of the link; nil for plaintext.
    let tls: (context: TLSContext, certificate: NodeCertificate)?

    /// Reads what a node has told of itself.
    ///
    /// - Parameter certificates: those of this node.
    /// - Throws: why it can't be reached.
    init(_ node: StoreNode, _ certificates: DoorCertificates) throws(LinkFault) {
        guard let url = node.commands, let (address, isEncrypted) = Relay.read(url) else {
            throw LinkFault(
                word: .busy,
                reason: "node \(node.name) has no address for others: set node.address there")
        }
        guard node.linkSecret != nil else {
            throw LinkFault(reason: "it has told no secret of its links: it has just started")
        }
        self.address = address
        guard isEncrypted else {
            tls = nil
            return
        }
        guard let certificate = node.certificate else {
            throw LinkFault(
                reason: "it serves at \(url), and has told no certificate: it has just started, "
                    + "or is of an older version")
        }
        guard let context = certificates.linkContext(to: certificate) else {
            throw LinkFault(
                word: .err,
                reason: "node \(node.name) requires certificates of its clients "
                    + "(listen.tls.requireClient there), and this one has none: set listen.tls "
                    + "here, or connect to \(url)")
        }
        tls = (context, certificate)
    }
}

/// A connection to another node, until that has accepted LINK.
///
/// Confined to its loop.
final class LinkOpening: HandshakeEnd, SocketReader {
    /// A link that commands can be sent over.
    struct Accepted {
        let socket: Session.Socket
        /// The number of the connection at the other node.
        let number: Int
    }

    private enum State { case connecting, shaking, greeting, ended }

    /// How long a node may take to accept LINK.
    private static let patience = Duration.seconds(3)
    private static let readByteCount = 4 << 10

    private let node: StoreNode
    private let target: LinkTarget
    private let userName: String
    private let loop: ThreadRunLoop
    private let handshakes: HandshakeRound
    private var state = State.connecting
    private(set) var socket: Session.Socket?
    private(set) var port: ThreadRunLoop.Port?
    private var output = OutputQueue()
    private var replies = ReplyFramer()
    private var limit: ThreadRunLoop.Timeout?
    private var whenEnded: ((Result<Accepted, LinkFault>) -> Void)?

    /// - Parameter userName: the user of this node whose commands are to be sent.
    init(
        to node: StoreNode, at target: LinkTarget, as userName: String, on loop: ThreadRunLoop,
        _ handshakes: HandshakeRound
    ) {
        self.node = node
        self.target = target
        self.userName = userName
        self.loop = loop
        self.handshakes = handshakes
    }

    /// Begins to connect.
    ///
    /// - Parameter whenEnded: called once, in a later pass; not after `close`.
    func begin(_ whenEnded: @escaping (Result<Accepted, LinkFault>) -> Void) {
        self.whenEnded = whenEnded
        do throws(TLSError) {
            try connect()
            endAt(Self.patience) { $0.fail("it does not answer") }
        } catch {
            let reason = self.reason(of: error)
            endAt(.zero) { $0.fail(reason) }
        }
    }

    /// Ends it without a word.
    func close() {
        state = .ended
        whenEnded = nil
        if let limit { loop.cancel(limit) }
        limit = nil
        port?.invalidate()
        port = nil
        socket = nil
    }

    /// The words by which a node is told for whom the commands are that follow.
    static func greeting(to node: StoreNode, as userName: String) -> [UInt8] {
        var bytes: [UInt8] = []
        CommandWriter.write(["LINK", .text(node.linkSecret ?? ""), .text(userName)], to: &bytes)
        return bytes
    }

    // MARK: - Connecting

    private func connect() throws(TLSError) {
        let descriptor: Descriptor
        do throws(SystemError) {
            descriptor = try target.address.beginConnecting()
        } catch {
            throw .system(error)
        }
        let number = descriptor.number
        if let tls = target.tls {
            socket = try Session.Socket(
                descriptor, client: tls.context, pinnedTo: tls.certificate.fingerprint)
        } else {
            socket = try Session.Socket(descriptor)
        }
        let opening = Confined(self, to: loop)
        let port = ThreadRunLoop.Port(watching: number, for: .writable) { _, readiness in
            opening.value.handle(readiness)
        }
        self.port = port
        do throws(SystemError) {
            try loop.add(port)
        } catch {
            throw .system(error)
        }
    }

    func handle(_ readiness: Readiness) {
        do throws(TLSError) {
            switch state {
            case .connecting: try connected()
            case .shaking: handshakes.add(self)
            case .greeting: try talk(readiness)
            case .ended: break
            }
        } catch {
            fail(reason(of: error))
        }
    }

    private func connected() throws(TLSError) {
        do throws(SystemError) {
            try socket?.descriptor.checkConnected(to: target.address)
            // A new socket has room for a few bytes.
            let result = try socket?.descriptor.send(contentsOf: RelayMark.bytes)
            guard case .wrote(RelayMark.bytes.count)? = result else {
                return fail("its connection takes no bytes")
            }
        } catch {
            throw .system(error)
        }
        guard target.tls != nil else { return try greet() }
        state = .shaking
        handshakes.add(self)
    }

    func continueHandshake() {
        guard state == .shaking, let tls = socket?.tls else { return }
        do throws(TLSError) {
            try tls.shakeHands()
            guard tls.isEstablished else {
                port?.interest = tls.handshakeNeed.readiness
                return
            }
            try greet()
        } catch {
            fail(reason(of: error))
        }
    }

    // MARK: - LINK

    private func greet() throws(TLSError) {
        state = .greeting
        output.append(Self.greeting(to: node, as: userName))
        try talk([.readable, .writable])
    }

    private func talk(_ readiness: Readiness) throws(TLSError) {
        guard let socket else { return }
        let possible = socket.meaning(of: readiness)
        if possible.contains(.writable) { _ = try output.send(to: socket) }
        if !possible.isDisjoint(with: [.readable, .closed]) || readiness.contains(.closed) {
            try read(from: socket)
        }
        guard state == .greeting else { return }
        port?.interest = socket.need(for: output.isEmpty ? .readable : [.readable, .writable])
        readHeldInput(on: loop)
    }

    private func read(from socket: Session.Socket) throws(TLSError) {
        var result = ReadResult.wouldBlock
        try replies.withUninitializedTail(atLeast: Self.readByteCount) {
            (room: inout OutputSpan<UInt8>) throws(TLSError) in
            result = try socket.read(into: &room)
        }
        do throws(ProtocolError) {
            guard let reply = try replies.next() else {
                if result == .end { fail("it has closed the connection") }
                return
            }
            take(RESPValue(reply: reply) ?? .null)
        } catch {
            fail("it is no node: \(error)")
        }
    }

    private func take(_ reply: RESPValue) {
        if case .error(let text) = reply {
            // The other node does not serve the client's user.
            guard reply.errorWord == WireError.Word.noPerm.rawValue else { return fail(text) }
            return end(.failure(LinkFault(word: .noPerm, reason: reply.errorMessage ?? text)))
        }
        guard let number = reply.integer, replies.pendingByteCount == 0, let socket else {
            return fail("it has said more than it was asked")
        }
        end(.success(Accepted(socket: socket, number: number)))
    }

    // MARK: - The end

    private func fail(_ reason: String) {
        let demand =
            target.tls?.certificate.requiresClient == true && state == .greeting
            ? "; it requires certificates of its clients, so its listen.tls.clients must have the "
                + "authority of this node's certificate, which must be good for clients" : ""
        end(.failure(LinkFault(reason: reason + demand)))
    }

    private func end(_ result: Result<Accepted, LinkFault>) {
        let whenEnded = whenEnded
        close()
        whenEnded?(result)
    }

    private func reason(of error: TLSError) -> String {
        guard case .otherCertificate(let found) = error else { return "\(error)" }
        let told = target.tls?.certificate.fingerprint ?? ""
        return
            "\(target.address) shows another certificate (SHA-256 \(found)) than the node has told "
            + "(\(told)): its node.address must lead to its own door, and nothing on the way may "
            + "end TLS"
    }

    private func endAt(_ pause: Duration, _ end: @escaping (LinkOpening) -> Void) {
        if let limit { loop.cancel(limit) }
        let opening = Confined((self, end), to: loop)
        limit = loop.schedule(after: pause) {
            let (opening, end) = opening.value
            opening.limit = nil
            end(opening)
        }
    }
}
