// The threads behind one name of the configuration, and what each of them does right now.

internal import Jobs
internal import Kernel
internal import Synchronization
internal import WorkerThreads

/// One configured thread or pool of threads.
///
/// - Thread: any thread.
final class Lane: Sendable {
    /// What one member does and has done.
    final class Member: Sendable {
        let thread: WorkerThread
        let current = Mutex<JobContext?>(nil)
        let doneCount = Atomic<Int>(0)
        let failedCount = Atomic<Int>(0)

        init(_ thread: WorkerThread) { self.thread = thread }
    }

    let name: String
    let maxQueued: Int
    let pool: WorkerPool
    let members: [Member]
    private let wall: WallTime
    private let membersByName: [String: Member]

    /// Starts the threads.
    ///
    /// - Throws: when the system has no room for so many threads.
    init(
        _ configuration: Configuration.Thread, _ clocks: Clocks = .system
    ) throws(SystemError) {
        name = configuration.name
        maxQueued = configuration.maxQueued
        wall = clocks.wall
        pool = try WorkerPool(
            name: configuration.name, count: configuration.count, clock: clocks.loop)
        members = pool.members.map { Member($0) }
        membersByName = Dictionary(uniqueKeysWithValues: members.map { ($0.thread.name, $0) })
    }

    /// The member of this name.
    func member(named name: String) -> Member? { membersByName[name] }

    /// Runs a job to its end on the calling member's thread.
    ///
    /// - Parameter journal: where the beginning is recorded; nil for a volatile job.
    /// - Returns: nil when it was withdrawn before: it did not run.
    func run(
        _ job: JobContext, _ handler: Handler, children: ChildRegistry, journal: Journal?,
        log: Log
    ) -> Completion? {
        guard let thread = WorkerThread.currentName, let member = membersByName[thread] else {
            preconditionFailure("a job of \(name) runs on a foreign thread")
        }
        let startedAt = wall.unixMilliseconds()
        guard job.begin(on: thread, at: startedAt) else { return nil }
        if let journal {
            let attempt = Attempt(
                number: job.attempt, workerName: thread, startedAt: startedAt)
            journal.noteStart(job.id, attempt)
        }
        member.current.withLock { $0 = job }
        let outcome = handler.run(job, children: children, log: log)
        if let journal, case .done(let result) = outcome {
            journal.noteDone(job.id, attempt: job.attempt, result: result)
        }
        job.end()
        member.current.withLock { $0 = nil }
        switch outcome.state {
        case .done: member.doneCount.add(1, ordering: .relaxed)
        case .failed: member.failedCount.add(1, ordering: .relaxed)
        default: break
        }
        return Completion(
            job: JobID(job.id), outcome: outcome, thread: thread, startedAt: startedAt,
            endedAt: wall.unixMilliseconds())
    }
}

/// A job's end, on its way from the worker to the desk.
struct Completion: Sendable {
    let job: JobID
    let outcome: Outcome
    let thread: String
    /// In Unix milliseconds.
    let startedAt: Int64
    let endedAt: Int64
}
