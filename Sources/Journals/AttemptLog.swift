// The attempt log: which attempts have begun and which were successful, in a file that a crash of
// the process does not undo. It is a ring of entries in memory that is the file, each written by
// the thread that runs the job, so without a system call. The store learns the same a little later;
// after a crash it reads here what it had not learnt. So a job that runs again can be told that it
// does, and one that was done does not run again if its result is small.
//
// The first entry is the mark of the store's present opening (SQLiteStore+Marks.swift), by which
// the store recognises its file. The others begin with a seal, a number made of all of their other
// words: a crash may leave half an entry, which does not count. The byte order of a word is that of
// the machine.

package import Jobs
package import Kernel
internal import Synchronization

/// Records the latest beginnings and ends of attempts.
///
/// - Thread: any thread.
package final class AttemptLog: Sendable {
    /// The record of one job in a file.
    package struct Entry: Equatable {
        /// The latest attempt that has begun.
        package var attempt: Int
        /// Its result, if that is known.
        package var result: [UInt8]?
        /// Which worker in another process held which attempt last; a token of zeros if it held it
        /// no more.
        var hold: Hold?
    }

    /// An attempt in a worker's hands, as it is in the file.
    struct Hold: Equatable {
        let attempt: Int
        /// The words of `JobHolder`; its time has a count behind it, so that later ones are larger.
        let words: [UInt64]

        static let timeWord = 4

        var order: UInt64 { words[Self.timeWord] }
    }

    /// The number of entries: more than come before no attempt begins, see `AttemptBacklog`.
    package static let count = 1 << 14
    /// The seal, the job, the attempt; then the result.
    private static let headerWordCount = 3
    package static let entryWordCount = 16
    /// The size of the file: the mark and the entries.
    package static let byteCount = (1 + count) * entryWordCount * MemoryLayout<UInt64>.size
    /// The largest result that is recorded.
    package static let resultByteCountMax = 96

    private enum Kind {
        static let begun: UInt64 = 1
        static let done: UInt64 = 2
        static let mark: UInt64 = 3
        static let held: UInt64 = 4
    }

    /// Follows the mark, so that no other program's file is taken for an attempt log: "workerd1".
    private static let magic: UInt64 = 0x3164_7265_6B72_6F77

    private let memory: FileMemory
    private let next = Atomic<Int>(0)

    /// Makes a new file without entries; the mark is on the disk on return.
    ///
    /// - Parameter mark: the number by which the store recognises the file.
    /// - Throws: EEXIST when there is a file, which stays; the error of a full disk as well, so
    ///   that the log can't run out of room later.
    /// - Blocks: for the disk.
    package init(_ path: String, mark: UInt64) throws(SystemError) {
        memory = try FileMemory(
            zeros: (1 + Self.count) * Self.entryWordCount, to: path, mode: File.ownerOnly)
        let words: [UInt64] = [0, mark, Self.magic]
        let seal = Self.seal(of: words.span, Kind.mark, 0)
        memory.store([seal, mark, Self.magic].span, at: 0)
        try memory.sync()
    }

    /// The mark in the first entry of a file; nil if there is none.
    static func mark(in entry: Span<UInt64>) -> UInt64? {
        guard entry.count == entryWordCount, entry[2] == magic,
            entry[0] == seal(of: entry.extracting(0..<headerWordCount), Kind.mark, 0)
        else { return nil }
        return entry[1]
    }

    /// Records that an attempt begins.
    package func noteStart(_ id: UInt64, attempt: Int) {
        write(id, attempt, Kind.begun, [])
    }

    /// Records the result of a job, if it is small.
    ///
    /// - Returns: whether it is.
    @discardableResult
    package func noteDone(_ id: UInt64, attempt: Int, result: [UInt8]) -> Bool {
        guard result.count <= Self.resultByteCountMax else { return false }
        write(id, attempt, Kind.done, result)
        return true
    }

    /// Records which worker holds an attempt, or that none does any more.
    ///
    /// - Parameter moment: in Unix milliseconds.
    package func noteHolder(_ id: UInt64, attempt: Int, _ holder: JobHolder?, at moment: Int64) {
        var words = holder?.words ?? Array(repeating: 0, count: JobHolder.wordCount)
        let count = next.load(ordering: .relaxed)
        words[Hold.timeWord] = UInt64(clamping: moment) << 16 | UInt64(count & 0xffff)
        var bytes: [UInt8] = []
        for word in words {
            unsafe withUnsafeBytes(of: word) { unsafe bytes.append(contentsOf: $0) }
        }
        write(id, attempt, Kind.held, bytes)
    }

    private func write(_ id: UInt64, _ attempt: Int, _ kind: UInt64, _ result: [UInt8]) {
        var words = InlineArray<16, UInt64>(repeating: 0)
        (words[1], words[2]) = (id, UInt64(attempt))
        let wordCount = Self.headerWordCount + (result.count + 7) / 8
        if !result.isEmpty {
            var span = words.mutableSpan
            unsafe span.withUnsafeMutableBytes { bytes in
                unsafe bytes[(Self.headerWordCount * 8)...].copyBytes(from: result)
            }
        }
        let seal = Self.seal(
            of: words.span.extracting(0..<wordCount), kind, UInt64(result.count))
        words[0] = seal
        let (place, _) = next.add(1, ordering: .relaxed)
        memory.store(
            words.span.extracting(0..<wordCount),
            at: (1 + place & (Self.count - 1)) * Self.entryWordCount)
    }

    /// The first word of an entry: its kind, the size of its result, and a sum of these and the
    /// others.
    private static func seal(of entry: Span<UInt64>, _ kind: UInt64, _ size: UInt64) -> UInt64 {
        let head = kind | size << 8
        var sum = head
        for place in 1..<entry.count {
            // Each step can be undone, so that no two words of an entry make up for each other; the
            // golden ratio of 64 bits spreads them.
            sum = (sum ^ entry[place]) &* 0x9E37_79B9_7F4A_7C15
            sum ^= sum >> 32
        }
        return head | sum << 16
    }

    /// Removes the file: the store has learnt everything in it.
    ///
    /// Another file at the path stays. Later entries are lost.
    ///
    /// - Blocks: for the disk.
    package func clear() { try? memory.removeFile() }

    /// Adds an entry of a file, if it is whole.
    ///
    /// - Returns: whether the words can be an entry: a whole one, half of one, or an empty one.
    static func note(_ entry: Span<UInt64>, in entries: inout [UInt64: Entry]) -> Bool {
        guard entry.count == entryWordCount, entry[0] != 0 else { return true }
        let (kind, size) = (entry[0] & 0xff, entry[0] >> 8 & 0xff)
        let wordCount = headerWordCount + Int(size + 7) / 8
        let (id, attempt) = (entry[1], entry[2])
        switch kind {
        case Kind.begun, Kind.done: guard size <= UInt64(resultByteCountMax) else { return false }
        case Kind.held: guard size == UInt64(8 * JobHolder.wordCount) else { return false }
        default: return false
        }
        guard entry[0] == seal(of: entry.extracting(0..<wordCount), kind, size),
            (1..<1 << 62).contains(id), (1..<1 << 32).contains(attempt)
        else { return true }
        var noted = entries[id] ?? Entry(attempt: 0)
        if kind == Kind.held {
            let hold = Hold(
                attempt: Int(attempt), words: (headerWordCount..<wordCount).map { entry[$0] })
            // The latest hold counts.
            if noted.hold.map({ $0.order < hold.order }) ?? true { noted.hold = hold }
            entries[id] = noted
            return true
        }
        noted.attempt = max(noted.attempt, Int(attempt))
        if kind == Kind.done {
            noted.result = (0..<Int(size)).map { place in
                let word = entry[headerWordCount + place / 8]
                return unsafe withUnsafeBytes(of: word) { unsafe $0[place % 8] }
            }
        }
        entries[id] = noted
        return true
    }
}

extension AttemptLog.Entry {
    /// The worker that holds the latest attempt that has begun.
    var holder: JobHolder? {
        guard result == nil, let hold, hold.attempt == attempt else { return nil }
        var words = hold.words
        words[AttemptLog.Hold.timeWord] >>= 16
        return JobHolder(words)
    }
}
