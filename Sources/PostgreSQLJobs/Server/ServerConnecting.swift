// The making of a connection to a database server, which goes on in steps: no thread waits for a
// server that has stopped.

internal import CPostgreSQL
internal import Kernel

/// A connection that is being made.
///
/// Names of hosts are resolved when it begins, which blocks; nothing else does.
///
/// - Thread: one at a time.
@safe final class ServerConnecting {
    /// After how much time an attempt is given up.
    static let limit = Duration.seconds(5)

    private var handle: OpaquePointer?
    private let beganAt = ContinuousClock.now
    /// The direction for which libpq waits; the first look is to wait for writing.
    private var awaited = PGRES_POLLING_WRITING

    /// Begins to connect.
    ///
    /// - Parameter address: a URI or a list of `keyword=value`, as libpq takes it.
    /// - Throws: why it can't.
    /// - Blocks: for names of hosts.
    init(to address: String) throws(ServerError) {
        // Later ones take the place of earlier ones, and the address is read where it stands.
        let keywords = [
            "keepalives_idle", "keepalives_interval", "keepalives_count",
            "tcp_user_timeout", "fallback_application_name", "dbname", "client_encoding",
        ]
        let values = ["2", "1", "3", "5000", "workerd", address, "UTF8"]
        guard let handle = unsafe Self.start(keywords, values) else {
            throw ServerError(code: "", message: "there is no memory for a connection")
        }
        unsafe self.handle = unsafe handle
    }

    deinit { if let handle = unsafe handle { unsafe PQfinish(handle) } }

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
    /// - Throws: why there is none; also after `limit`.
    /// - Blocks: for the server.
    func advance(for patience: Duration) throws(ServerError) -> ServerConnection? {
        let end = ContinuousClock.now + patience
        while let handle = unsafe handle {
            let isReady = ServerSocket.wait(
                unsafe PQsocket(handle), toRead: awaited == PGRES_POLLING_READING,
                alsoToWrite: awaited == PGRES_POLLING_WRITING, until: end)
            guard isReady else {
                guard ContinuousClock.now - beganAt < Self.limit else {
                    throw ServerError(code: "", message: "the server does not answer")
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
