// A full bounded queue, in each of its three ways; of a thread and of a pool.

import Kernel
import RunLoops
import RunLoopsTesting
import Support
import Synchronization
import Testing
import WorkerThreads

/// Submits on a thread of its own and tells what became of it.
private final class Sender: Sendable {
    private let thread: TestThread
    private let outcome = Shared<SubmitError?>(nil)
    private let isDone = Latch()

    init(_ submit: @escaping @Sendable () throws -> Void) throws {
        let outcome = outcome
        let isDone = isDone
        thread = try TestThread(name: "sender") {
            outcome.set(refusal(submit))
            isDone.open()
        }
    }

    var isBlocked: Bool { !isDone.isOpen }

    func end() -> SubmitError? {
        isDone.wait()
        thread.join()
        return outcome.value
    }
}

/// Begins a task that waits in a line, and cancels it there.
private func cancelledInLine(
    of length: () -> Int, _ submit: @escaping @Sendable () async throws -> Void
) async {
    let before = length()
    let task = Task { try await submit() }
    // A new sender may take the place of many that have left.
    while length() == before { await Task.yield() }
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
}

@Suite(.timeLimit(.minutes(2))) struct `A full worker` {
    @Test func `refuses, unless it is told otherwise`() throws {
        let worker = try WorkerThread(name: "small", maxQueued: 2)
        let gate = try worker.hold()
        try worker.post {}
        try worker.post {}
        let refused = refusal { try worker.post {} }
        #expect(refused == .full(thread: "small", limit: 2))
        #expect(worker.waitingCount == 2)
        gate.open()
        try worker.settle()
        try worker.post {}
    }

    @Test func `drops the oldest, and tells who waited for it`() async throws {
        let worker = try WorkerThread(name: "latest", maxQueued: 3, whenFull: .dropOldest)
        let gate = try worker.hold()
        let trace = Trace()
        let told = Shared<SubmitError?>(nil)
        let task = Task<Int, Never> {
            do { return try await worker.submit { 1 } } catch {
                told.set(error as? SubmitError)
                return 0
            }
        }
        while worker.waitingCount < 1 { await Task.yield() }
        for number in 2...9 { try worker.enqueue { trace.note("\(number)") } }
        #expect(await task.value == 0)
        #expect(told.value == .dropped(thread: "latest"))
        #expect(worker.waitingCount == 3)
        #expect(worker.droppedCount == 6)
        gate.open()
        try worker.settle()
        #expect(trace.all == ["7", "8", "9"])
        #expect(worker.droppedCount == 6)
    }

    @Test func `does not count what was cancelled as dropped`() throws {
        let worker = try WorkerThread(name: "latest", maxQueued: 1, whenFull: .dropOldest)
        let gate = try worker.hold()
        let ticket = try worker.enqueue { Issue.record("it was cancelled") }
        #expect(worker.cancel(ticket))
        try worker.post {}
        #expect(worker.droppedCount == 0)
        gate.open()
        try worker.settle()
    }

    @Test func `holds senders back until there is room, in their order`() throws {
        let worker = try WorkerThread(name: "patient", maxQueued: 1, whenFull: .wait)
        let trace = Trace()
        let gate = try worker.hold()
        try worker.post { trace.note("first") }
        var senders: [Sender] = []
        for number in 0..<4 {
            senders.append(try Sender { try worker.post { trace.note("sender \(number)") } })
            // In line before the next one comes.
            while worker.newcomerCount <= number { SystemThread.yield() }
        }
        #expect(senders.allSatisfy { $0.isBlocked })
        #expect(worker.waitingCount == 1)
        gate.open()
        for sender in senders { #expect(sender.end() == nil) }
        try worker.settle()
        #expect(trace.all == ["first"] + (0..<4).map { "sender \($0)" })
    }

    @Test func `suspends tasks, blocks none of their threads`() async throws {
        let worker = try WorkerThread(name: "patient", maxQueued: 2, whenFull: .wait)
        let gate = try worker.hold()
        // Far more than the tasks have threads.
        let sum = try await withThrowingTaskGroup(of: Int.self) { group in
            for number in 1...300 { group.addTask { try await worker.submit { number } } }
            while worker.newcomerCount < 298 { await Task.yield() }
            gate.open()
            return try await group.reduce(0, +)
        }
        #expect(sum == 300 * 301 / 2)
    }

    @Test func `refuses on its own thread what it would wait for`() throws {
        let worker = try WorkerThread(name: "patient", maxQueued: 1, whenFull: .wait)
        let outcome = Shared<SubmitError?>(nil)
        try worker.submitAndWait {
            try worker.post {}
            outcome.set(refusal { try worker.post {} })
        }
        #expect(outcome.value == .full(thread: "patient", limit: 1))
    }

    @Test(arguments: [StopPolicy.finishQueued, .finishCurrent])
    func `tells those who wait for room that it stops`(_ policy: StopPolicy) async throws {
        let worker = try WorkerThread(name: "patient", maxQueued: 1, whenFull: .wait)
        let gate = try worker.hold()
        let ran = Flag()
        try worker.enqueue { ran.clear() }
        let sender = try Sender { try worker.post { Issue.record("there was no room") } }
        let task = Task { try await worker.submit { Issue.record("there was no room") } }
        while worker.newcomerCount < 2 { await Task.yield() }
        worker.stop(policy)
        // Also before the thread has got round to it.
        #expect(sender.end() == .stopped(thread: "patient"))
        await #expect(throws: SubmitError.stopped(thread: "patient")) { try await task.value }
        gate.open()
        worker.join()
        #expect(ran.isSet == (policy == .finishCurrent))
        #expect(worker.abandonedCount == (policy == .finishCurrent ? 1 : 0))
    }

    @Test func `is not filled by tasks that are cancelled while they wait for room`() async throws {
        let worker = try WorkerThread(name: "patient", maxQueued: 1, whenFull: .wait)
        let gate = try worker.hold()
        try worker.enqueue {}
        for _ in 0..<1_000 {
            await cancelledInLine(of: { worker.newcomerCount }) { try await worker.submit {} }
        }
        #expect(worker.newcomerCount <= 64)
        gate.open()
    }

    @Test func `forgets a task that is cancelled while it waits for room`() async throws {
        let worker = try WorkerThread(name: "patient", maxQueued: 1, whenFull: .wait)
        let gate = try worker.hold()
        try worker.enqueue {}
        let task = Task { try await worker.submit { Issue.record("it was cancelled") } }
        while worker.newcomerCount < 1 { await Task.yield() }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        gate.open()
        try worker.settle()
    }

    @Test(arguments: [WhenFull.wait, .dropOldest])
    func `keeps what each thread sends in order, and loses no account`(_ way: WhenFull) throws {
        let worker = try WorkerThread(name: "busy", maxQueued: 8, whenFull: way)
        let perSender = 3_000
        let next = Mutex([Int](repeating: 0, count: 4))
        let ran = Counter()
        let misplaced = Counter()
        let senders = try (0..<4).map { sender in
            try Sender {
                for number in 0..<perSender {
                    try worker.post { @Sendable in
                        ran.increment()
                        let isInOrder = next.withLock { next in
                            defer { next[sender] = number + 1 }
                            return number >= next[sender]
                        }
                        if !isInOrder { misplaced.increment() }
                    }
                }
            }
        }
        for sender in senders { #expect(sender.end() == nil) }
        worker.stop(.finishQueued)
        worker.join()
        #expect(misplaced.count == 0)
        #expect(ran.count + worker.droppedCount == 4 * perSender)
        if way == .wait { #expect(worker.droppedCount == 0) }
    }
}

@Suite(.timeLimit(.minutes(2))) struct `A full pool` {
    @Test func `drops the oldest of the lowest priority, never one that goes first`() throws {
        let pool = try WorkerPool(name: "images", maxQueued: 3, whenFull: .dropOldest)
        let trace = Trace()
        let gate = try pool.members[0].hold()
        try pool.post(priority: .high) { trace.note("high 1") }
        try pool.post(priority: .low) { trace.note("low") }
        try pool.post { trace.note("normal 1") }
        try pool.post { trace.note("normal 2") }
        try pool.post(priority: .high) { trace.note("high 2") }
        #expect(pool.droppedCount == 2)
        try pool.post(priority: .high) { trace.note("high 3") }
        let refused = refusal { try pool.post(priority: .low) {} }
        #expect(refused == .full(thread: "images", limit: 3))
        #expect(pool.droppedCount == 3)
        #expect(pool.waitingCount == 3)
        gate.open()
        try pool.members[0].settle()
        #expect(trace.all == ["high 1", "high 2", "high 3"])
    }

    @Test func `tells a task that its work was dropped`() async throws {
        let pool = try WorkerPool(name: "images", maxQueued: 1, whenFull: .dropOldest)
        let gate = try pool.members[0].hold()
        let task = Task { try await pool.submit { Issue.record("it was dropped") } }
        while pool.waitingCount < 1 { await Task.yield() }
        try pool.enqueue {}
        await #expect(throws: SubmitError.dropped(thread: "images")) { try await task.value }
        gate.open()
    }

    @Test func `holds senders back until there is room`() async throws {
        let pool = try WorkerPool(name: "mail", count: 2, maxQueued: 1, whenFull: .wait)
        let gates = try pool.members.map { try $0.hold() }
        let ran = Counter()
        try pool.enqueue { ran.increment() }
        let senders = try (0..<3).map { _ in
            try Sender { try pool.post { ran.increment() } }
        }
        let tasks = (0..<3).map { number in
            Task { try await pool.submit(onThread: "mail/2") { number } }
        }
        while pool.newcomerCount < 6 { await Task.yield() }
        #expect(pool.waitingCount == 1)
        for gate in gates { gate.open() }
        for sender in senders { #expect(sender.end() == nil) }
        for (number, task) in tasks.enumerated() {
            let value = try await task.value
            #expect(value == number)
        }
        for member in pool.members { try member.settle() }
        #expect(ran.count == 4)
    }

    @Test func `gives the place of what is cancelled to who waits for it`() throws {
        let pool = try WorkerPool(name: "mail", maxQueued: 1, whenFull: .wait)
        let gate = try pool.members[0].hold()
        let ticket = try pool.enqueue { Issue.record("it was cancelled") }
        let sender = try Sender { try pool.post {} }
        while pool.newcomerCount < 1 { SystemThread.yield() }
        #expect(pool.cancel(ticket))
        #expect(sender.end() == nil)
        #expect(pool.waitingCount == 1)
        gate.open()
        try pool.members[0].settle()
    }

    @Test(arguments: [nil, "a key"] as [SubmitKey?])
    func `gives no place to what was cancelled while it waited for one`(
        _ key: SubmitKey?
    ) async throws {
        let pool = try WorkerPool(name: "mail", count: 2, maxQueued: 1, whenFull: .wait)
        pool.pause()
        let ticket = try pool.enqueue { Issue.record("it was cancelled") }
        let tasks = (0..<3).map { _ in
            Task { try await pool.submit(key: key) { Issue.record("it was cancelled") } }
        }
        while pool.newcomerCount < 3 { await Task.yield() }
        for task in tasks {
            task.cancel()
            await #expect(throws: CancellationError.self) { try await task.value }
        }
        #expect(pool.cancel(ticket))
        #expect(pool.newcomerCount == 0)
        #expect(pool.waitingCount == 0)
        #expect(pool.boundKeyCount == 0)
    }

    @Test(arguments: [nil, "a key"] as [SubmitKey?])
    func `is not filled by tasks that are cancelled in its line`(_ key: SubmitKey?) async throws {
        let pool = try WorkerPool(name: "mail", count: 2, maxQueued: 1, whenFull: .wait)
        pool.pause()
        let ticket = try pool.enqueue { Issue.record("it was cancelled") }
        for _ in 0..<1_000 {
            await cancelledInLine(of: { pool.newcomerCount }) {
                try await pool.submit(key: key) {}
            }
        }
        #expect(pool.newcomerCount <= 64)
        #expect(pool.cancel(ticket))
        #expect(pool.newcomerCount == 0)
        #expect(pool.boundKeyCount == 0)
    }

    @Test func `refuses on its own threads what it would wait for`() throws {
        let pool = try WorkerPool(name: "mail", maxQueued: 1, whenFull: .wait)
        let outcome = Shared<SubmitError?>(nil)
        let done = Latch()
        try pool.post {
            outcome.set(
                refusal {
                    try pool.post {}
                    try pool.post {}
                })
            done.open()
        }
        done.wait()
        #expect(outcome.value == .full(thread: "mail", limit: 1))
    }

    @Test(arguments: [true, false])
    func `tells those who wait that it stops, or that their member does`(_ all: Bool) async throws {
        let pool = try WorkerPool(name: "mail", count: 2, maxQueued: 1, whenFull: .wait)
        let gates = try pool.members.map { try $0.hold() }
        try pool.enqueue {}
        let sender = try Sender { try pool.post(onThread: "mail/2") {} }
        let task = Task { try await pool.submit(onThread: "mail/2") {} }
        while pool.newcomerCount < 2 { await Task.yield() }
        if all { pool.stop() } else { pool.members[1].stop() }
        if !all { gates[1].open() }
        #expect(sender.end() == .stopped(thread: "mail/2"))
        await #expect(throws: SubmitError.stopped(thread: "mail/2")) { try await task.value }
        for gate in gates { gate.open() }
    }
}
