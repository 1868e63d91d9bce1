// The inspection of the attempt log's path when a store is opened. Nothing is written before the
// file there is identified: the log of another store is set aside, and any other file stays.

internal import Jobs
internal import Kernel

extension AttemptLog {
    /// The file at the attempt log's path.
    package enum Found: Equatable {
        /// No file, or one without an entry or a mark.
        case nothing
        /// The entries of a daemon, by job.
        ///
        /// The mark is 0 in a file from before there were marks.
        case ring(mark: UInt64, [UInt64: Entry])
    }

    /// The number of words that are read at once.
    private static let partWordCount = 1 << 13
    /// The number of free names that are tried for logs of other stores.
    private static let asideCountMax = 1_000

    /// Identifies the file at a path; changes nothing.
    ///
    /// - Throws: `StoreFault` for a file that is no attempt log, and for one that can't be read.
    /// - Blocks: for the disk.
    package static func look(at path: String) throws -> Found {
        if File.target(ofLink: path) != nil { throw inTheWay(path, "a symbolic link") }
        switch try reading(path, { () throws(SystemError) in try File.kind(of: path) }) {
        case nil: return .nothing
        case .regular: break
        case .directory, .socket, .other: throw inTheWay(path, "no regular file")
        }
        var contents = Contents()
        let byteCount = try reading(path) { () throws(SystemError) in
            try File.readWords(of: path, inParts: partWordCount) { contents.add($0) }
        }
        guard let found = contents.found(byteCount: byteCount) else {
            throw inTheWay(path, "a file of another program")
        }
        return found
    }

    /// Gives the log of another store a name that is free.
    ///
    /// - Returns: its path.
    /// - Blocks: for the disk.
    package static func setAside(_ path: String) throws -> String {
        for number in 1...asideCountMax {
            let aside = "\(path).foreign-\(number)"
            let isMoved = try reading(path) { () throws(SystemError) in
                try File.move(path, toFree: aside)
            }
            if isMoved { return aside }
        }
        throw StoreFault(
            .inTheWay, path: path,
            detail: "it belongs to another store, and there are \(asideCountMax) such files already"
        )
    }

    private static func inTheWay(_ path: String, _ what: String) -> StoreFault {
        StoreFault(.inTheWay, path: path, detail: "it is \(what), where workerd notes attempts")
    }

    private static func reading<Result>(
        _ path: String, _ body: () throws(SystemError) -> Result
    ) throws -> Result {
        do throws(SystemError) {
            return try body()
        } catch {
            throw StoreFault(.notWritable, path: path, detail: error.reason)
        }
    }

    /// Collects the entries of a file.
    private struct Contents {
        private var mark: UInt64?
        private var entries: [UInt64: Entry] = [:]
        private var isFirst = true
        private var isOurs = true
        private var isEmpty = true

        mutating func add(_ words: Span<UInt64>) {
            var start = 0
            while start < words.count {
                let end = min(start + AttemptLog.entryWordCount, words.count)
                add(entry: words.extracting(start..<end))
                start = end
            }
        }

        private mutating func add(entry: Span<UInt64>) {
            defer { isFirst = false }
            for place in entry.indices where entry[place] != 0 { isEmpty = false }
            if isFirst, let mark = AttemptLog.mark(in: entry) {
                self.mark = mark
            } else {
                isOurs = isOurs && AttemptLog.note(entry, in: &entries)
            }
        }

        /// Nil if the file is no attempt log.
        func found(byteCount: Int) -> Found? {
            let whole = AttemptLog.byteCount
            guard byteCount <= whole, byteCount % MemoryLayout<UInt64>.size == 0 else { return nil }
            if isEmpty { return .nothing }
            // Half entries, and damage by a failing disk, do not make it another program's file.
            if let mark { return .ring(mark: mark, entries) }
            // Without the entry with the mark, as in a file from before there were marks.
            let unmarked = whole - AttemptLog.entryWordCount * MemoryLayout<UInt64>.size
            let isRing = isOurs && (byteCount == whole || byteCount == unmarked)
            return isRing ? .ring(mark: 0, entries) : nil
        }
    }
}
