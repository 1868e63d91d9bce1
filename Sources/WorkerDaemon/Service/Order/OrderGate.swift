// What holds jobs back behind one whose failed attempt is to be made good first: the gate of a thread,
// or of a key on it.
//
// Values of `blocker`: 0 is open, else the number of the job that is let through alone.
// G1  close, by the worker that ran the failed attempt, before it takes the next job; a look by the
//     worker that takes the next job of the order. That is the same thread, or for a key of a pool one
//     that took the job from the pool after the first was unbound there, under the pool's lock. So
//     it sees the gate closed, and nothing of the order begins in between.
// G2  open, by the desk once nothing of the order is in the lane; then the desk submits what it held.
//     The lane's lock takes that to the worker.

package import Jobs
internal import Synchronization

/// Lets one order of jobs through, or only the one that holds it up.
///
/// - Thread: any thread.
package final class OrderGate: Sendable {
    private let blocker = Atomic<UInt64>(0)
    /// Whether jobs that go through it are noted: of a thread, not before one of them can hold others up.
    ///
    /// The desk's alone; publishes nothing.
    private let isNoting: Atomic<Bool>
    /// The desk's alone, so nobody ever waits for the lock: it is there for the compiler.
    private let queue = Mutex(GateQueue())

    /// An open gate.
    ///
    /// - Parameter notesAll: whether jobs that go through it are noted from the first on.
    package init(notesAll: Bool = true) { isNoting = Atomic(notesAll) }

    /// Whether jobs that go through it are noted.
    var notesJobs: Bool { isNoting.load(ordering: .relaxed) }

    /// Notes jobs from now on.
    func beginNoting() { isNoting.store(true, ordering: .relaxed) }

    /// Lets only this job through from now on.
    package func close(by job: JobID) { blocker.store(job.number, ordering: .releasing) }  // G1

    /// Lets all through.
    package func open() { blocker.store(0, ordering: .releasing) }  // G2

    /// Whether a job has to wait for another one.
    package func isClosed(to job: JobID) -> Bool {
        let number = blocker.load(ordering: .acquiring)
        return number != 0 && number != job.number
    }

    /// Whether this job is the one that the others wait for.
    package func isClosed(by job: JobID) -> Bool {
        blocker.load(ordering: .acquiring) == job.number
    }

    /// Looks at what is on its way through it, or changes that.
    ///
    /// - Thread: the desk's.
    func withQueue<Result>(_ body: (inout GateQueue) -> Result) -> Result {
        queue.withLock { body(&$0) }
    }
}

/// The orders that one job keeps: that of its thread and that of its key.
struct JobOrder: Sendable {
    /// Nil for a job that any member of a pool may run.
    var thread: OrderGate?
    /// Nil for a job without a key.
    var key: OrderGate?
    /// How often it is tried again, and whether the others wait for that.
    var retry = RetryPlan()

    /// What it holds up while it fails: its key if it has one, else its thread.
    var own: OrderGate? { key ?? thread }

    /// Whether it has to wait for another one.
    func holdsBack(_ job: JobID) -> Bool {
        thread?.isClosed(to: job) == true || key?.isClosed(to: job) == true
    }
}

extension JobContext {
    /// Holds up what follows if a failed attempt says so; on the thread that made it, before it
    /// takes another job.
    func noteEnd(_ outcome: Outcome) {
        guard order.retry.blocks, outcome.state == .failed, !isCancelRequested,
            order.retry.follows(attempt: attempt)
        else { return }
        order.own?.close(by: JobID(id))
    }
}

/// How a job is tried again.
struct RetryPlan: Sendable, Equatable {
    /// How many further attempts follow one that failed.
    var countMax = 0
    /// Whether what follows in its order waits meanwhile.
    var blocks = false
    /// The attempts that do not count any more.
    var forgivenCount = 0

    /// Whether another attempt may follow this one.
    func follows(attempt: Int) -> Bool { attempt - forgivenCount <= countMax }
}
