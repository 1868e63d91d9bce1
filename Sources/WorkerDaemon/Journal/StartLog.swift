// Which attempts have begun, in a file that a crash of the process does not undo: a ring of pairs, the
// number of a job and of its attempt, each written with one call before the handler is called. The
// store learns of a beginning a little later; what it had not learnt before a crash is read here, so
// that a job which runs again can be told that it does.

internal import Kernel
internal import Synchronization

/// The beginnings of the latest attempts.
///
/// - Thread: any thread.
final class StartLog: Sendable {
    /// How many are remembered: far more than begin while the store is behind.
    private static let count = 32_768
    private static let pairByteCount = 16

    private let path: String
    private let descriptor: Descriptor
    private let next = Atomic<Int>(0)

    /// Opens the file anew: nothing has begun.
    ///
    /// - Blocks: for the disk.
    init(_ path: String) throws(SystemError) {
        self.path = path
        // Its room is taken now, so that a full disk can't be in the way later.
        let zeros = [UInt8](repeating: 0, count: Self.count * Self.pairByteCount)
        try File.write(zeros, to: path, mode: File.ownerOnly)
        descriptor = try File.openForWriting(path, mode: File.ownerOnly)
    }

    /// Notes that an attempt begins.
    ///
    /// - Blocks: for the length of a system call.
    func note(_ id: UInt64, attempt: Int) {
        let (place, _) = next.add(1, ordering: .relaxed)
        // Without it the attempt may be numbered as the one before; the job is safe all the same.
        try? descriptor.write(
            id.littleEndian, UInt64(attempt).littleEndian,
            at: (place & (Self.count - 1)) * Self.pairByteCount)
    }

    /// Forgets all: what has begun is known to the store.
    ///
    /// - Blocks: for the disk.
    func clear() { try? File.write([], to: path) }

    /// The attempts that a file tells of, the latest of each job.
    ///
    /// - Blocks: for the disk.
    static func read(_ path: String) -> [UInt64: Int] {
        guard let bytes = try? File.read(path, atMost: count * pairByteCount) else { return [:] }
        var attempts: [UInt64: Int] = [:]
        for start in stride(from: 0, to: bytes.count - pairByteCount + 1, by: pairByteCount) {
            let id = number(bytes[start..<start + 8])
            let attempt = number(bytes[start + 8..<start + pairByteCount])
            guard id > 0, attempt > 0, attempt < 1 << 32 else { continue }
            attempts[id] = max(attempts[id] ?? 0, Int(attempt))
        }
        return attempts
    }

    private static func number(_ bytes: ArraySlice<UInt8>) -> UInt64 {
        bytes.reversed().reduce(0) { $0 << 8 | UInt64($1) }
    }
}
