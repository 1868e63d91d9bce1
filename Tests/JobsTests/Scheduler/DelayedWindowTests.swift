// The delayed jobs of a queue that are in memory: a load does not bring a job that has ended since
// the load began, and brings one that runs again since.

import Jobs
import Testing

@Suite struct `Window of delayed jobs` {
    /// A window whose jobs are all behind a moment, and a job there.
    private var window = DelayedWindow(WindowLimits(), horizon: DueKey(dueAt: 10, id: JobID(0)))
    private let job = Job(
        id: JobID(1),
        request: JobRequest(
            thread: "one", selector: "echo", payload: [], schedule: .at(10, byClock: false)),
        acceptedAt: 0)

    /// Answers a load that was asked for at the window's horizon.
    private mutating func load() -> [JobID] {
        let found = window.loadEnded(
            JobBatch(jobs: [job]), after: DueKey(dueAt: 10, id: JobID(0)),
            isInMemory: { _ in false })
        return found.isCurrent ? found.jobs.map(\.id) : []
    }

    @Test mutating func `has no room for a job that has ended since the load began`() {
        _ = window.beginLoad()
        window.ended(job.id)
        #expect(load().isEmpty)
        #expect(window.horizon == .last)
    }

    @Test mutating func `takes a job that runs again while an earlier load is under way`() {
        // A firing asks for a load although one is under way.
        _ = window.beginLoad()
        window.ended(job.id)
        window.runsAgain(job.id)
        _ = window.beginLoad()
        #expect(load() == [job.id])
    }

    @Test mutating func `takes no job of a load that began in front of another place`() {
        _ = window.beginLoad()
        window.fired(behind: DueKey(dueAt: 5, id: JobID(0)))
        #expect(load().isEmpty)
        #expect(window.horizon == DueKey(dueAt: 5, id: JobID(0)))
    }
}
