// What lies in the place of the file of attempts when a store is opened, and what becomes of it. Nothing is
// written before it is known what it is: another store's is set aside, and what is none stays.

internal import Jobs
internal import Kernel

extension AttemptLog {
    /// What lies in the place of the file.
    package enum Found: Equatable {
        /// No file, or one without an entry or a mark.
        case nothing
        /// What a daemon has noted, by job. The mark is 0 in a file from before there were any.
        case ring(mark: UInt64, [UInt64: Entry])
    }

    /// How many words are read at once.
    private static let partWordCount = 1 << 13
    /// The names for files of other stores that are tried; more are hardly ever left lying there.
    private static let asideCountMax = 1_000

    /// Looks what lies in the place of the file; changes nothing.
    ///
    /// - Throws: `StoreFault` for what is no file of attempts, and for one that can't be read.
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

    /// Gives another store's file a name that is free.
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

    /// Collects what a file says.
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

        /// Nil if that is no file of attempts.
        func found(byteCount: Int) -> Found? {
            let whole = AttemptLog.byteCount
            guard byteCount <= whole, byteCount % MemoryLayout<UInt64>.size == 0 else { return nil }
            if isEmpty { return .nothing }
            // Half entries, and what a failing disk has left, make it no other program's.
            if let mark { return .ring(mark: mark, entries) }
            // Without the entry with the mark, as it was before there were any.
            let unmarked = whole - AttemptLog.entryWordCount * MemoryLayout<UInt64>.size
            let isRing = isOurs && (byteCount == whole || byteCount == unmarked)
            return isRing ? .ring(mark: 0, entries) : nil
        }
    }
}
