// Items with a key: one thread and their order as long as there are some, the least loaded
// otherwise.

import RunLoops
import Support
import Synchronization
import Testing
import WorkerThreads

@Suite struct `Keys of a pool` {
    @Test func `a key stays with its member while it has work, and then is free`() throws {
        var board = PoolBoard<Int>(memberCount: 3)
        let first = try #require(place(&board, 1, "a"))
        #expect(place(&board, 2, "a") == first)
        let other = try #require(place(&board, 3, "b"))
        #expect(other != first)
        #expect(board.boundKeyCount == 2)
        let taken = [board.next(for: first), board.next(for: first), board.next(for: first)]
        #expect(taken == [1, 2, nil])
        // Taken is not ended: both may still run.
        #expect(place(&board, 4, "a") == first)
        for _ in 0..<3 { board.unbind("a") }
        board.unbind("b")
        #expect(board.boundKeyCount == 0)
    }

    @Test func `a new key goes to whoever has the least to do`() throws {
        var board = PoolBoard<Int>(memberCount: 3)
        _ = board.push(1, to: .own(member: 0), lane: 1)
        let rested = board.next(for: 1)
        #expect(rested == nil)
        // 0 is busy and has one waiting, 1 is idle, 2 is busy.
        #expect(place(&board, 2, "a") == 1)
        #expect(place(&board, 3, "b") == 2)
        _ = board.push(4, to: .own(member: 2), lane: 1)
        // 1 has as much to do as the others, but was told to pause, whether the board knows or not.
        #expect(place(&board, 5, "c", paused: [1]) == 0)
        #expect(board.leave(1) == nil)
        _ = board.push(6, to: .own(member: 0), lane: 1)
        #expect(place(&board, 8, "d", paused: [1]) == 2)
        #expect(place(&board, 9, "a", paused: [1]) == 1)
    }

    @Test func `keys that come while members take note of a pause, one by one, go to all of them`()
        throws
    {
        var board = PoolBoard<Int>(memberCount: 4)
        let everybody: Set = [0, 1, 2, 3]
        for member in everybody { _ = board.next(for: member) }
        _ = board.leave(2)
        _ = board.leave(0)
        let chosen = ["a", "b", "c", "d"].map { place(&board, 1, SubmitKey($0), paused: everybody) }
        #expect(Set(chosen) == everybody)
    }

    @Test func `a member to be avoided gets a new key only if there is no other`() {
        var board = PoolBoard<Int>(memberCount: 3)
        for member in 0..<3 { _ = board.next(for: member) }
        let life: @Sendable (Int) -> LifeCycle = { _ in LifeCycle() }
        #expect(board.bind("a", besides: [0, 2], life: life) == 1)
        #expect(board.bind("b", besides: [0, 1, 2], life: life) == 0)
        // Its work comes first: the order of a key goes before everything else.
        #expect(board.bind("a", besides: [1], life: life) == 1)
    }

    @Test func `shared work that some members should not take goes to another idle one`() {
        var board = PoolBoard<Int>(memberCount: 3)
        let life: @Sendable (Int) -> LifeCycle = { _ in LifeCycle() }
        #expect(board.queue(besides: [0], life: life) == .shared)
        for member in 0..<3 { _ = board.next(for: member) }
        #expect(board.queue(besides: [], life: life) == .shared)
        #expect(board.queue(besides: [2], life: life) == .own(member: 1))
        #expect(board.queue(besides: [0, 1, 2], life: life) == .shared)
        let secondPaused: @Sendable (Int) -> LifeCycle = {
            var life = LifeCycle()
            if $0 == 1 { _ = life.pause() }
            return life
        }
        #expect(board.queue(besides: [2], life: secondPaused) == .own(member: 0))
        #expect(board.push(1, to: .own(member: 1), lane: 1).wake == 1)
        #expect(board.queue(besides: [2], life: life) == .own(member: 0))
    }

    @Test func `a member told to stop keeps its keys, and gets no new one`() throws {
        var board = PoolBoard<Int>(memberCount: 2)
        #expect(place(&board, 1, "a") == 0)
        _ = board.retire(0)
        #expect(place(&board, 2, "b") == 1)
        #expect(place(&board, 3, "c") == 1)
        #expect(place(&board, 4, "a") == 0)
        let taken = [board.next(for: 0), board.next(for: 0)]
        #expect(taken == [1, 4])
        _ = board.end(0)
        // The count of the items that ran there goes on where the next one runs.
        #expect(place(&board, 5, "a") == 1)
        for _ in 0..<3 { board.unbind("a") }
        #expect(board.boundKeyCount == 2)
        board.close()
        #expect(place(&board, 6, "a") == nil)
    }

    private func place(
        _ board: inout PoolBoard<Int>, _ work: Int, _ key: SubmitKey, paused: Set<Int> = []
    ) -> Int? {
        let chosen = board.bind(key) { member in
            var life = LifeCycle()
            if paused.contains(member) { _ = life.pause() }
            return life
        }
        guard let member = chosen else { return nil }
        _ = board.place(work, in: .own(member: member), lane: 1)
        return member
    }

    /// Where and in which order items ran.
    private final class Record: Sendable {
        let lines = Mutex<[(key: Int, number: Int)]>([])
        let running = Mutex<Set<Int>>([])
    }

    @Test(.timeLimit(.minutes(2)))
    func `each key's items run in their order and never two at a time`() throws {
        let pool = try WorkerPool(name: "p", count: 4)
        let record = Record()
        let overlaps = Counter()
        for number in 0..<2_000 {
            let key = number * 7 % 10
            try pool.post(key: SubmitKey("k\(key)")) {
                let isAlone = record.running.withLock { $0.insert(key).inserted }
                if !isAlone { overlaps.increment() }
                record.lines.withLock { $0.append((key, number)) }
                record.running.withLock { _ = $0.remove(key) }
            }
        }
        pool.stop(.finishQueued)
        pool.join()
        let lines = record.lines.withLock { $0 }
        #expect(lines.count == 2_000)
        #expect(overlaps.count == 0)
        for key in 0..<10 {
            let numbers = lines.filter { $0.key == key }.map(\.number)
            #expect(numbers == numbers.sorted() && numbers.count == 200)
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `a key whose member drops what waits is refused, not dropped`() throws {
        let pool = try WorkerPool(name: "p", count: 2)
        let gate = Gate()
        let name = Shared<String?>(nil)
        try pool.post(key: "k") {
            name.set(WorkerThread.currentName)
            gate.pass()
        }
        gate.reached.wait()
        let bound = try #require(name.value.flatMap { pool.member(named: $0) })
        bound.stop(.finishCurrent)
        #expect(refusal { try pool.post(key: "k") {} } != nil)
        let ran = Latch()
        try pool.post(key: "other") { ran.open() }
        ran.wait()
        gate.open()
        bound.join()
        let ranElsewhere = Latch()
        try pool.post(key: "k") { ranElsewhere.open() }
        ranElsewhere.wait()
        #expect(pool.abandonedCount == 0)
    }

    @Test(.timeLimit(.minutes(2)))
    func `what is cancelled, dropped or refused leaves no key bound`() throws {
        let pool = try WorkerPool(name: "p", count: 2, maxQueued: 2, whenFull: .dropOldest)
        pool.pause()
        let first = try pool.enqueue(key: "a") {}
        #expect(pool.cancel(first))
        try pool.post(key: "b") {}
        try pool.post(key: "c") {}
        try pool.post(key: "d") {}
        #expect(pool.droppedCount == 1)
        #expect(pool.boundKeyCount == 2)
        pool.stop(.finishCurrent)
        pool.join()
        #expect(pool.boundKeyCount == 0)
        #expect(throws: SubmitError.self) { try pool.post(key: "e") {} }
    }

    @Test(.timeLimit(.minutes(2)))
    func `results come back, and a key of a member's name changes nothing`() async throws {
        let pool = try WorkerPool(name: "p", count: 2)
        let sum: Int = try await pool.submit(key: "a") { 1 + 1 }
        #expect(sum == 2)
        let name: String? = try await pool.submit(onThread: "p/2", key: "a") {
            WorkerThread.currentName
        }
        #expect(name == "p/2")
        pool.stop()
        pool.join()
        #expect(pool.boundKeyCount == 0)
    }
}
