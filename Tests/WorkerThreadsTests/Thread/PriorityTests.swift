// Priorities in a worker's own queue: which of its waiting items runs first, whatever bounds the
// queue and however many threads submit.

import Kernel
import RunLoops
import RunLoopsTesting
import Support
import Synchronization
import Testing
import WorkerThreads

@Suite(.timeLimit(.minutes(2))) struct `A worker's priorities` {
    private static let kinds: [(maxQueued: Int, whenFull: WhenFull)] = [
        (.max, .refuse), (100, .refuse), (100, .wait), (100, .dropOldest),
    ]

    @Test(arguments: 0..<4) func `run high before normal before low, each in order`(
        kind: Int
    ) async throws {
        let worker = try WorkerThread(
            name: "ranks", maxQueued: Self.kinds[kind].maxQueued,
            whenFull: Self.kinds[kind].whenFull)
        let gate = try worker.hold()
        let trace = Trace()
        for number in 1...2 {
            for priority in SubmitPriority.allCases.reversed() {
                try worker.post(priority: priority) { trace.note("\(priority) \(number)") }
            }
        }
        #expect(worker.waitingCount == 6)
        gate.open()
        try await worker.submit(priority: .low) {}
        #expect(
            trace.all == ["high 1", "high 2", "normal 1", "normal 2", "low 1", "low 2"])
        #expect(worker.waitingCount == 0)
    }

    @Test func `are those of every way to submit`() async throws {
        let worker = try WorkerThread(name: "ranks")
        let gate = try worker.hold()
        let trace = Trace()
        let later = ContinuousClock.now + .seconds(3_600)
        try worker.post { trace.note("normal") }
        let ticket = try worker.enqueue(priority: .high) { Issue.record("it was cancelled") }
        try worker.enqueue(priority: .high) { trace.note("enqueue") }
        let thread = try TestThread(name: "asker") {
            try? worker.submitAndWait(priority: .high) { trace.note("submitAndWait") }
        }
        while worker.waitingCount < 4 { SystemThread.yield() }
        async let plain: Void = worker.submit(priority: .high) { trace.note("submit") }
        while worker.waitingCount < 5 { await Task.yield() }
        async let timely: Void = worker.submit(before: later, priority: .high) {
            trace.note("submit before")
        }
        while worker.waitingCount < 6 { await Task.yield() }
        // The asynchronous closure's turn is high; its first step is a task's.
        async let task: Void = worker.submit(priority: .high) { () async in await Task.yield() }
        while worker.waitingCount < 7 { await Task.yield() }
        #expect(worker.cancel(ticket))
        gate.open()
        _ = try await (plain, timely, task)
        thread.join()
        try worker.settle()
        #expect(
            trace.all == ["enqueue", "submitAndWait", "submit", "submit before", "normal"])
    }

    @Test func `share one limit`() throws {
        let worker = try WorkerThread(name: "small", maxQueued: 2)
        let gate = try worker.hold()
        try worker.post(priority: .low) {}
        try worker.post {}
        for priority in SubmitPriority.allCases {
            let refused = refusal { try worker.post(priority: priority) {} }
            #expect(refused == .full(thread: "small", limit: 2))
        }
        gate.open()
        try worker.settle()
        // The places of both are free again.
        let next = try worker.hold()
        for priority in [SubmitPriority.high, .low] { try worker.post(priority: priority) {} }
        #expect(worker.waitingCount == 2)
        next.open()
    }

    @Test func `say which item gives way in a full queue`() throws {
        let worker = try WorkerThread(name: "latest", maxQueued: 2, whenFull: .dropOldest)
        let gate = try worker.hold()
        let trace = Trace()
        try worker.post(priority: .low) { trace.note("low") }
        try worker.post { trace.note("normal 1") }
        try worker.post { trace.note("normal 2") }
        #expect(worker.droppedCount == 1)
        try worker.post(priority: .high) { trace.note("high") }
        #expect(worker.droppedCount == 2)
        // All that waits goes before it.
        let refused = refusal { try worker.post(priority: .low) {} }
        #expect(refused == .full(thread: "latest", limit: 2))
        gate.open()
        try worker.settle()
        #expect(trace.all == ["high", "normal 2"])
    }

    @Test func `are kept by senders that wait for room`() throws {
        let worker = try WorkerThread(name: "patient", maxQueued: 2, whenFull: .wait)
        let gate = try worker.hold()
        let trace = Trace()
        try worker.post { trace.note("normal") }
        try worker.post(priority: .low) { trace.note("low") }
        let sender = try TestThread(name: "sender") {
            try? worker.post(priority: .high) { trace.note("high") }
        }
        while worker.newcomerCount == 0 { SystemThread.yield() }
        gate.open()
        sender.join()
        try worker.submitAndWait(priority: .low) {}
        // It gets its place when the normal one leaves, and then goes before the low one.
        #expect(trace.all == ["normal", "high", "low"])
    }

    @Test func `hold in a run that is nested in an item`() throws {
        let worker = try WorkerThread(name: "nesting")
        let gate = try worker.hold()
        let trace = Trace()
        try worker.post(priority: .high) { [unowned worker] in
            trace.note("begin")
            while trace.all.count < 4 { _ = worker.runLoop.run(until: .distantPast) }
            trace.note("end")
        }
        try worker.post(priority: .low) { trace.note("low") }
        try worker.post { trace.note("normal") }
        try worker.post(priority: .high) { trace.note("high") }
        gate.open()
        // An item that is submitted now could run in the nested run as well.
        worker.stop(.finishQueued)
        worker.join()
        #expect(trace.all == ["begin", "high", "normal", "low", "end"])
    }

    @Test func `are held by a pause`() throws {
        let worker = try WorkerThread(name: "paused")
        let trace = Trace()
        worker.pause()
        for priority in SubmitPriority.allCases.reversed() {
            try worker.post(priority: priority) { trace.note("\(priority)") }
        }
        #expect(trace.all.isEmpty)
        worker.resume()
        try worker.submitAndWait(priority: .low) {}
        #expect(trace.all == ["high", "normal", "low"])
    }

    @Test(arguments: [StopPolicy.finishQueued, .finishCurrent]) func `end with the thread`(
        policy: StopPolicy
    ) throws {
        let worker = try WorkerThread(name: "leaving")
        let gate = try worker.hold()
        let trace = Trace()
        for priority in SubmitPriority.allCases.reversed() {
            try worker.post(priority: priority) { trace.note("\(priority)") }
        }
        worker.stop(policy)
        let refused = refusal { try worker.post(priority: .high) {} }
        #expect(refused == .stopped(thread: "leaving"))
        gate.open()
        worker.join()
        #expect(trace.all == (policy == .finishQueued ? ["high", "normal", "low"] : []))
        #expect(worker.abandonedCount == (policy == .finishQueued ? 0 : 3))
    }

    @Test func `order what one thread submits, while it runs`() throws {
        let worker = try WorkerThread(name: "busy")
        let overtaken = Counter()
        let ran = Counter()
        let (senderCount, roundCount) = (4, 2_000)
        let senders = try (0..<senderCount).map { _ in
            try TestThread(name: "sender") {
                for _ in 0..<roundCount {
                    // Of each sender's trio, the high one runs first and the low one last.
                    let state = Trio()
                    try? worker.post(priority: .high) { state.pass(0, overtaken) }
                    try? worker.post { state.pass(1, overtaken) }
                    try? worker.post(priority: .low) {
                        state.pass(2, overtaken)
                        ran.increment()
                    }
                }
            }
        }
        for sender in senders { sender.join() }
        worker.stop(.finishQueued)
        worker.join()
        #expect(overtaken.count == 0)
        #expect(ran.count == senderCount * roundCount)
    }
}

/// Counts the steps of one sender's trio; on the worker's thread.
private final class Trio: Sendable {
    private let passed = Atomic<Int>(0)

    func pass(_ step: Int, _ overtaken: Counter) {
        if passed.add(1, ordering: .relaxed).oldValue != step { overtaken.increment() }
    }
}
