// The doors of a daemon that waits for the seat of another one: each connection is passed on, byte
// by byte, to the daemon that serves.
//
//     client ─▶ door ─▶ its first byte ─▶ which node serves?
//                                          another ─▶ connected ─▶ bytes, both ways
//                                          none yet ─▶ held, unread ─▶ served here, or passed on
//                                          unknown ─▶ refused
//
// A connection is passed on through a TCP door of the serving daemon, so it has the rights that
// such a door gives: none before the client authenticates. Bytes are sent once. A connection of
// which a byte was sent is never connected again; one that was only held is.

internal import HTTP
internal import Jobs
internal import Kernel
internal import RunLoops
internal import Wording

/// The doors of a daemon that waits, and the connections that came in through them.
///
/// Confined to its loop's thread.
final class Relay {
    /// The next step of a connection.
    enum Way {
        case hold
        case connect(SocketAddress, node: Int64)
        /// It was passed on before, and would be again.
        case circle
        case refuse(String)
    }

    /// How long a client waits for a node that serves.
    static let patience = Duration.seconds(10)
    /// How long a client of a TCP door may send nothing.
    private static let silence = Duration.seconds(30)

    /// After so many looks, a daemon that says nothing of itself is one that never will.
    private static let unknownCountMin = 3

    let loop: ThreadRunLoop
    private let configuration: Configuration
    private let log: Log
    private(set) var doors: [(setting: DoorSetting, door: Door)] = []
    /// Whether doors were opened by the service manager.
    private(set) var areDoorsInherited = false
    private var connections: [UInt64: RelayedConnection] = [:]
    private var lastNumber: UInt64 = 0
    private var holder = SeatHolder.nobody
    private var unknownCount = 0
    private var strangers: StrangerPlaces
    private let warningOfCircle: RareWarning
    /// Memory for the bytes of the connection that reads next.
    var spare: [UInt8] = []

    init(_ configuration: Configuration, on loop: ThreadRunLoop, _ log: Log) {
        self.configuration = configuration
        self.loop = loop
        self.log = log
        strangers = StrangerPlaces(placeCount: configuration.limits.connections)
        warningOfCircle = RareWarning(on: loop, log) { count, peer in
            "a connection that another node has passed on came back here \(peer): the address of "
                + "the serving node is wrong, see node.address of its configuration"
                + (count == 1 ? "" : " (the last of \(count) within a minute)")
        }
    }

    /// Opens all doors, or none.
    ///
    /// - Throws: why one can't be opened.
    /// - Blocks: for the disk.
    func open(_ inherited: InheritedSockets) throws {
        let (opened, areInherited) = try Door.openAll(
            of: configuration.listen, beside: [], inherited, loop: loop, log: log
        ) { [unowned self] socket, door in admit(socket, through: door) }
        doors = opened
        areDoorsInherited = areInherited == true
    }

    /// Passes connections on to the daemon that has the seat now.
    ///
    /// A connection to a daemon that has lost the seat is closed.
    func follow(_ holder: SeatHolder) {
        unknownCount = holder == .unknown ? unknownCount + 1 : 0
        // A daemon that has just taken the seat enters its name a moment later.
        let isNew = holder == .unknown && unknownCount < Self.unknownCountMin
        let holder = isNew ? .nobody : holder
        if holder != self.holder { tell(holder) }
        self.holder = holder
        for connection in Array(connections.values) { connection.holderMayHaveChanged(holder) }
    }

    private func tell(_ holder: SeatHolder) {
        switch holder {
        case .node(let node):
            log.notice(
                "clients are passed on to node \(node.name), "
                    + "\(node.commands ?? "which has no address for others")")
        case .nobody: log.notice("no daemon has the store: clients wait")
        case .unknown: log.warning("the daemon that has the store does not say where it is")
        case .own: log.notice("this daemon takes the store over")
        }
    }

    /// Closes doors and connections.
    func close() {
        for (_, door) in doors { door.close() }
        doors.removeAll()
        for connection in Array(connections.values) { connection.close("the daemon is down") }
    }

    /// Gives the connections away of which nothing was passed on, and closes the others; the doors
    /// are another's by now.
    ///
    /// - Parameter admit: gets each connection.
    func handOver(_ admit: (consuming Descriptor, Door) -> Void) {
        follow(.own)
        for connection in connections.values.sorted(by: { $0.number < $1.number }) {
            let door = connection.door
            if let socket = connection.takeUnread() { admit(socket, door) }
        }
        doors.removeAll()
    }

    // MARK: - Connections

    private func admit(_ socket: consuming Descriptor, through door: Door) {
        let ends = door.ends(of: socket)
        if let refusal = refusal(of: ends, at: door) {
            // A courtesy, which may not arrive: a client that is told in order has a place.
            if let words = words("ERR \(refusal)", at: door) {
                _ = try? socket.send(contentsOf: words)
            }
            return
        }
        lastNumber += 1
        let number = lastNumber
        let connection = RelayedConnection(number, socket, ends, door, self)
        connections[number] = connection
        do throws(SystemError) {
            try connection.start()
        } catch {
            return connection.close("it can't be watched: \(error)")
        }
        log.debug("client \(number) came in \(ends), to be passed on")
        guard door.asksForPassword else { return }
        strangers.insert(number, from: ends.network)
        let relay = Confined(self, to: loop)
        loop.schedule(after: Self.silence) { relay.value.endSilence(of: number) }
    }

    /// Why there is no place for a client; nil if there is one.
    private func refusal(of ends: PeerInfo, at door: Door) -> String? {
        let placeCount = Service.placeCount(
            configuration.limits, asksForPassword: door.asksForPassword, doors.map(\.door))
        guard connections.count < placeCount else { return "max number of clients reached" }
        return door.asksForPassword ? strangers.refusal(of: ends.network) : nil
    }

    /// A client of a TCP door has been here for a while: from here on the serving daemon says
    /// whether it may stay.
    private func endSilence(of number: UInt64) {
        strangers.remove(number)
        connections[number]?.silenceMayEnd()
    }

    func ended(_ connection: RelayedConnection, _ reason: String) {
        connections[connection.number] = nil
        strangers.remove(connection.number)
        log.debug("client \(connection.number) left: \(reason)")
    }

    /// The way of a connection whose client has sent something.
    func way(of connection: RelayedConnection) -> Way {
        switch holder {
        case .nobody, .own: return .hold
        case .unknown:
            return .refuse("the daemon that has the jobs does not say where it is: connect to it")
        case .node(let node):
            if connection.wasPassedOn {
                warningOfCircle.happened(from: "\(connection.ends)")
                return .circle
            }
            return way(through: connection.door, to: node)
        }
    }

    private func way(through door: Door, to node: StoreNode) -> Way {
        let (url, listen) = (
            door.dialect == .commands ? node.commands : node.requests, configuration.listen
        )
        guard let url, let (address, isEncrypted) = Self.read(url) else {
            let name = door.dialect == .commands ? "node.address" : "node.http"
            return .refuse(
                "node \(node.name) serves and has no address for others: set \(name) there")
        }
        let hasTLS = door.isTCP && (door.dialect == .commands ? listen.tls : listen.http.tls) != nil
        guard hasTLS == isEncrypted else {
            return .refuse(
                "node \(node.name) serves at \(url), and this door is "
                    + (hasTLS ? "with TLS" : "without TLS") + ": connect to it")
        }
        return .connect(address, node: node.id)
    }

    /// Reads the URL of a node's door.
    static func read(_ url: String) -> (SocketAddress, isEncrypted: Bool)? {
        guard let colon = url.firstIndex(of: ":"), url[colon...].hasPrefix("://"),
            let address = try? TCPAddress(String(url[colon...].dropFirst(3)))
        else { return nil }
        return (.tcp(address), ["rediss", "https"].contains(url[..<colon]))
    }

    /// The reason of a refusal in the protocol of a door; nil where it would cost a handshake.
    func words(_ reason: String, at door: Door) -> [UInt8]? {
        let (listen, reason) = (configuration.listen, printable(reason, except: []))
        switch door.dialect {
        case .commands:
            return door.isTCP && listen.tls != nil ? nil : Array("-\(reason)\r\n".utf8)
        case .requests:
            let message = String(reason.drop { $0 != " " }.dropFirst())
            return door.isTCP && listen.http.tls != nil
                ? nil : HTTPCall.refusal(HTTPRefusal(.serviceUnavailable, message))
        }
    }
}
