// A place where clients come in: a listening socket as a port.

internal import Kernel
internal import RunLoops
internal import TLS

/// A listening socket.
///
/// Confined to its loop's thread.
final class Door {
    /// Whether clients have to give the password before anything else.
    let asksForPassword: Bool
    /// The protocol of the connections that come in.
    var dialect: Dialect
    let address: String
    /// TLS of the connections that come in; nil for plaintext.
    var tls: TLSContext?
    /// Whether each client has an address of its own.
    let isTCP: Bool
    private let loop: ThreadRunLoop
    private let log: Log
    private var listener: Listener?
    private var port: ThreadRunLoop.Port?
    /// Gets each connection.
    var admit: (consuming Descriptor, Door) -> Void
    /// Whether clients wait for a descriptor, which is told once.
    private var isWithoutDescriptor = false

    /// Connections accepted in one go before others get their turn.
    private static let batchCount = 64
    /// How long a door stays shut when the process has no descriptor left for another client.
    private static let rest = Duration.milliseconds(100)

    /// A door in front of a socket that listens already.
    ///
    /// - Parameter admit: gets each connection.
    init(
        _ listener: consuming Listener, asksForPassword: Bool, dialect: Dialect,
        loop: ThreadRunLoop, log: Log,
        admit: @escaping (consuming Descriptor, Door) -> Void
    ) {
        address = listener.address.description
        if case .tcp = listener.address { isTCP = true } else { isTCP = false }
        self.listener = consume listener
        self.asksForPassword = asksForPassword
        self.dialect = dialect
        self.loop = loop
        self.log = log
        self.admit = admit
    }

    /// The two ends of a connection that has come in.
    func ends(of socket: borrowing Descriptor) -> PeerInfo {
        isTCP
            ? PeerInfo(ofTCP: socket, through: address)
            : PeerInfo(ofUnix: socket, through: address)
    }

    /// Begins to take connections.
    func open() throws(SystemError) {
        guard let number = listener?.descriptor.number else { return }
        let door = Confined(self, to: loop)
        let port = ThreadRunLoop.Port(watching: number) { _, _ in door.value.acceptBatch() }
        self.port = port
        try loop.add(port)
    }

    /// Takes no more connections, and removes the socket's file.
    func close() {
        port?.invalidate()
        port = nil
        listener = nil
    }

    private func acceptBatch() {
        for _ in 0..<Self.batchCount {
            do throws(SystemError) {
                guard let result = try listener?.accept() else { return }
                switch consume result {
                case .connection(let descriptor): admit(descriptor, self)
                case .wouldBlock: return allAreAdmitted()
                case .outOfDescriptors: return restAWhile()
                }
            } catch {
                log.error("\(address) takes no connections any more: \(error)")
                return close()
            }
        }
    }

    private func allAreAdmitted() {
        guard isWithoutDescriptor else { return }
        isWithoutDescriptor = false
        log.notice("all who waited at \(address) for a descriptor have come in or left")
    }

    /// The kernel would report the waiting client without end: ask again in a while.
    private func restAWhile() {
        if !isWithoutDescriptor {
            isWithoutDescriptor = true
            log.warning(
                "no descriptor left for another client of \(address), who waits: raise the limit "
                    + "of open files (ulimit -n, LimitNOFILE= of a unit), or lower "
                    + "limits.connections")
        }
        port?.interest = []
        let door = Confined(self, to: loop)
        let timer = ThreadRunLoop.Timer(at: loop.now.advanced(by: Self.rest)) { _ in
            door.value.port?.interest = .readable
        }
        loop.add(timer)
    }
}
