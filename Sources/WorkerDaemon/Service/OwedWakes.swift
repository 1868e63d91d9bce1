// Wake-ups of threads, paid together at the end of a pass.

internal import WorkerThreads

/// Wake-ups that groups are owed.
///
/// A thread that is woken for each job of a batch runs it and sleeps again before the next is
/// parsed: one futex call for each job, where one for each batch does. A thread that is woken only
/// at the end of a large batch has idled meanwhile.
struct OwedWakes {
    private var wakes: [WorkerPool.OwedWake] = []
    private var commandCount = 0
    /// So many commands are executed before the wake-ups are paid within a pass.
    ///
    /// A thread takes some time to wake, and runs a job of no work in half the time in which it is
    /// parsed: woken at the 32nd of 64 jobs, it does not sleep again before the last. Of 16, 32 and
    /// 48, this one makes the fewest context switches with 64 jobs outstanding. An answer of the
    /// store brings many jobs at once: their threads are woken behind the last job.
    private static let commandCountMax = 32

    var isEmpty: Bool { wakes.isEmpty }

    mutating func append(_ wake: WorkerPool.OwedWake) { wakes.append(wake) }

    /// Counts a command that submits a job, and pays if there were so many since the first wake-up.
    mutating func noteCommand() {
        guard !wakes.isEmpty else { return }
        commandCount += 1
        if commandCount >= Self.commandCountMax { pay() }
    }

    mutating func pay() {
        wakes.forEach { $0.pay() }
        wakes.removeAll(keepingCapacity: true)
        commandCount = 0
    }
}
