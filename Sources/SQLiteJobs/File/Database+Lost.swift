// A log without its database, or beside a damaged one. SQLite would take an empty file for a new
// database and remove the log, or write the log into any file that it finds. Here both files stay
// as they are, so that the right file can still be put beside the log.

internal import Jobs
internal import CSQLite

extension Database {
    /// The size of a frame's header in the log.
    ///
    /// - Source: www.sqlite.org/fileformat2.html#the_write_ahead_log.
    private static let frameHeaderByteCount: Int64 = 24
    /// SQLITE_IOERR_SHORT_READ, which Swift does not import: zeros stand for the missing bytes.
    private static let shortRead = SQLITE_IOERR | 2 << 8

    /// Refuses a log whose database is missing or empty.
    ///
    /// - Throws: `.incomplete`.
    /// - Blocks: for the disk.
    static func refuseLostLog(of path: String) throws(StoreFault) {
        guard hasBytes(logPath(of: path)), !hasBytes(path) else { return }
        throw incomplete(path, "is missing or empty")
    }

    /// Refuses a file whose first bytes can't be those of its log's database.
    ///
    /// - Throws: `.incomplete`.
    /// - Blocks: for the disk.
    func refuseForeignFile() throws(StoreFault) {
        guard hasLog, let file = unsafe layerFile(SQLITE_FCNTL_FILE_POINTER) else { return }
        let (header, code) = unsafe header(of: file)
        // A file that can't be read at all is reported by the next read.
        guard code == SQLITE_OK || code == Self.shortRead else { return }
        if code == Self.shortRead { throw Self.incomplete(path, "has lost its end") }
        guard Schema.mayBeOurs(header) else {
            // A torn write of the first page looks like another program's file, into which SQLite
            // would write the log.
            throw Self.incomplete(
                path, "is damaged or another program's",
                advice:
                    "; after a power cut: sqlite3 \(path) 'PRAGMA wal_checkpoint(TRUNCATE)' writes "
                    + "the log into it")
        }
    }

    private func header(of file: UnsafeMutablePointer<sqlite3_file>) -> ([UInt8], Int32) {
        var header = [UInt8](repeating: 0, count: Schema.headerByteCount)
        let code = unsafe header.withUnsafeMutableBytes { bytes in
            unsafe file.pointee.pMethods?.pointee.xRead?(
                file, bytes.baseAddress, Int32(bytes.count), 0) ?? SQLITE_OK
        }
        return (header, code)
    }

    /// Refuses a file with fewer pages than its log requires; once something was read, or could not
    /// be.
    ///
    /// - Throws: `.incomplete`.
    /// - Blocks: for the disk.
    func refuseShortFile() throws(StoreFault) {
        guard hasLog, let file = unsafe layerFile(SQLITE_FCNTL_FILE_POINTER),
            let log = unsafe layerFile(SQLITE_FCNTL_JOURNAL_POINTER)
        else { return }
        let (header, _) = unsafe header(of: file)
        let pageByteCount = Schema.pageByteCount(in: header)
        guard pageByteCount > 0 else { return }
        // The latest count; where the tables can't be read, that of the file itself.
        let counted = (try? integer("PRAGMA page_count")) ?? nil
        let pageCount = counted ?? Schema.pageCount(in: header)
        let found = unsafe byteCount(of: file) / pageByteCount
        let logged = unsafe byteCount(of: log) / (pageByteCount + Self.frameHeaderByteCount)
        guard found + logged < pageCount else { return }
        throw Self.incomplete(path, "has lost its end (\(found) of \(pageCount) pages are there)")
    }

    private static func incomplete(
        _ path: String, _ what: String, advice: String = ""
    ) -> StoreFault {
        StoreFault(
            .incomplete, path: path,
            detail: "it \(what), but its log \(logPath(of: path)) is there\(advice)")
    }

    /// Whether its log exists and is not empty.
    private var hasLog: Bool { Self.hasBytes(logPath) }

    /// Whether a file exists and is not empty.
    private static func hasBytes(_ path: String) -> Bool {
        guard let system = unsafe sqlite3_vfs_find(nil) else { return false }
        var isThere: Int32 = 0
        // For an empty file it answers that there is none.
        _ = unsafe system.pointee.xAccess(system, path, SQLITE_ACCESS_EXISTS, &isThere)
        return isThere != 0
    }

    func layerFile(_ which: Int32) -> UnsafeMutablePointer<sqlite3_file>? {
        var found: UnsafeMutablePointer<sqlite3_file>?
        let code = unsafe sqlite3_file_control(handle, "main", which, &found)
        guard code == SQLITE_OK, let file = unsafe found, unsafe file.pointee.pMethods != nil else {
            return nil
        }
        return unsafe file
    }

    func byteCount(of file: UnsafeMutablePointer<sqlite3_file>) -> Int64 {
        var count: Int64 = 0
        _ = unsafe file.pointee.pMethods?.pointee.xFileSize?(file, &count)
        return count
    }
}
