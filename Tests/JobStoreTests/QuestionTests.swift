// Proves that clients whose jobs are accepted wait for no listing.

import Jobs
import Kernel
import PostgreSQLServer
import Support
import Synchronization
import Testing

@Suite struct `A store's answers` {
    private final class Messages: Sendable {
        let all = Mutex<[[StoreAnswer]]>([])
    }

    @Test(.timeLimit(.minutes(1)))
    func `about new jobs come before those of a file to questions`() throws {
        try ask(try ReopenedFile(StoreLimits(), TestWall().time))
    }

    @Test(
        .timeLimit(.minutes(1)),
        .enabled(if: PostgreSQLServer.isInstalled, .init(rawValue: PostgreSQLServer.excuse)))
    func `about new jobs come before those of a database to questions`() throws {
        try ask(try ReopenedDatabase(StoreLimits(), TestWall().time))
    }

    private func ask(_ reopened: any Reopened) throws {
        let (store, _) = try reopened.open(serving: ["echo"])
        defer { store.close(nextNumber: 10) }
        let messages = Messages()
        store.add(
            .answer(to: { [messages] in
                let answers = $0
                messages.all.withLock { $0.append(answers) }
            }))
        for ticket in 1...3 as ClosedRange<UInt64> {
            store.add(
                .list(
                    JobListing(queues: [], thread: nil, state: nil, in: JobSpan(), limit: 9),
                    ticket: ticket))
        }
        let request = JobRequest(thread: "a", selector: "echo", payload: [])
        let job = Job(id: JobID(1), request: request, acceptedAt: 1)
        store.add(.accept(NewJob(job, isParked: false)))
        store.fire()
        var told: [[StoreAnswer]] = []
        while told.joined().count < 4 {
            told = messages.all.withLock { all in
                all.map { $0.filter { Reply.text($0) != nil } }.filter { !$0.isEmpty }
            }
            SystemThread.yield()
        }
        // Each listing is a message of its own: the loop that takes them turns in between.
        #expect(told.map(\.count) == [1, 1, 1, 1])
        #expect(told.map { $0.contains(where: \.isToQuestion) } == [false, true, true, true])
    }
}
