// A copy of the store that is made part by part while the store is in use: SQLite's online backup,
// whose source is the store's own connection. A transaction's changes go into the pages that are
// copied already as well, so the finished copy is the store as it is when the last part is done.

package import Jobs
internal import CSQLite
internal import Journals

/// A copy of a store in progress.
///
/// - Thread: the store's, until it is closed.
/// - Source: sqlite3_backup_init(3).
@safe package final class StoreCopy {
    /// The number of restarts: each failed transaction of the store restarts the copy.
    private static let restartCountMax = 10

    /// The size of the store in bytes, and so about that of the copy.
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
        // The copy has no other user: a part is never undone, and the backup's thread syncs it.
        try target.execute("PRAGMA locking_mode = EXCLUSIVE")
        _ = try target.text("PRAGMA journal_mode = OFF")
        try target.execute("PRAGMA synchronous = OFF")
        // Marks the partial file as ours, in case the daemon is killed.
        try target.execute("PRAGMA page_size = \(pageByteCount)")
        try target.execute("PRAGMA application_id = \(Schema.applicationID)")
        unsafe handle = sqlite3_backup_init(target.handle, "main", source.handle, "main")
        guard unsafe handle != nil else {
            throw target.fault(unsafe sqlite3_errcode(target.handle))
        }
    }

    deinit { close() }

    /// Copies the next part.
    ///
    /// - Parameter pageCount: the number of pages; other commands wait for as long as they take.
    /// - Returns: whether the copy is complete: it is with the kernel, and closed.
    /// - Throws: the reason why it can't be read or written; then it can only be closed, and the
    ///   store goes on.
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

    /// Gives the copy a mark of its own: the store's attempt log is not the copy's.
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

    /// Closes both ends; the copied pages stay in the file.
    package func close() { try? finish() }

    private func finish() throws(StoreFault) {
        guard unsafe handle != nil else { return }
        let code = unsafe sqlite3_backup_finish(handle)
        unsafe handle = nil
        defer { target = nil }
        if code != SQLITE_OK { throw fault(code) }
    }

    private func fault(_ code: Int32) -> StoreFault {
        // Every other code is about the file that is written.
        let isSource = code & 0xff == SQLITE_CORRUPT
        return (isSource ? source : target ?? source).fileFault(code)
    }
}

extension SQLiteStore {
    /// Begins to copy the store.
    ///
    /// - Parameters:
    ///   - path: a new or an empty file, which has no other user.
    ///   - mark: a random number, by which the copy will recognise an attempt log.
    /// - Throws: the reason why it can't be opened.
    /// - Blocks: for the disk.
    package func beginCopy(to path: String, mark: UInt64) throws(StoreFault) -> StoreCopy {
        try StoreCopy(of: database, to: path, mark: mark)
    }
}
