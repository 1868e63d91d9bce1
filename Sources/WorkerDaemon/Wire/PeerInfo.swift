// The two ends of a connection, as they are shown to people.

internal import Kernel

/// The addresses of a connection.
struct PeerInfo: CustomStringConvertible {
    /// Where the client is; on a socket that is a file, that file.
    let client: String
    /// Where it came in.
    let server: String
    /// The client's network: limits apply to all connections from there.
    let network: String
    /// The client's process and its user; nil for a client of another machine.
    private(set) var process: (id: Int, userID: UInt32)?

    /// The ends of a connection through a Unix socket.
    init(ofUnix socket: borrowing Descriptor, through door: String) {
        self.init(at: door)
        process = (try? socket.peer()).map { ($0.processID, $0.userID) }
    }

    /// Both ends of a connection that has no address of the client's own.
    init(at door: String) {
        client = door
        server = door
        network = door
    }

    /// The ends of a TCP connection.
    ///
    /// - Parameter door: where the daemon listens, should the connection be gone already.
    init(ofTCP socket: borrowing Descriptor, through door: String) {
        let ends = (try? SocketAddress.peer(of: socket), try? SocketAddress.bound(socket))
        client = ends.0?.description ?? "?:0"
        server = ends.1?.description ?? door
        if case .tcp(let address) = ends.0 { network = address.network } else { network = "?" }
    }

    /// Whether the client is a process of the daemon's own user, or of root.
    ///
    /// By SO_PEERCRED, which a process cannot choose.
    var isOwner: Bool { process.map { $0.userID == 0 || $0.userID == UserID.own } ?? false }

    /// The client alone: its address, or its process.
    var peer: String {
        process.map { "process \($0.id) of user id \($0.userID)" } ?? client
    }

    var description: String {
        client == server ? "through \(server)" : "from \(client) through \(server)"
    }
}
