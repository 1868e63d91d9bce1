// Wake-ups of threads, paid together at the end of a pass.

internal import WorkerThreads

/// Wake-ups that groups are owed.
///
/// A thread that is woken for each job of a batch runs it and sleeps again before the next is
/// parsed: one futex call for each job, where one for each batch does.
struct OwedWakes {
    private var wakes: [WorkerPool.OwedWake] = []
    /// So many are paid at once.
    private static let countMax = 16

    var isEmpty: Bool { wakes.isEmpty }
    var isFull: Bool { wakes.count >= Self.countMax }

    mutating func append(_ wake: WorkerPool.OwedWake) { wakes.append(wake) }

    mutating func pay() {
        wakes.forEach { $0.pay() }
        wakes.removeAll(keepingCapacity: true)
    }
}
