// A log that is damaged before its end. SQLite reads a log up to the first invalid frame, silently
// ignores the rest and overwrites it, because a write torn by a power cut looks the same.
//
// A synced commit is on the disk before the next one begins. So a power cut tears at most the last
// transaction; whole transactions behind an invalid frame mean damage.

internal import CSQLite

/// A log with transactions that can't be read.
package struct LogDamage: Equatable, Sendable {
    /// The offset of the first invalid frame, in bytes.
    package let place: Int64
    /// The number of lost transactions behind it, at least.
    package let commitCount: Int
}

extension Database {
    /// The damage of the log, if there are transactions behind an invalid frame.
    ///
    /// Nothing may have been written since the log was opened.
    ///
    /// - Blocks: for the disk; it reads all of the log.
    func findLogDamage() -> LogDamage? {
        guard let file = unsafe layerFile(SQLITE_FCNTL_JOURNAL_POINTER),
            let read = unsafe file.pointee.pMethods?.pointee.xRead
        else { return nil }
        return LogScan.damage(byteCount: unsafe byteCount(of: file)) { bytes, place in
            unsafe bytes.withUnsafeMutableBytes { bytes in
                unsafe read(file, bytes.baseAddress, Int32(bytes.count), place) == SQLITE_OK
            }
        }
    }
}

/// Looks for whole transactions behind a damaged one.
///
/// - Source: www.sqlite.org/fileformat2.html#the_write_ahead_log.
struct LogScan {
    private static let headerByteCount = 32
    private static let frameHeaderByteCount = 24
    /// The last bit says whether checksums read words in the other byte order.
    private static let magic: UInt32 = 0x377F_0682

    private var sums: (UInt32, UInt32) = (0, 0)
    private let isBigEndian: Bool

    /// Scans a log.
    ///
    /// - Parameters:
    ///   - byteCount: the size of the log.
    ///   - read: fills the bytes from an offset of the log; returns false if it can't.
    /// - Returns: nil if there is no damage, or none that can be told from a torn write.
    /// - Complexity: O(bytes).
    static func damage(
        byteCount: Int64, _ read: (inout [UInt8], Int64) -> Bool
    ) -> LogDamage? {
        var header = [UInt8](repeating: 0, count: headerByteCount)
        // SQLite ignores a log whose header is torn: its contents are in the database then.
        guard byteCount >= Int64(headerByteCount), read(&header, 0),
            word(header, 0) & ~1 == magic
        else { return nil }
        var scan = LogScan(isBigEndian: word(header, 0) & 1 == 1)
        scan.add(header[..<24])
        let pageByteCount = Int(word(header, 8))
        guard scan.fits(header, 24), (512...65_536).contains(pageByteCount) else { return nil }
        var frame = [UInt8](repeating: 0, count: frameHeaderByteCount + pageByteCount)
        var place = Int64(headerByteCount)
        var damaged: Int64?
        var commitCount = 0
        while place + Int64(frame.count) <= byteCount, read(&frame, place) {
            let isOfThisLog = frame[8..<16] == header[16..<24]
            if damaged == nil {
                scan.add(frame[..<8])
                scan.add(frame[frameHeaderByteCount...])
                if !isOfThisLog || !scan.fits(frame, 16) { damaged = place }
            }
            // The invalid frame may be a commit with damaged salts.
            if damaged != nil, word(frame, 4) != 0, isOfThisLog || damaged == place {
                commitCount += 1
            }
            place += Int64(frame.count)
        }
        // One commit is that of the torn transaction.
        guard let damaged, commitCount > 1 else { return nil }
        return LogDamage(place: damaged, commitCount: commitCount - 1)
    }

    private init(isBigEndian: Bool) { self.isBigEndian = isBigEndian }

    private mutating func add(_ bytes: ArraySlice<UInt8>) {
        var place = bytes.startIndex
        while place < bytes.endIndex {
            let first = Self.word(bytes, place)
            let second = Self.word(bytes, place + 4)
            sums.0 &+= (isBigEndian ? first : first.byteSwapped) &+ sums.1
            sums.1 &+= (isBigEndian ? second : second.byteSwapped) &+ sums.0
            place += 8
        }
    }

    private func fits(_ bytes: [UInt8], _ place: Int) -> Bool {
        Self.word(bytes, place) == sums.0 && Self.word(bytes, place + 4) == sums.1
    }

    /// The big-endian word at an offset.
    private static func word(_ bytes: ArraySlice<UInt8>, _ place: Int) -> UInt32 {
        UInt32(bytes[place]) << 24 | UInt32(bytes[place + 1]) << 16
            | UInt32(bytes[place + 2]) << 8 | UInt32(bytes[place + 3])
    }

    private static func word(_ bytes: [UInt8], _ place: Int) -> UInt32 { word(bytes[...], place) }
}
