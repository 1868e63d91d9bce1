// The making of a connection to a database server, which goes on in steps: no thread waits for a
// server that has stopped.

internal import CPostgreSQL
internal import Kernel

/// A connection that is being made.
///
/// All addresses of the host are tried, one after another.
///
/// - Thread: one at a time.
@safe final class ServerConnecting {
    /// After how much time an attempt is given up.
    static let limit = Duration.seconds(5)

    private let text: String
    private let host: ServerHost
    private let limit: Duration
    private var lookup: HostLookup?
    private let turn: Int
    /// The addresses that were not tried yet; nil lets libpq find that of the host.
    private var left: [String?]
    private var handle: OpaquePointer?
    private var beganAt = ContinuousClock.now
    /// The direction for which libpq waits; the first look is to wait for writing.
    private var awaited = PGRES_POLLING_WRITING

    /// Begins to connect.
    ///
    /// - Parameters:
    ///   - address: the whole address of the database.
    ///   - host: its host that is connected to.
    ///   - lookup: the look-up of the host's name; nil if it needs none.
    ///   - turn: which address comes first, counted on from the last one to the first one.
    ///   - limit: how long an address of the host may take.
    /// - Blocks: never.
    init(
        to address: ServerAddress, at host: ServerHost, _ lookup: HostLookup?,
        beginningAt turn: Int, limit: Duration
    ) {
        text = address.text
        self.host = host
        self.lookup = lookup
        self.turn = turn
        self.limit = limit
        left = lookup == nil ? [host.address] : []
    }

    deinit { if let handle = unsafe handle { unsafe PQfinish(handle) } }

    /// Begins to connect to an address of the host.
    private func begin(_ address: String?) throws(ServerError) {
        // Later ones take the place of earlier ones, and the address is read where it stands.
        var pairs = [
            ("keepalives_idle", "2"), ("keepalives_interval", "1"), ("keepalives_count", "3"),
            ("tcp_user_timeout", "5000"), ("fallback_application_name", "workerd"),
            ("dbname", text), ("client_encoding", "UTF8"),
        ]
        if host != ServerHost() {
            // The name stays, for certificates and for ~/.pgpass.
            if let name = host.name { pairs.append(("host", name)) }
            if let address { pairs.append(("hostaddr", address)) }
            if let port = host.port { pairs.append(("port", port)) }
        }
        guard let handle = unsafe Self.start(pairs.map(\.0), pairs.map(\.1)) else {
            throw ServerError(code: "", message: "there is no memory for a connection")
        }
        beganAt = .now
        awaited = PGRES_POLLING_WRITING
        unsafe self.handle = unsafe handle
    }

    private static func start(_ keywords: [String], _ values: [String]) -> OpaquePointer? {
        let all = unsafe (keywords + values).map { unsafe copied($0) }
        defer { unsafe all.forEach { text in unsafe text?.deallocate() } }
        let first = unsafe all[..<keywords.count].map { unsafe UnsafePointer($0) } + [nil]
        let second = unsafe all[keywords.count...].map { unsafe UnsafePointer($0) } + [nil]
        return unsafe PQconnectStartParams(first, second, 1)
    }

    private static func copied(_ text: String) -> UnsafeMutablePointer<CChar>? {
        let bytes = text.utf8CString
        let copy = UnsafeMutablePointer<CChar>.allocate(capacity: bytes.count)
        for (place, byte) in bytes.enumerated() { unsafe copy[place] = byte }
        return unsafe copy
    }

    /// Goes on connecting for a while.
    ///
    /// - Returns: the connection; nil if it takes longer.
    /// - Throws: why there is none; also after the limit.
    /// - Blocks: for the server.
    func advance(for patience: Duration) throws(ServerError) -> ServerConnection? {
        let end = ContinuousClock.now + patience
        if let lookup {
            let found = try addresses(lookup, until: min(end, beganAt + limit))
            guard let found else { return nil }
            let first = found.isEmpty ? 0 : turn % found.count
            left = Array(found[first...] + found[..<first])
            self.lookup = nil
        }
        while true {
            do throws(ServerError) {
                if unsafe handle == nil {
                    guard !left.isEmpty else {
                        throw ServerError(code: "", message: "the host has no address")
                    }
                    try begin(left.removeFirst())
                }
                return try advance(until: end)
            } catch {
                if let handle = unsafe handle { unsafe PQfinish(handle) }
                unsafe handle = nil
                if left.isEmpty { throw error }
            }
        }
    }

    private func addresses(
        _ lookup: HostLookup, until end: ContinuousClock.Instant
    ) throws(ServerError) -> [String]? {
        do throws(HostLookup.Failure) {
            if let found = try lookup.addresses(until: end) { return found }
        } catch {
            throw ServerError(code: "", message: "\(error)")
        }
        guard ContinuousClock.now - beganAt < limit else {
            throw ServerError(
                code: "", message: "the look-up of \(host.shown) takes longer than \(limit)")
        }
        return nil
    }

    private func advance(
        until end: ContinuousClock.Instant
    ) throws(ServerError) -> ServerConnection? {
        while let handle = unsafe handle {
            let isReady = ServerSocket.wait(
                unsafe PQsocket(handle), toRead: awaited == PGRES_POLLING_READING,
                alsoToWrite: awaited == PGRES_POLLING_WRITING, until: min(end, beganAt + limit))
            guard isReady else {
                guard ContinuousClock.now - beganAt < limit else {
                    throw ServerError(code: "", message: "\(host.shown) does not answer")
                }
                return nil
            }
            awaited = unsafe PQconnectPoll(handle)
            switch awaited {
            case PGRES_POLLING_OK:
                unsafe self.handle = nil
                return try unsafe ServerConnection(handle)
            case PGRES_POLLING_READING, PGRES_POLLING_WRITING: break
            default: throw unsafe ServerError(code: "", message: ServerError.message(of: handle))
            }
        }
        return nil
    }
}

/// Waits for a server's socket.
enum ServerSocket {
    /// - Parameter limit: when waiting ends; nil for never.
    /// - Returns: whether the socket is ready; also true for one that is closed or broken.
    /// - Blocks: until the limit.
    static func wait(
        _ number: Int32, toRead: Bool = true, alsoToWrite: Bool,
        until limit: ContinuousClock.Instant?
    ) -> Bool {
        // There is no socket: the next call of libpq tells the error.
        guard number >= 0 else { return true }
        let left = limit.map { max(.zero, $0 - .now) }
        do throws(SystemError) {
            return try Descriptor.wait(number, toRead: toRead, toWrite: alsoToWrite, for: left)
        } catch {
            return true
        }
    }
}
