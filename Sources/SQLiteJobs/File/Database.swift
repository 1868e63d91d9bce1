// The part of SQLite's C interface that the store needs: one connection, prepared statements,
// errors as values. It knows no table and no job.

internal import Jobs
internal import CGatheredLog
internal import CSQLite

/// One connection to a database file.
///
/// - Thread: one at a time.
@safe final class Database {
    let path: String
    let handle: OpaquePointer
    /// The state that the connection shares with its hook.
    let moving: UnsafeMutablePointer<LogMoving>

    /// Opens a file, or makes it.
    ///
    /// The log is not moved into the database, not even by closing, before `moveLog` is called.
    ///
    /// - Throws: `.notWritable`; `.incomplete`, and all files are as they were.
    /// - Blocks: for the disk.
    init(path: String) throws(StoreFault) {
        self.path = path
        try Self.refuseLostLog(of: path)
        var opened: OpaquePointer?
        let flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX
        let code = unsafe sqlite3_open_v2(path, &opened, flags, gathered_log_vfs())
        guard let opened = unsafe opened else {
            throw StoreFault(.failed, path: path, detail: "out of memory")
        }
        unsafe handle = opened
        unsafe moving = .allocate(capacity: 1)
        unsafe moving.initialize(to: LogMoving())
        guard code == SQLITE_OK else {
            // A connection that failed to open must be closed as well: deinit does.
            throw unsafe Self.fault(code, opened, path)
        }
        try keepLogApart(true)
        unsafe sqlite3_wal_hook(handle, nil, nil)
    }

    deinit {
        _ = unsafe sqlite3_close_v2(handle)
        unsafe moving.deallocate()
    }

    /// Whether SQLite could open it for reading only.
    var isReadOnly: Bool { unsafe sqlite3_db_readonly(handle, "main") == 1 }

    /// Whether a transaction is open: an error may have ended it.
    var isInTransaction: Bool { unsafe sqlite3_get_autocommit(handle) == 0 }

    /// Whether the path leads to the file that was opened.
    ///
    /// - Blocks: for the disk.
    private var isAtItsPath: Bool {
        var hasMoved: Int32 = 0
        // A file system without this operation leaves the answer unchanged.
        _ = unsafe sqlite3_file_control(handle, "main", SQLITE_FCNTL_HAS_MOVED, &hasMoved)
        return hasMoved == 0
    }

    /// The path of its log.
    var logPath: String { Self.logPath(of: path) }
    static func logPath(of path: String) -> String { path + "-wal" }

    /// Whether its log is beside it, as it is while the file is open.
    ///
    /// - Blocks: for the disk.
    private var hasLogAtItsPath: Bool {
        guard let system = unsafe sqlite3_vfs_find(nil) else { return true }
        var isThere: Int32 = 1
        // Not whether it exists: for an empty log, which is possible, SQLite answers no.
        _ = unsafe system.pointee.xAccess(system, logPath, SQLITE_ACCESS_READWRITE, &isThere)
        return isThere != 0
    }

    /// The reason to refuse writes, if the file or its log is no longer at its path.
    ///
    /// - Blocks: for the disk.
    var movedFault: StoreFault? {
        let missing = isAtItsPath ? (hasLogAtItsPath ? nil : logPath) : path
        return missing.map {
            StoreFault(.moved, path: $0, detail: "it was moved or removed while it was open")
        }
    }

    /// The number of rows that the latest statement has changed.
    var changeCount: Int { Int(unsafe sqlite3_changes64(handle)) }

    /// Runs statements without results.
    func execute(_ sql: String) throws(StoreFault) {
        try check(unsafe sqlite3_exec(handle, sql, nil, nil, nil))
    }

    /// Prepares a statement for repeated use.
    func prepare(_ sql: String) throws(StoreFault) -> Statement {
        var prepared: OpaquePointer?
        let flags = UInt32(SQLITE_PREPARE_PERSISTENT)
        try check(unsafe sqlite3_prepare_v3(handle, sql, -1, flags, &prepared, nil))
        guard let statement = unsafe prepared else {
            throw StoreFault(.failed, path: path, detail: "an empty statement")
        }
        return unsafe Statement(statement, of: self)
    }

    /// The integer in the first row and column of a result; nil without a row.
    func integer(_ sql: String) throws(StoreFault) -> Int64? {
        let statement = try prepare(sql)
        return try statement.step() ? statement.integer(0) : nil
    }

    /// The text in the first row and column of a result; nil without a row.
    func text(_ sql: String) throws(StoreFault) -> String? {
        let statement = try prepare(sql)
        return try statement.step() ? statement.text(0) : nil
    }

    /// Throws the error of a result code, unless it means success.
    func check(_ code: Int32) throws(StoreFault) {
        guard code != SQLITE_OK else { return }
        throw unsafe Self.fault(code, handle, path)
    }

    func fault(_ code: Int32) -> StoreFault { unsafe Self.fault(code, handle, path) }

    private static func fault(
        _ code: Int32, _ handle: OpaquePointer, _ path: String
    ) -> StoreFault {
        let extended = unsafe sqlite3_extended_errcode(handle)
        let message = unsafe String(cString: sqlite3_errmsg(handle))
        let detail = extended == code ? message : "\(message), code \(extended)"
        let kind = kind(of: code)
        let shown = kind == .foreign ? "it is no SQLite database" : detail
        return StoreFault(kind, path: path, detail: shown)
    }

    /// The fault of a call that leaves no message with the connection.
    func fileFault(_ code: Int32) -> StoreFault {
        let message = unsafe String(cString: sqlite3_errstr(code))
        return StoreFault(Self.kind(of: code), path: path, detail: "\(message), code \(code)")
    }

    private static func kind(of code: Int32) -> StoreFault.Kind {
        switch code & 0xff {
        case SQLITE_BUSY, SQLITE_LOCKED: .inUse
        case SQLITE_NOTADB: .foreign
        case SQLITE_CORRUPT: .corrupt
        case SQLITE_CANTOPEN, SQLITE_READONLY, SQLITE_PERM, SQLITE_AUTH: .notWritable
        case SQLITE_FULL: .full
        default: .failed
        }
    }
}
