// One connection to a database server, in libpq's pipeline mode: statements are sent one behind the
// other, and their results are read together. A batch of statements costs one round trip.

internal import CPostgreSQL

/// A connection.
///
/// A statement is prepared when it is first sent. After an error the server skips the statements
/// behind it, up to the next `synchronize`.
///
/// - Thread: one at a time.
/// - Source: www.postgresql.org/docs/15/libpq-pipeline-mode.html.
@safe final class ServerConnection {
    private enum Awaited {
        case preparation(String)
        case result((Rows) -> Void)
        case synchronization
    }

    /// Statements sent before their results are read: the server must not wait for this side to
    /// read while this side waits for the server.
    private static let sentCountMax = 64
    /// The bytes of parameters sent before results are read.
    private static let sentByteCountMax = 4 << 20

    private let handle: OpaquePointer
    private var names: [String: String] = [:]
    private var awaited: [Awaited] = []
    private var sentByteCount = 0
    private var lastName = 0

    /// How long an answer is waited for; nil for as long as it takes.
    var patience: Duration?
    /// Whether a commit was answered before a standby had it, as its wait was cancelled.
    private var isDoubtful = false
    /// The first error of the statements whose results are being read.
    private var failure: ServerError?

    /// Takes over a connection that is established.
    ///
    /// - Throws: why it does not serve.
    init(_ handle: OpaquePointer) throws(ServerError) {
        unsafe self.handle = unsafe handle
        unsafe PQsetNoticeReceiver(handle, Self.note, Unmanaged.passUnretained(self).toOpaque())
        // Otherwise a send could wait for a server that has stopped reading.
        guard unsafe PQsetnonblocking(handle, 1) == 0, unsafe PQenterPipelineMode(handle) == 1
        else { throw lost }
    }

    deinit { unsafe PQfinish(handle) }

    /// Notes a warning of the server.
    ///
    /// - Source: SyncRepWaitForLSN in PostgreSQL's syncrep.c.
    private static let note: PQnoticeReceiver = { context, result in
        guard let context = unsafe context, let result = unsafe result,
            let function = unsafe PQresultErrorField(result, fieldOfFunction),
            unsafe String(cString: function) == "SyncRepWaitForLSN"
        else { return }
        unsafe Unmanaged<ServerConnection>.fromOpaque(context).takeUnretainedValue().isDoubtful =
            true
    }

    /// PG_DIAG_SOURCE_FUNCTION, a macro that Swift does not see.
    private static let fieldOfFunction = Int32(UInt8(ascii: "R"))

    // MARK: - Properties of the server

    /// The process that serves this connection, as the server has told this side.
    var processID: Int64 { Int64(unsafe PQbackendPID(handle)) }

    /// The server's version, such as 150018.
    var version: Int { Int(unsafe PQserverVersion(handle)) }

    /// The number of its socket; -1 for none.
    var socket: Int32 { unsafe PQsocket(handle) }

    /// Whether the server is on this machine: it is reached through a Unix socket.
    var isOfThisMachine: Bool {
        guard let host = unsafe PQhost(handle) else { return false }
        return unsafe String(cString: host).hasPrefix("/")
    }

    /// Where the server is, for people.
    var place: String {
        func text(_ value: UnsafeMutablePointer<CChar>?) -> String {
            unsafe value.map { unsafe String(cString: $0) } ?? ""
        }
        return unsafe "\(text(PQdb(handle))) at \(text(PQhost(handle))):\(text(PQport(handle)))"
    }

    /// A value that the server reports, such as `server_encoding`.
    func reported(_ name: String) -> String {
        guard let value = unsafe PQparameterStatus(handle, name) else { return "" }
        return unsafe String(cString: value)
    }

    private var lastMessage: String { unsafe ServerError.message(of: handle) }

    private var lost: ServerError { ServerError(code: "", message: lastMessage) }

    // MARK: - Statements

    /// Sends a statement.
    ///
    /// - Parameter whenDone: gets its result, if it succeeds, within a later call.
    /// - Throws: the error of an earlier statement, or the loss of the connection.
    func send(
        _ sql: String, _ parameters: Parameters = Parameters(),
        _ whenDone: @escaping (Rows) -> Void = { _ in }
    ) throws(ServerError) {
        if awaited.count >= Self.sentCountMax || sentByteCount >= Self.sentByteCountMax {
            try synchronize()
        }
        let name = try prepared(sql)
        guard sent(name, parameters) else { throw lost }
        sentByteCount += parameters.byteCount
        awaited.append(.result(whenDone))
    }

    /// Sends a statement and waits for its rows.
    func rows(_ sql: String, _ parameters: Parameters = Parameters()) throws(ServerError) -> Rows {
        var found: Rows?
        try send(sql, parameters) { found = $0 }
        try synchronize()
        guard let found else { throw ServerError(code: "XX000", message: "there is no result") }
        return found
    }

    private func prepared(_ sql: String) throws(ServerError) -> String {
        if let name = names[sql] { return name }
        lastName += 1
        let name = "s\(lastName)"
        guard unsafe PQsendPrepare(handle, name, sql, 0, nil) == 1 else { throw lost }
        awaited.append(.preparation(sql))
        names[sql] = name
        return name
    }

    private func sent(_ name: String, _ parameters: Parameters) -> Bool {
        let values = parameters.values
        let lengths = values.map { Int32($0?.count ?? 0) }
        let formats = [Int32](repeating: 1, count: values.count)
        // One block of bytes with the places of the values in it: each needs an address.
        var bytes: [UInt8] = []
        bytes.reserveCapacity(parameters.byteCount + 1)
        var places: [Int?] = []
        for value in values {
            places.append(value == nil ? nil : bytes.count)
            if let value { bytes += value }
        }
        bytes.append(0)
        return unsafe bytes.withUnsafeBytes { bytes in
            guard let start = unsafe bytes.bindMemory(to: CChar.self).baseAddress else {
                return false
            }
            let pointers = unsafe places.map { place in unsafe place.map { unsafe start + $0 } }
            let code = unsafe PQsendQueryPrepared(
                handle, name, Int32(values.count), pointers, lengths, formats, 1)
            return code == 1
        }
    }

    /// Waits for the results of all sent statements.
    ///
    /// - Throws: the first error; the statements behind it were skipped. `isLate` if the server has
    ///   not answered within the patience: then `goOn` waits on.
    /// - Blocks: for the server.
    func synchronize() throws(ServerError) {
        guard unsafe PQpipelineSync(handle) == 1 else {
            awaited = []
            throw lost
        }
        awaited.append(.synchronization)
        sentByteCount = 0
        failure = nil
        try goOn()
    }

    /// Goes on waiting after a `synchronize` that was late.
    ///
    /// - Throws: as `synchronize`.
    /// - Blocks: for the server.
    func goOn() throws(ServerError) {
        var readCount = 0
        defer { awaited.removeFirst(min(readCount, awaited.count)) }
        for one in awaited {
            do throws(ServerError) {
                switch one {
                case .synchronization: try readSync()
                case .preparation: _ = try next()
                case .result(let whenDone):
                    let rows = try next()
                    if failure == nil { whenDone(rows) }
                }
            } catch {
                if error.isLate { throw error }
                if case .preparation(let sql) = one { names[sql] = nil }
                if failure == nil { failure = error }
                if error.code.isEmpty {
                    readCount = awaited.count
                    throw failure ?? error
                }
            }
            readCount += 1
        }
        if let failure { throw failure }
        if isDoubtful {
            throw ServerError(code: "", message: "the wait for a standby was cancelled")
        }
    }

    /// Waits until a result can be read without waiting.
    ///
    /// - Throws: `isLate` after the patience, or the loss of the connection.
    private func awaitResult() throws(ServerError) {
        let limit = patience.map { ContinuousClock.now + $0 }
        while true {
            let isFlushing = unsafe PQflush(handle) == 1
            guard unsafe PQisBusy(handle) == 1 else { return }
            guard ServerSocket.wait(socket, alsoToWrite: isFlushing, until: limit) else {
                throw ServerError(
                    code: ServerError.lateCode, message: "the server does not answer")
            }
            guard unsafe PQconsumeInput(handle) == 1 else { throw lost }
        }
    }

    /// Reads the result of one statement, and the end of its results.
    private func next() throws(ServerError) -> Rows {
        try awaitResult()
        guard let result = unsafe PQgetResult(handle) else { throw lost }
        let status = unsafe PQresultStatus(result)
        let rows = unsafe Rows(result)
        let error = unsafe error(of: result, status)
        while let more = unsafe PQgetResult(handle) { unsafe PQclear(more) }
        if let error { throw error }
        return rows
    }

    private func error(of result: OpaquePointer, _ status: ExecStatusType) -> ServerError? {
        switch status {
        case PGRES_COMMAND_OK, PGRES_TUPLES_OK: return nil
        case PGRES_PIPELINE_ABORTED:
            return ServerError(code: "25P02", message: "an earlier statement has failed")
        default:
            func field(_ code: Character) -> String? {
                guard let number = code.asciiValue,
                    let text = unsafe PQresultErrorField(result, Int32(number))
                else { return nil }
                return unsafe String(cString: text)
            }
            guard unsafe PQstatus(handle) == CONNECTION_OK || field("C") != nil else {
                return lost
            }
            let message = field("M") ?? lastMessage
            return ServerError(code: field("C") ?? "", message: message, table: field("t"))
        }
    }

    private func readSync() throws(ServerError) {
        try awaitResult()
        guard let result = unsafe PQgetResult(handle) else { throw lost }
        defer { unsafe PQclear(result) }
        guard unsafe PQresultStatus(result) == PGRES_PIPELINE_SYNC else { throw lost }
    }

    // MARK: - News

    /// Reads what the server has sent by itself.
    ///
    /// - Throws: the loss of the connection.
    func consumeInput() throws(ServerError) {
        guard unsafe PQconsumeInput(handle) == 1 else { throw lost }
    }

    /// Whether a notification has been read since the last call.
    func takeNotifications() -> Bool {
        var hasSome = false
        while let notice = unsafe PQnotifies(handle) {
            hasSome = true
            unsafe PQfreemem(notice)
        }
        return hasSome
    }
}

extension ServerError {
    /// The latest message of a connection.
    static func message(of handle: OpaquePointer) -> String {
        guard let text = unsafe PQerrorMessage(handle) else { return "" }
        let message = unsafe String(cString: text)
        // Its hints are lines behind a tab.
        let lines = message.split(separator: "\n").map { $0.drop { $0 == "\t" } }
        let line = lines.joined(separator: "; ")
        return line.isEmpty ? "the server closed the connection" : line
    }
}
