// Which attempts have begun and which were successful, in a file that a crash of the process does not
// undo: a ring of entries, each written with one call by the thread that runs the job. The store
// learns the same a little later; what it had not learnt before a crash is read here. So a job that
// runs again can be told that it does, and one that was done does not run again if its result is small.

internal import Kernel
internal import Synchronization

/// The latest beginnings and ends of attempts.
///
/// - Thread: any thread.
final class AttemptLog: Sendable {
    /// What a file tells of one job.
    struct Entry: Equatable {
        /// The latest attempt that has begun.
        var attempt: Int
        /// What it returned, if that is known.
        var result: [UInt8]?
    }

    /// How many entries are remembered: far more than come while the store is behind.
    private static let count = 1 << 14
    /// Eight bytes each: the job, the attempt, what happened, the size of the result; then the result.
    private static let headerByteCount = 32
    private static let entryByteCount = 128
    /// The largest result that is noted.
    static let resultByteCountMax = entryByteCount - headerByteCount

    private enum Kind {
        static let begun: UInt64 = 1
        static let done: UInt64 = 2
    }

    private let path: String
    private let descriptor: Descriptor
    private let next = Atomic<Int>(0)

    /// Opens the file anew: nothing has happened.
    ///
    /// - Blocks: for the disk.
    init(_ path: String) throws(SystemError) {
        self.path = path
        // Its room is taken now, so that a full disk can't be in the way later.
        let zeros = [UInt8](repeating: 0, count: Self.count * Self.entryByteCount)
        try File.write(zeros, to: path, mode: File.ownerOnly)
        descriptor = try File.openForWriting(path, mode: File.ownerOnly)
    }

    /// Notes that an attempt begins.
    ///
    /// - Blocks: for the length of a system call.
    func noteStart(_ id: UInt64, attempt: Int) {
        write(id, attempt, Kind.begun, [])
    }

    /// Notes what a job has returned, if that is small.
    ///
    /// - Blocks: for the length of a system call.
    func noteDone(_ id: UInt64, attempt: Int, result: [UInt8]) {
        guard result.count <= Self.resultByteCountMax else { return }
        write(id, attempt, Kind.done, result)
    }

    private func write(_ id: UInt64, _ attempt: Int, _ kind: UInt64, _ result: [UInt8]) {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(Self.entryByteCount)
        for number in [id, UInt64(attempt), kind, UInt64(result.count)] {
            for shift in stride(from: 0, to: 64, by: 8) {
                bytes.append(UInt8(truncatingIfNeeded: number >> UInt64(shift)))
            }
        }
        bytes += result
        let (place, _) = next.add(1, ordering: .relaxed)
        // Without it the job may run again, or under the number of the attempt before: it is not lost.
        try? descriptor.write(bytes, at: (place & (Self.count - 1)) * Self.entryByteCount)
    }

    /// Forgets all: the store knows it.
    ///
    /// - Blocks: for the disk.
    func clear() { try? File.write([], to: path) }

    /// What a file tells, by job.
    ///
    /// - Blocks: for the disk.
    static func read(_ path: String) -> [UInt64: Entry] {
        guard let bytes = try? File.read(path, atMost: count * entryByteCount) else { return [:] }
        var entries: [UInt64: Entry] = [:]
        for start in stride(from: 0, through: bytes.count - entryByteCount, by: entryByteCount) {
            func number(_ index: Int) -> UInt64 {
                var number: UInt64 = 0
                for place in stride(from: start + index * 8 + 7, through: start + index * 8, by: -1)
                {
                    number = number << 8 | UInt64(bytes[place])
                }
                return number
            }
            let (id, attempt, kind, size) = (number(0), number(1), number(2), number(3))
            guard (1..<1 << 62).contains(id), (1..<1 << 32).contains(attempt),
                size <= UInt64(resultByteCountMax)
            else { continue }
            var entry = entries[id] ?? Entry(attempt: 0)
            entry.attempt = max(entry.attempt, Int(attempt))
            if kind == Kind.done {
                let first = start + headerByteCount
                entry.result = Array(bytes[first..<first + Int(size)])
            }
            entries[id] = entry
        }
        return entries
    }
}
