// A pool goes on without a thread that does not come back.

import Kernel
import RunLoopsTesting
import Support
import Synchronization
import Testing
import WorkerThreads

@Suite struct `A replaced member` {
    @Test(.timeLimit(.minutes(2)))
    func `leaves what waits for it to a fresh thread of its name, in order`() async throws {
        let pool = try WorkerPool(name: "mail", count: 2)
        let gate = Gate()
        let trace = Trace()
        try pool.enqueue(onThread: "mail/1") {
            gate.pass()
            trace.note("late")
        }
        gate.reached.wait()
        for number in 1...3 {
            try pool.enqueue(onThread: "mail/1") {
                trace.note("\(WorkerThread.currentName ?? "?") \(number)")
            }
        }
        let (old, fresh) = try #require(try pool.replaceMember(named: "mail/1"))
        #expect(old !== fresh)
        #expect(pool.members.map(\.name) == ["mail/1", "mail/2"])
        #expect(pool.members[0] === fresh)
        #expect(pool.member(named: "mail/1") === fresh)
        let isFresh = try await pool.submit(onThread: "mail/1") { fresh.isCurrent }
        #expect(isFresh)
        #expect(trace.all == ["mail/1 1", "mail/1 2", "mail/1 3"])
        // The old one comes back, takes nothing and ends.
        gate.open()
        old.join()
        #expect(trace.all.last == "late")
        for _ in 0..<100 {
            let isFresh = try await pool.submit(onThread: "mail/1") { fresh.isCurrent }
            #expect(isFresh)
        }
        pool.stop(.finishQueued)
        pool.join()
    }

    @Test(.timeLimit(.minutes(2)))
    func `is told to stop before it can begin what the stop takes from it`() throws {
        for _ in 0..<50 {
            let pool = try WorkerPool(name: "mail", count: 2)
            let gate = Gate()
            let trace = Trace()
            try pool.post(onThread: "mail/1") { gate.pass() }
            gate.reached.wait()
            try pool.post(onThread: "mail/1") { trace.note("began") }
            pool.members[0].stop(.finishCurrent)
            let (old, fresh) = try #require(try pool.replaceMember(named: "mail/1"))
            fresh.join()
            #expect(trace.all.isEmpty)
            #expect(pool.abandonedCount == 1)
            gate.open()
            old.join()
            pool.stop()
            pool.join()
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `takes nothing more though it comes back while much waits`() throws {
        let pool = try WorkerPool(name: "one")
        for _ in 0..<20 {
            let gate = Gate()
            try pool.post { gate.pass() }
            gate.reached.wait()
            let trace = Trace()
            let done = Latch()
            let (old, fresh) = try #require(try pool.replaceMember(named: "one"))
            gate.open()
            for number in 0..<200 {
                try pool.post {
                    if !fresh.isCurrent { trace.note("\(number) on the old one") }
                    if number == 199 { done.open() }
                }
            }
            done.wait()
            old.join()
            #expect(trace.all.isEmpty)
        }
        #expect(pool.waitingCount == 0)
        pool.stop(.finishQueued)
        pool.join()
    }

    @Test(.timeLimit(.minutes(2)))
    func `stays paused, and stopped as it was told`() throws {
        let pool = try WorkerPool(name: "one")
        let gate = Gate()
        try pool.post { gate.pass() }
        gate.reached.wait()
        pool.pause()
        let trace = Trace()
        try pool.post { trace.note("held") }
        let (old, fresh) = try #require(try pool.replaceMember(named: "one"))
        #expect(fresh.isPaused)
        fresh.waitUntilRunning(in: .paused)
        #expect(trace.all.isEmpty)
        pool.resume()
        pool.stop(.finishQueued)
        pool.join()
        #expect(trace.all == ["held"])
        gate.open()
        old.join()
    }

    @Test(.timeLimit(.minutes(2)), arguments: [1, 2])
    func `never makes the pool refuse what comes at the same moment`(count: Int) throws {
        for _ in 0..<150 {
            let pool = try WorkerPool(name: "mail", count: count)
            let isOver = Atomic(false)
            let sentCount = Atomic(0)
            let refusals = Mutex<[SubmitError]>([])
            let senders = try (0..<2).map { _ in
                try TestThread(name: "sender") {
                    while !isOver.load(ordering: .relaxed) {
                        let number = sentCount.wrappingAdd(1, ordering: .relaxed).newValue
                        do throws(SubmitError) {
                            try pool.post(key: SubmitKey("\(number % 10)")) {}
                        } catch {
                            refusals.withLock { $0.append(error) }
                        }
                    }
                }
            }
            func untilSent(_ more: Int) {
                let goal = sentCount.load(ordering: .relaxed) + more
                while sentCount.load(ordering: .relaxed) < goal { SystemThread.yield() }
            }
            untilSent(200)
            try pool.replaceMember(named: count == 1 ? "mail" : "mail/1")
            untilSent(200)
            isOver.store(true, ordering: .relaxed)
            for sender in senders { sender.join() }
            #expect(refusals.withLock { $0 }.isEmpty)
            pool.stop()
            pool.join()
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `is paused with the others by whoever pauses the pool at the same moment`() throws {
        let pool = try WorkerPool(name: "mail", count: 2)
        for round in 0..<100 {
            let pauser = try TestThread(name: "pauser") { pool.pause() }
            try pool.replaceMember(named: "mail/\(round % 2 + 1)")
            pauser.join()
            let arePaused = pool.members.allSatisfy(\.isPaused)
            #expect(arePaused)
            pool.resume()
        }
        for name in ["mail", "mail/3"] {
            let isNobody = try pool.replaceMember(named: name) == nil
            #expect(isNobody)
        }
        pool.stop()
        pool.join()
    }

    @Test(.timeLimit(.minutes(2)))
    func `that was told to stop is replaced by one that finishes what waits`() throws {
        let pool = try WorkerPool(name: "one")
        let gate = Gate()
        try pool.post { gate.pass() }
        gate.reached.wait()
        let trace = Trace()
        try pool.post { trace.note("waited") }
        pool.stop(.finishQueued)
        let (old, _) = try #require(try pool.replaceMember(named: "one"))
        pool.join()
        #expect(trace.all == ["waited"])
        gate.open()
        old.join()
        #expect(trace.all == ["waited"])
    }

    @Test(.timeLimit(.minutes(2)))
    func `that is replaced while somebody waits for the pool's end is waited for no more`() throws {
        for round in 0..<20 {
            let pool = try WorkerPool(name: "one")
            let hangs = Gate()
            try pool.post { hangs.pass() }
            hangs.reached.wait()
            let lasts = Gate()
            try pool.post { lasts.pass() }
            pool.stop(.finishQueued)
            let begun = Latch()
            let joined = Latch()
            let joiner = try TestThread(name: "joiner") {
                begun.open()
                pool.join()
                joined.open()
            }
            begun.wait()
            for _ in 0..<100 { SystemThread.yield() }
            let (old, _) = try #require(try pool.replaceMember(named: "one"))
            lasts.reached.wait()
            if round.isMultiple(of: 2) {
                hangs.open()
                old.join()
            }
            for _ in 0..<100 { SystemThread.yield() }
            #expect(!joined.isOpen)
            lasts.open()
            joiner.join()
            hangs.open()
            old.join()
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `that is replaced while a task waits for the pool's end is waited for no more`()
        async throws
    {
        let pool = try WorkerPool(name: "one")
        let hangs = Gate()
        try pool.enqueue { hangs.pass() }
        hangs.reached.wait()
        let lasts = Gate()
        try pool.enqueue { lasts.pass() }
        pool.stop(.finishQueued)
        let ended = Task {
            try await pool.ended()
            return pool.members[0].hasEnded
        }
        let impatient = Task { try await pool.ended() }
        impatient.cancel()
        await #expect(throws: CancellationError.self) { try await impatient.value }
        let (old, fresh) = try #require(try pool.replaceMember(named: "one"))
        lasts.reached.wait()
        #expect(!fresh.hasEnded)
        lasts.open()
        #expect(try await ended.value)
        #expect(!old.hasEnded)
        hangs.open()
        try await old.ended()
    }

    @Test(.timeLimit(.minutes(2)))
    func `that has ended is replaced by one that takes nothing either`() throws {
        let pool = try WorkerPool(name: "mail", count: 2)
        pool.members[0].stop(.finishQueued)
        pool.members[0].join()
        pool.members[1].pause()
        pool.members[1].waitUntilRunning(in: .paused)
        let name = Shared<String?>(nil)
        try pool.post { name.set(WorkerThread.currentName) }
        let (_, fresh) = try #require(try pool.replaceMember(named: "mail/1"))
        fresh.join()
        #expect(name.value == nil)
        pool.resume()
        pool.stop(.finishQueued)
        pool.join()
        #expect(name.value == "mail/2")
    }

    @Test(.timeLimit(.minutes(2)))
    func `leaves behind the count of what never ran on it`() throws {
        let pool = try WorkerPool(name: "one")
        pool.pause()
        try pool.post { Issue.record("its thread was stopped") }
        let member = pool.members[0]
        member.stop(.finishCurrent)
        member.join()
        #expect(pool.abandonedCount == 1)
        try pool.replaceMember(named: "one")
        #expect(pool.abandonedCount == 1)
        pool.join()
        #expect(pool.abandonedCount == 1)
    }

    @Test(.timeLimit(.minutes(2)))
    func `says where it hangs`() throws {
        let worker = try WorkerThread(name: "hangs")
        // So that it can be asked, whichever signals the thread of this test holds back.
        worker.isMeasured = true
        let gate = try worker.hold()
        var places = worker.backtrace()
        // It has a second to answer, and is asked again if the machine holds it up for that long.
        for _ in 1..<60 where places.isEmpty { places = worker.backtrace() }
        #expect(places.contains { $0.contains("Gate.pass") }, "\(places)")
        gate.open()
    }

    @Test(.timeLimit(.minutes(2)))
    func `members are replaced while work is submitted, keyed, cancelled and paused`() throws {
        let pool = try WorkerPool(name: "mix", count: 3)
        let (ran, cancelled, taken) = (Counter(), Counter(), Counter())
        let isOver = Flag(false)
        let senders = try (0..<2).map { index in
            try TestThread(name: "sender \(index)") {
                for number in 0..<600 {
                    let isOfMember = number % 4 == 0
                    guard
                        let ticket = try? pool.enqueue(
                            onThread: isOfMember ? "mix/\(number % 3 + 1)" : "mix",
                            key: isOfMember ? nil : SubmitKey("k\(number % 5)"),
                            { ran.increment() })
                    else { continue }
                    taken.increment()
                    if number % 7 == 0, pool.cancel(ticket) { cancelled.increment() }
                }
            }
        }
        let steerer = try TestThread(name: "steerer") {
            while !isOver.isSet {
                for member in pool.members {
                    member.pause()
                    member.resume()
                }
            }
        }
        for round in 0..<60 { try pool.replaceMember(named: "mix/\(round % 3 + 1)") }
        senders.forEach { $0.join() }
        isOver.set()
        steerer.join()
        pool.resume()
        pool.stop(.finishQueued)
        pool.join()
        #expect(ran.count + cancelled.count + pool.abandonedCount == taken.count)
    }
}
