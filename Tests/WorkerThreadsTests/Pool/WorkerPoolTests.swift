// Several threads under one name: order, priorities, members by name, cancelling, and the end.

import Kernel
import RunLoops
import RunLoopsTesting
import Support
import Testing
import WorkerThreads

@Suite struct `Worker pool` {
    @Test(.timeLimit(.minutes(2)))
    func `one thread runs everything in order, high before normal before low`() throws {
        let pool = try WorkerPool(name: "one")
        let trace = Trace()
        let gate = try hold(pool)
        for (number, priority) in [SubmitPriority.low, .normal, .high, .normal, .high].enumerated()
        {
            try pool.post(priority: priority) { trace.note("\(priority) \(number)") }
        }
        #expect(pool.waitingCount == 5)
        gate.open()
        pool.stop(.finishQueued)
        pool.join()
        #expect(trace.all == ["high 2", "high 4", "normal 1", "normal 3", "low 0"])
    }

    @Test(.timeLimit(.minutes(2)))
    func `an idle member takes the next, also while all others are busy`() throws {
        let pool = try WorkerPool(name: "mail", count: 3)
        #expect(pool.members.map(\.name) == ["mail/1", "mail/2", "mail/3"])
        let gates = try [hold(pool), hold(pool)]
        let ran = Latch()
        let name = Shared<String?>(nil)
        try pool.post {
            name.set(WorkerThread.currentName)
            ran.open()
        }
        ran.wait()
        #expect(name.value?.hasPrefix("mail/") == true)
        for gate in gates { gate.open() }
    }

    @Test(.timeLimit(.minutes(2)), arguments: [0, 1, 2])
    func `a member that is busy with a submit of its own is not counted on`(busy: Int) throws {
        let pool = try WorkerPool(name: "mail", count: 3)
        let others = pool.members.filter { $0 !== pool.members[busy] }
        rest(pool.members)
        let own = try pool.members[busy].hold()
        // As many as there are others: whichever member is asked first, the busy one would be among
        // them.
        let gates = try (0..<2).map { _ in try hold(pool) }
        for gate in gates { gate.open() }
        rest(others)
        // A key goes to the member that has the least to do, the first of several.
        let ran = Latch()
        try pool.post(key: "k") { ran.open() }
        ran.wait()
        own.open()
        rest(pool.members)
        // It is one of those that rest again.
        let all = try (0..<3).map { _ in try hold(pool) }
        for gate in all { gate.open() }
    }

    /// Waits until threads have looked at everything that they could do, and sleep.
    private func rest(_ threads: [WorkerThread]) {
        for thread in threads {
            while !thread.runLoop.isWaiting { SystemThread.yield() }
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `an addressed member runs it itself, though others are idle`() async throws {
        let pool = try WorkerPool(name: "mail", count: 3)
        for number in 1...3 {
            let name = try await pool.submit(onThread: "mail/\(number)") {
                WorkerThread.currentName
            }
            #expect(name == "mail/\(number)")
        }
        let gate = try hold(pool, "mail/2")
        let trace = Trace()
        try pool.enqueue(onThread: "mail/2") { trace.note("after the gate") }
        _ = try await pool.submit(onThread: "mail/1") {}
        #expect(trace.all.isEmpty)
        #expect(pool.waitingCount == 1)
        gate.open()
        _ = try await pool.submit(onThread: "mail/2") {}
        #expect(trace.all == ["after the gate"])
        #expect(pool.member(named: "mail/3") === pool.members[2])
        #expect(pool.member(named: "mail/4") == nil)
    }

    @Test(.timeLimit(.minutes(2)))
    func `a name that no thread has is refused`() async throws {
        let pool = try WorkerPool(name: "app", threads: ["images", "ledger"])
        #expect(refusal { try pool.post(onThread: "app/1") {} } == .noThread("app/1"))
        await #expect(throws: SubmitError.noThread("mail")) {
            try await pool.submit(onThread: "mail") { 1 }
        }
        #expect(try await pool.submit(onThread: "app") { 1 } == 1)
        #expect(try await pool.submit(onThread: "ledger") { WorkerThread.currentName } == "ledger")
    }

    @Test(.timeLimit(.minutes(2)))
    func `the limit counts what waits in all queues, and one more is refused`() throws {
        let pool = try WorkerPool(name: "small", count: 2, maxQueued: 2)
        let gates = try [hold(pool, "small/1"), hold(pool, "small/2")]
        try pool.post(onThread: "small/1") {}
        let ticket = try pool.enqueue {}
        let full = SubmitError.full(thread: "small", limit: 2)
        #expect(refusal { try pool.post {} } == full)
        #expect(refusal { try pool.post(onThread: "small/2") {} } == full)
        #expect(pool.cancel(ticket))
        #expect(refusal { try pool.post {} } == nil)
        for gate in gates { gate.open() }
    }

    @Test(.timeLimit(.minutes(2)))
    func `a cancelled item never runs, a taken one cannot be cancelled`() async throws {
        let pool = try WorkerPool(name: "cancelled")
        let other = try WorkerPool(name: "other", count: 4)
        let trace = Trace()
        let gate = try hold(pool)
        let ticket = try pool.enqueue { trace.note("cancelled") }
        let kept = try pool.enqueue { trace.note("kept") }
        #expect(!other.cancel(ticket))
        #expect(pool.cancel(ticket))
        #expect(!pool.cancel(ticket))
        gate.open()
        _ = try await pool.submit {}
        #expect(!pool.cancel(kept))
        #expect(trace.all == ["kept"])
    }

    @Test(.timeLimit(.minutes(2)))
    func `the ticket of a pool that is gone takes nothing back from a later one`() throws {
        // Later ones come to lie where earlier ones were, if not each time.
        var earlier: [WorkerPool.Ticket] = []
        for _ in 0..<50 {
            let pool = try WorkerPool(name: "passing")
            pool.pause()
            let ticket = try pool.enqueue {}
            #expect(!earlier.contains(ticket))
            #expect(!earlier.contains { pool.cancel($0) })
            earlier.append(ticket)
            pool.stop()
            pool.join()
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `cancel says true if and only if the item never ran, under contention`() throws {
        let pool = try WorkerPool(name: "contended", count: 2)
        let itemCount = 2_000
        let ran = Shared(Array(repeating: 0, count: itemCount))
        let cancelled = Shared(Array(repeating: 0, count: itemCount))
        let tickets = Shared<[WorkerPool.Ticket]>([])
        for number in 0..<itemCount {
            let ticket = try pool.enqueue { ran.change { $0[number] += 1 } }
            tickets.change { $0.append(ticket) }
        }
        let cancellers = try (0..<2).map { try WorkerThread(name: "canceller \($0)") }
        let all = tickets.value
        for (index, canceller) in cancellers.enumerated() {
            try canceller.post {
                for number in stride(from: itemCount - 1 - index, to: 0, by: -3)
                where pool.cancel(all[number]) {
                    cancelled.change { $0[number] += 1 }
                }
            }
        }
        for canceller in cancellers {
            canceller.stop(.finishQueued)
            canceller.join()
        }
        pool.stop(.finishQueued)
        pool.join()
        let sums = zip(ran.value, cancelled.value).map { $0 + $1 }
        #expect(sums == Array(repeating: 1, count: itemCount))
        #expect(pool.waitingCount == 0 && pool.abandonedCount == 0)
    }

    @Test(.timeLimit(.minutes(2)))
    func `while one member is paused, the others take the shared work`() async throws {
        let pool = try WorkerPool(name: "mail", count: 2)
        pool.members[0].pause()
        let trace = Trace()
        try pool.enqueue(onThread: "mail/1") { trace.note("own") }
        for _ in 0..<50 {
            let name = try await pool.submit { WorkerThread.currentName }
            #expect(name == "mail/2")
        }
        #expect(trace.all.isEmpty)
        pool.members[0].resume()
        _ = try await pool.submit(onThread: "mail/1") {}
        #expect(trace.all == ["own"])
    }

    @Test(.timeLimit(.minutes(2)))
    func `pausing the pool holds everything, resuming loses nothing`() throws {
        let pool = try WorkerPool(name: "mail", count: 3)
        let ran = Shared(0)
        for round in 0..<50 {
            pool.pause()
            for _ in 0..<4 { try pool.post { ran.change { $0 += 1 } } }
            if round % 3 == 0 { pool.members[round % 3].resume() }
            pool.resume()
        }
        pool.stop(.finishQueued)
        pool.join()
        #expect(ran.value == 200)
        #expect(pool.abandonedCount == 0)
    }

    @Test(.timeLimit(.minutes(2)), arguments: [1, 2])
    func `a pool stopped as soon as it is started answers everybody`(count: Int) async throws {
        for round in 0..<50 {
            let pool = try WorkerPool(name: "brief", count: count)
            let ran = Shared(0)
            for _ in 0..<3 { _ = try pool.enqueue { ran.change { $0 += 1 } } }
            let task = Task { try await pool.submit { 1 } }
            pool.stop(round % 2 == 0 ? .finishQueued : .finishCurrent)
            _ = await task.result
            pool.join()
            #expect(ran.value <= 3)
            if round % 2 == 0 { #expect(ran.value == 3) }
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `a stop refuses later work, and tells those whose turn never came`() async throws {
        let pool = try WorkerPool(name: "mail", count: 2)
        let gates = try [hold(pool, "mail/1"), hold(pool, "mail/2")]
        let own = Task { try await pool.submit(onThread: "mail/1") { 1 } }
        let shared = Task { try await pool.submit { 2 } }
        while pool.waitingCount < 2 { await Task.yield() }
        pool.stop(.finishCurrent)
        let refused = refusal { _ = try pool.enqueue {} }
        #expect(refused == .stopped(thread: "mail"))
        for gate in gates { gate.open() }
        await #expect(throws: SubmitError.self) { try await own.value }
        await #expect(throws: SubmitError.self) { try await shared.value }
        pool.join()
        #expect(pool.abandonedCount == 2)
    }

    @Test(.timeLimit(.minutes(2)))
    func `a member that stops alone leaves the shared work to the others`() async throws {
        let pool = try WorkerPool(name: "mail", count: 2)
        let gate = try hold(pool, "mail/1")
        let trace = Trace()
        try pool.enqueue(onThread: "mail/1") { trace.note("own") }
        pool.members[0].stop(.finishQueued)
        let refused = refusal { _ = try pool.enqueue(onThread: "mail/1") {} }
        #expect(refused == .stopped(thread: "mail/1"))
        for _ in 0..<20 { #expect(try await pool.submit { WorkerThread.currentName } == "mail/2") }
        gate.open()
        pool.members[0].join()
        #expect(trace.all == ["own"])
        pool.members[1].stop(.finishCurrent)
        pool.members[1].join()
        await #expect(throws: SubmitError.stopped(thread: "mail")) { try await pool.submit { 1 } }
    }

    @Test(.timeLimit(.minutes(2)))
    func `shared work is never left lying by a member that stops`() async throws {
        for round in 0..<40 {
            let pool = try WorkerPool(name: "mail", count: 2)
            let ran = Latch()
            pool.members[round % 2].stop(.finishCurrent)
            _ = try pool.enqueue { ran.open() }
            ran.wait()
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `letting go of a pool stops its threads`() throws {
        var pool: WorkerPool? = try WorkerPool(name: "left", count: 2)
        let watched = WeakReference(try #require(pool))
        let loops = try #require(pool).members.map { WeakReference($0.runLoop) }
        pool = nil
        #expect(watched.object == nil)
        for loop in loops { while loop.object != nil {} }
    }

    @Test(.timeLimit(.minutes(2)))
    func `a pool let go of leaves its work to a member that is held`() throws {
        var pool: WorkerPool? = try WorkerPool(name: "left", count: 2)
        let held = try #require(pool?.members[1])
        for member in [1, 0] { try rest(try #require(pool), member) }
        let ran = Latch()
        // Member 0 has rested last: it is the one that has to be woken, and never is.
        let owed = try #require(pool).submitOwingWake { ran.open() }.owed
        #expect(owed != nil)
        pool = nil
        ran.wait()
        held.stop()
        held.join()
    }

    @Test(.timeLimit(.minutes(2)), arguments: [nil, "nested"])
    func `a run nested in work goes on with what waits and what comes`(name: String?) throws {
        let pool = try WorkerPool(name: "nested")
        let trace = Trace()
        let isAsleep = Latch()
        let ended = Latch()
        let gate = try hold(pool)
        try pool.enqueue(onThread: name) {
            let loop = ThreadRunLoop.current
            trace.note("begin")
            _ = loop.run(mode: .default, until: .distantPast)
            trace.note("asleep")
            loop.perform { isAsleep.open() }
            let result = loop.run(mode: .default, for: .seconds(1_000))
            trace.note("\(result)")
            ended.open()
        }
        try pool.enqueue(onThread: name) { trace.note("behind") }
        gate.open()
        isAsleep.wait()
        try pool.enqueue(onThread: name) {
            trace.note("new")
            ThreadRunLoop.current.stop()
        }
        ended.wait()
        #expect(trace.all == ["begin", "behind", "asleep", "new", "stopped"])
    }

    @Test(.timeLimit(.minutes(2)))
    func `a member told to stop in a run nested in work takes no shared work`() throws {
        let pool = try WorkerPool(name: "p", count: 2)
        let leaving = pool.members[0]
        let other = try pool.members[1].hold()
        let nested = Latch()
        let gate = Gate()
        let names = Shared<Set<String>>([])
        try pool.post {
            let loop = ThreadRunLoop.current
            loop.perform { nested.open() }
            _ = loop.run(for: .seconds(1_000))
            gate.pass()
        }
        nested.wait()
        leaving.stop(.finishQueued)
        gate.reached.wait()
        for _ in 0..<10 {
            try pool.post { names.change { $0.insert(WorkerThread.currentName ?? "?") } }
        }
        gate.open()
        leaving.join()
        #expect(names.value.isEmpty)
        other.open()
        pool.stop(.finishQueued)
        pool.join()
        #expect(names.value == [pool.members[1].name])
    }

    /// Has a member work, and waits until it rests.
    private func rest(_ pool: WorkerPool, _ member: Int) throws {
        let ran = Latch()
        try pool.post(onThread: pool.members[member].name) { ran.open() }
        ran.wait()
        // Answered after the batch that the work was in.
        _ = pool.members[member].described()
    }

    /// Keeps one member, or the addressed one, busy.
    private func hold(_ pool: WorkerPool, _ name: String? = nil) throws -> Gate {
        let gate = Gate()
        try pool.post(onThread: name) { gate.pass() }
        gate.reached.wait()
        return gate
    }
}
