// Objects that are not Sendable, handed over to a worker's thread and back: it compiles, and they
// arrive.

import Kernel
import RunLoopsTesting
import Testing
import WorkerThreads

/// A list that no two threads may use at once, and that is not `Sendable`.
private final class Pages {
    var lines: [String] = []

    init(_ lines: String...) { self.lines = lines }
}

@Suite(.timeLimit(.minutes(2))) struct `What is not Sendable` {
    @Test func `is handed over to a worker, and a fresh one comes back`() async throws {
        let worker = try WorkerThread(name: "pages")
        let given = Pages("first")
        let made = try await worker.submit {
            given.lines.append("second")
            let made = Pages()
            made.lines = given.lines + [WorkerThread.currentName ?? "?"]
            return made
        }
        made.lines.append("here")
        #expect(made.lines == ["first", "second", "pages", "here"])
        let own = Pages("own")
        #expect(try await worker.submit { own.lines } == ["own"])
    }

    @Test func `is handed over with a post, a ticket and a delay, and waited for`() throws {
        let worker = try WorkerThread(name: "pages")
        let trace = Trace()
        let (posted, queued, later) = (Pages("posted"), Pages("queued"), Pages("later"))
        try worker.post { trace.note(posted.lines[0]) }
        try worker.enqueue { trace.note(queued.lines[0]) }
        try worker.enqueue(after: .zero) { trace.note(later.lines[0]) }
        let asked = Pages("asked")
        let made = try worker.submitAndWait { Pages(asked.lines[0], "made") }
        made.lines.append("here")
        #expect(made.lines == ["asked", "made", "here"])
        worker.waitUntilTimersHaveFired()
        #expect(trace.all == ["posted", "queued", "later"])
    }

    @Test func `is handed over to a pool, and a fresh one comes back`() async throws {
        let pool = try WorkerPool(name: "pages", count: 2)
        let trace = Trace()
        let posted = Pages("posted")
        try pool.post(key: "k") { trace.note(posted.lines[0]) }
        let given = Pages("given")
        let made = try await pool.submit(key: "k") { Pages(given.lines[0], "made") }
        made.lines.append("here")
        #expect(made.lines == ["given", "made", "here"])
        #expect(trace.all == ["posted"])
    }
}
