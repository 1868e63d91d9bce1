// How much of a queue of durable jobs is in memory: all of it as long as it is short, its head when
// it is long. The rest is parked in the journal, and brought when the head has become short.

internal import Jobs

/// The durable jobs of one thread and priority that are in turn.
///
/// Confined to the desk's thread.
final class Backlog {
    /// How many jobs of a queue may be in memory.
    static let countMax = 8_192
    /// How many bytes their payloads may have together.
    static let byteCountMax = 16 << 20

    let queue: QueueName
    let lane: Lane
    /// What is in memory: uncommitted, waiting or running.
    private(set) var inMemoryCount = 0
    private(set) var inMemoryByteCount = 0
    /// What is in the journal only, or on its way there.
    private(set) var parkedCount = 0
    private var isLoading = false

    init(_ queue: QueueName, of lane: Lane, parkedCount: Int = 0) {
        self.queue = queue
        self.lane = lane
        self.parkedCount = parkedCount
    }

    /// Whether a new job may come into memory: none of before is parked, and there is room.
    var takesToMemory: Bool {
        parkedCount == 0 && inMemoryCount < Self.countMax && inMemoryByteCount < Self.byteCountMax
    }

    func addInMemory(byteCount: Int) {
        inMemoryCount += 1
        inMemoryByteCount += byteCount
    }

    func removeFromMemory(byteCount: Int) {
        inMemoryCount -= 1
        inMemoryByteCount -= byteCount
    }

    func addParked() { parkedCount += 1 }

    func removeParked(_ count: Int) { parkedCount = max(0, parkedCount - count) }

    /// How many jobs to ask the journal for; nil if none is wanted, or some are on their way.
    func nextLoad() -> (limit: Int, byteCount: Int)? {
        guard parkedCount > 0, !isLoading, inMemoryCount <= Self.countMax / 2,
            inMemoryByteCount <= Self.byteCountMax / 2
        else { return nil }
        isLoading = true
        return (Self.countMax - inMemoryCount, Self.byteCountMax - inMemoryByteCount)
    }

    /// What was asked for has come.
    func loadEnded() { isLoading = false }
}
