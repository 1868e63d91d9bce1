// Lower limits of ended jobs, in each store.

import Jobs
import Kernel
import PostgreSQLServer
import Support
import Testing

@Suite struct `Lower limits of ended jobs` {
    @Test(.timeLimit(.minutes(1))) func `drop jobs of a file that have just ended`() throws {
        try lower(try ReopenedFile(StoreLimits(), TestWall().time))
    }

    @Test(
        .timeLimit(.minutes(1)),
        .enabled(if: PostgreSQLServer.isInstalled, .init(rawValue: PostgreSQLServer.excuse)))
    func `drop jobs of a database that have just ended`() throws {
        try lower(try ReopenedDatabase(StoreLimits(), TestWall().time))
    }

    private func lower(_ reopened: any Reopened) throws {
        let (store, recovery) = try reopened.open(serving: ["echo"])
        defer { store.close(nextNumber: recovery.nextNumber + 10) }
        let answers = Shared<[StoreAnswer]>([])
        store.add(.answer(to: { new in answers.set { $0 += new } }))
        var lastTicket: UInt64 = 0
        func kept() throws -> [JobID] {
            lastTicket += 1
            let listing = JobListing(queues: [], thread: nil, state: nil, in: JobSpan(), limit: 99)
            store.add(.list(listing, ticket: lastTicket))
            store.fire()
            while true {
                for case .listed(lastTicket, let result) in answers.get() {
                    return try result.get().jobs.map(\.id).sorted()
                }
                SystemThread.yield()
            }
        }
        // Nothing is dropped before the store has read what there is.
        end(JobID(recovery.nextNumber)..<JobID(recovery.nextNumber + 5), in: store)
        while try kept().count > 3 {}
        // With all commands at once, the ends are not in the store when the limits come.
        let ids = JobID(recovery.nextNumber + 5)..<JobID(recovery.nextNumber + 10)
        end(ids, in: store)
        #expect(try kept() == (2..<5).map { JobID(ids.lowerBound.number + $0) })
    }

    /// Ends new jobs, of which the first one fails, and lowers the limits.
    private func end(_ ids: Range<JobID>, in store: any JobStore) {
        let attempt = Attempt(number: 1, workerName: "mail", startedAt: 1_000_000)
        for number in ids.lowerBound.number..<ids.upperBound.number {
            let id = JobID(number)
            let request = JobRequest(thread: "mail", selector: "echo", payload: [])
            let job = Job(id: id, request: request, acceptedAt: 1_000_000)
            store.add(.accept(NewJob(job, isParked: false)))
            let outcome = id == ids.lowerBound ? Outcome.failed(reason: "no") : .done([])
            store.add(.end(id, attempt, outcome, at: 1_000_000))
        }
        var limits = StoreLimits()
        (limits.retainedCountMax, limits.failedCountMax) = (3, 0)
        store.add(.limit(limits))
    }
}
