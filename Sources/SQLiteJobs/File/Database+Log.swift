// The write-ahead log after a failed sync, where SQLite's own handling is not enough.
//
// When a sync fails, Linux reports it once, marks the pages as clean and never writes them again.
// The unsynced part of the log is then only in the kernel's memory, though every later sync
// succeeds. A transaction behind it would be acknowledged and out of reach after a power cut. So
// the log is rewritten before anything is added to it.

internal import Jobs
internal import CSQLite

/// The settings and the result of checkpoints, which move the log into the database.
struct LogMoving {
    /// The length of the log, in pages, from which on it is moved.
    var pageCountMax: Int32 = 1_000
    /// The result of the latest failed attempt that was not reported yet.
    var fault: Int32 = SQLITE_OK
}

extension Database {
    /// Moves the log into the database after each commit that leaves it this long.
    ///
    /// SQLite does so by itself, but silently when it fails. Closing moves the log as well, from
    /// here on.
    func moveLog(at pageCount: Int) throws(StoreFault) {
        try keepLogApart(false)
        unsafe moving.pointee.pageCountMax = Int32(clamping: max(1, pageCount))
        unsafe sqlite3_wal_hook(
            handle,
            { moving, handle, name, pageCount in
                guard let moving = unsafe moving?.assumingMemoryBound(to: LogMoving.self) else {
                    return SQLITE_OK
                }
                guard unsafe pageCount >= moving.pointee.pageCountMax else { return SQLITE_OK }
                let code = unsafe sqlite3_wal_checkpoint_v2(
                    handle, name, SQLITE_CHECKPOINT_PASSIVE, nil, nil)
                // The returned code does not say that it was a sync.
                if code != SQLITE_OK {
                    unsafe moving.pointee.fault = sqlite3_extended_errcode(handle)
                }
                // The commit has succeeded, even if the move failed.
                return SQLITE_OK
            }, moving)
    }

    /// Sets whether closing leaves the log as it is.
    func keepLogApart(_ isKept: Bool) throws(StoreFault) {
        try check(unsafe csqlite_set(handle, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, isKept ? 1 : 0))
    }

    /// Whether the latest call has failed in a sync.
    var hasFailedToSync: Bool { unsafe sqlite3_extended_errcode(handle) == Self.syncFailed }

    /// Whether the move of the log has failed in a sync; until `takeMovingFault`.
    var hasMovingFailedToSync: Bool { unsafe moving.pointee.fault == Self.syncFailed }

    /// SQLITE_IOERR_FSYNC, which Swift does not import.
    private static let syncFailed = SQLITE_IOERR | 4 << 8

    /// Returns and clears the fault of the latest move of the log.
    func takeMovingFault() -> StoreFault? {
        let code = unsafe moving.pointee.fault
        guard code != SQLITE_OK else { return nil }
        unsafe moving.pointee.fault = SQLITE_OK
        return fileFault(code)
    }

    /// Writes all of the log to the disk again, as the kernel has it.
    ///
    /// Its content is unchanged: a part that was rolled back is overwritten by the next
    /// transaction.
    ///
    /// - Throws: the reason why it can't be written; then it must be tried again.
    /// - Blocks: for the disk.
    func rewriteLog() throws(StoreFault) {
        var found: UnsafeMutablePointer<sqlite3_file>?
        try check(
            unsafe sqlite3_file_control(handle, "main", SQLITE_FCNTL_JOURNAL_POINTER, &found))
        guard let file = unsafe found, let methods = unsafe file.pointee.pMethods?.pointee,
            let size = unsafe methods.xFileSize, let read = unsafe methods.xRead,
            let write = unsafe methods.xWrite, let sync = unsafe methods.xSync
        else { return }
        var byteCount: Int64 = 0
        try checkFile(unsafe size(file, &byteCount))
        var chunk = [UInt8](repeating: 0, count: 64 << 10)
        var place: Int64 = 0
        while place < byteCount {
            let count = Int32(min(Int64(chunk.count), byteCount - place))
            try checkFile(
                unsafe chunk.withUnsafeMutableBytes { bytes in
                    let code = unsafe read(file, bytes.baseAddress, count, place)
                    guard code == SQLITE_OK else { return code }
                    return unsafe write(file, bytes.baseAddress, count, place)
                })
            place += Int64(count)
        }
        try checkFile(unsafe sync(file, SQLITE_SYNC_NORMAL))
    }

    /// Checks the result of a file's own method, which the connection does not see.
    private func checkFile(_ code: Int32) throws(StoreFault) {
        if code != SQLITE_OK { throw fileFault(code) }
    }
}
