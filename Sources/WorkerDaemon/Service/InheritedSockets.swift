// Listening sockets that a service manager has opened: while the daemon is down, clients wait in
// their queues, so that a restart refuses no connection.

internal import Kernel

/// The sockets that the daemon was started with.
///
/// - Source: sd_listen_fds(3).
struct InheritedSockets: Sendable {
    /// Variables that are meant for the daemon alone.
    static let variables: Set = ["LISTEN_FDS", "LISTEN_PID", "LISTEN_FDNAMES"]
    private static let firstNumber = 3
    private static let countMax = 64

    /// One of them.
    private struct Entry: Sendable {
        let number: Int
        /// The name that the service manager gives it; empty for none.
        let name: String
    }

    private let entries: [Entry]

    var isEmpty: Bool { entries.isEmpty }

    /// - Parameter environment: the daemon's environment at its start.
    /// - Throws: if the number of sockets is none.
    init(_ environment: [String: String], processID: Int) throws(DaemonError) {
        guard environment["LISTEN_PID"].flatMap({ Int($0) }) == processID,
            let text = environment["LISTEN_FDS"]
        else {
            entries = []
            return
        }
        guard let count = Int(text), (0...Self.countMax).contains(count) else {
            throw Self.fault("LISTEN_FDS is a number from 0 to \(Self.countMax), not '\(text)'")
        }
        let names = environment["LISTEN_FDNAMES", default: ""]
            .split(separator: ":", omittingEmptySubsequences: false).map(String.init)
        entries = (0..<count).map {
            Entry(number: Self.firstNumber + $0, name: $0 < names.count ? names[$0] : "")
        }
    }

    /// Opens each socket as the door that its name or address says.
    ///
    /// - Returns: the doors that were opened.
    func open(
        _ listen: Configuration.Listen, _ log: Log,
        _ open: (consuming Listener, ConfiguredDoor) throws -> Void
    ) throws -> Set<ConfiguredDoor> {
        var opened: Set<ConfiguredDoor> = []
        for entry in entries {
            let listener = try Listener(inherited: entry.number)
            let address = listener.address
            let door = try door(entry, address, listen)
            log.notice("listen.\(door.rawValue): \(address), a socket of the service manager")
            try open(listener, door)
            opened.insert(door)
        }
        return opened
    }

    private func door(
        _ entry: Entry, _ address: SocketAddress, _ listen: Configuration.Listen
    ) throws -> ConfiguredDoor {
        let what = "the service manager's socket \(address)"
        guard let named = ConfiguredDoor(rawValue: entry.name) else {
            for door in ConfiguredDoor.allCases where try door.address(in: listen) == address {
                return door
            }
            throw Self.fault(
                "\(what) is no door of the configuration: set listen.unix or another door to its "
                    + "address, or name the door with FileDescriptorName=unix")
        }
        guard let configured = try named.address(in: listen) else {
            throw Self.fault(
                "\(what) is named \(entry.name), which the configuration does not have: add "
                    + "listen.\(entry.name)")
        }
        // A path may differ; behind another port there may be strangers.
        if case .unix = address, !named.isTCP { return named }
        guard named.isTCP, configured == address else {
            throw Self.fault(
                "\(what) is named \(entry.name), whose address in the configuration is "
                    + "\(configured): make both the same")
        }
        return named
    }

    private static func fault(_ text: String) -> DaemonError {
        DaemonError(text, exitStatus: DaemonError.badConfiguration)
    }
}
