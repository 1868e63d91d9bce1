// A copy of the store that is made part by part while the store goes on: SQLite's online backup, whose
// source is the store's own connection. What a transaction changes meanwhile is changed in what has been
// copied as well, so the copy is the store as it is when the last part is done.

package import Jobs
internal import CSQLite

/// A copy of a store under way.
///
/// - Thread: the store's, until it is closed.
/// - Source: sqlite3_backup_init(3).
@safe package final class StoreCopy {
    /// How often the copy may begin anew: each transaction of the store that fails makes it.
    private static let restartCountMax = 10

    /// How many bytes the store has, and so about the copy.
    package let byteCount: Int

    private let source: Database
    private let mark: UInt64
    /// Nil once it is closed.
    private var target: Database?
    private var handle: OpaquePointer?
    private var copiedCount = 0
    private var restartCount = 0

    init(of source: Database, to path: String, mark: UInt64) throws(StoreFault) {
        self.source = source
        self.mark = mark
        let pageCount = Int(try source.integer("PRAGMA page_count") ?? 0)
        let pageByteCount = Int(try source.integer("PRAGMA page_size") ?? 0)
        byteCount = pageCount * pageByteCount
        let target = try Database(path: path)
        self.target = target
        // It is nobody's yet: there is no way back from a part, and who makes it syncs it.
        try target.execute("PRAGMA locking_mode = EXCLUSIVE")
        _ = try target.text("PRAGMA journal_mode = OFF")
        try target.execute("PRAGMA synchronous = OFF")
        // So that it is known as ours if nobody comes to its end.
        try target.execute("PRAGMA page_size = \(pageByteCount)")
        try target.execute("PRAGMA application_id = \(Schema.applicationID)")
        unsafe handle = sqlite3_backup_init(target.handle, "main", source.handle, "main")
        guard unsafe handle != nil else {
            throw target.fault(unsafe sqlite3_errcode(target.handle))
        }
    }

    deinit { close() }

    /// Copies some more.
    ///
    /// - Parameter pageCount: of how many pages; it is what others have to wait for.
    /// - Returns: whether that was all: the copy is with the kernel, and closed.
    /// - Throws: why it can't be read or written; then it can only be closed, and the store goes on.
    /// - Blocks: for the disk, to read; to write only if the kernel has no room.
    package func next(pageCount: Int) throws(StoreFault) -> Bool {
        precondition(unsafe handle != nil, "what is closed is not copied to")
        let code = unsafe sqlite3_backup_step(handle, Int32(clamping: pageCount))
        guard code == SQLITE_OK || code == SQLITE_DONE else { throw fault(code) }
        let count = Int(unsafe sqlite3_backup_pagecount(handle))
        let copiedCount = count - Int(unsafe sqlite3_backup_remaining(handle))
        if copiedCount <= self.copiedCount { restartCount += 1 }
        self.copiedCount = copiedCount
        guard restartCount <= Self.restartCountMax else {
            throw StoreFault(
                .failed, path: source.path,
                detail: "transactions fail, and each lets a copy begin anew")
        }
        guard code == SQLITE_DONE else { return false }
        let target = target
        try finish()
        if let target { try markCopy(target) }
        return true
    }

    /// Gives the copy a mark of its own: the attempts that the store notes are none of the copy's.
    private func markCopy(_ target: Database) throws(StoreFault) {
        try target.execute(
            """
            INSERT OR REPLACE INTO settings (name, value)
                VALUES ('\(AttemptMarks.presentSetting)', \(Int64(bitPattern: mark)));
            DELETE FROM settings WHERE name = '\(AttemptMarks.learntSetting)';
            PRAGMA wal_checkpoint(TRUNCATE);
            """)
        // Its log goes with the connection.
        try target.keepLogApart(false)
    }

    /// Lets go of both; what was copied stays where it is.
    package func close() { try? finish() }

    private func finish() throws(StoreFault) {
        guard unsafe handle != nil else { return }
        let code = unsafe sqlite3_backup_finish(handle)
        unsafe handle = nil
        defer { target = nil }
        if code != SQLITE_OK { throw fault(code) }
    }

    private func fault(_ code: Int32) -> StoreFault {
        // All else is about the file that is written.
        let isSource = code & 0xff == SQLITE_CORRUPT
        return (isSource ? source : target ?? source).fileFault(code)
    }
}

extension SQLiteStore {
    /// Begins to copy the store.
    ///
    /// - Parameters:
    ///   - path: of a new or an empty file, which nobody else uses.
    ///   - mark: a random number, by which the copy will know a file of attempts.
    /// - Throws: why it can't be opened.
    /// - Blocks: for the disk.
    package func beginCopy(to path: String, mark: UInt64) throws(StoreFault) -> StoreCopy {
        try StoreCopy(of: database, to: path, mark: mark)
    }
}
