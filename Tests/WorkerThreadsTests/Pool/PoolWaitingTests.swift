// Waiting in place for what a pool runs.

import Kernel
import RunLoops
import Support
import Testing
import WorkerThreads

@Suite(.timeLimit(.minutes(2))) struct `Waiting for a pool` {
    private struct Broken: Error, Equatable {}

    @Test func `brings what the closure returns or throws, from the thread that was meant`() throws
    {
        let pool = try WorkerPool(name: "app", threads: ["images", "ledger"])
        #expect(
            try pool.submitAndWait(onThread: "ledger") { WorkerThread.currentName } == "ledger")
        let name = try pool.submitAndWait(priority: .high) { WorkerThread.currentName }
        #expect(pool.members.map(\.name).contains(name ?? ""))
        #expect(throws: Broken()) { try pool.submitAndWait { throw Broken() } }
        #expect(
            refusal { try pool.submitAndWait(onThread: "nobody") {} } == .noThread("nobody"))
        pool.stop()
        #expect(refusal { try pool.submitAndWait {} } == .stopped(thread: "app"))
        pool.join()
    }

    @Test func `runs at once, in place, on a thread that may take it`() throws {
        let pool = try WorkerPool(name: "app", threads: ["images", "ledger"])
        let names = try pool.submitAndWait(onThread: "images") {
            try [nil, "app", "images", "ledger"].map { name in
                try pool.submitAndWait(onThread: name) { WorkerThread.currentName ?? "?" }
            }
        }
        #expect(names == ["images", "images", "images", "ledger"])
    }

    @Test func `waits for room as for its turn, and is told of a stop meanwhile`() throws {
        let pool = try WorkerPool(name: "full", maxQueued: 1, whenFull: .wait)
        let gate = Gate()
        try pool.post { gate.pass() }
        gate.reached.wait()
        try pool.post {}
        let refused = Shared<SubmitError?>(nil)
        let answer = Shared(0)
        let waiting = [
            try WorkerThread(name: "waits"), try WorkerThread(name: "is refused"),
        ]
        try waiting[0].post {
            refused.set(refusal { answer.set(try pool.submitAndWait { 7 }) })
        }
        while pool.newcomerCount == 0 { SystemThread.yield() }
        gate.open()
        for worker in waiting { try worker.submitAndWait {} }
        #expect(answer.value == 7)
        #expect(refused.value == nil)

        let second = Gate()
        try pool.post { second.pass() }
        second.reached.wait()
        try pool.post {}
        try waiting[1].post { refused.set(refusal { try pool.submitAndWait {} }) }
        while pool.newcomerCount == 0 { SystemThread.yield() }
        pool.stop(.finishQueued)
        try waiting[1].submitAndWait {}
        #expect(refused.value == .stopped(thread: "full"))
        second.open()
        pool.join()
    }
}
