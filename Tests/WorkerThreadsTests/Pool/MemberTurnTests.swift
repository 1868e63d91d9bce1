// The turn of a member in the hands of another thread: it takes the member's next work of one kind
// while the member's thread waits, and nothing else begins there.

import Kernel
import Support
import Synchronization
import Testing
import WorkerThreads

/// Work that the test does while the member's thread waits in its loop.
private final class Held: DelegatedWork {
    let name: String
    private let stage: Stage

    init(_ name: String, _ stage: Stage) {
        self.name = name
        self.stage = stage
    }

    func perform(in turn: MemberTurn?) {
        guard let core = WorkerCore.current else { fatalError("not on a member's thread") }
        let stay = Stay(turn, core)
        stay.listen(wanted: { [stage] in stage.wanted.increment() })
        stage.begin(name, stay)
        core.serveJob { stay.isOver }
        stage.note("goes on")
    }
}

/// A member's thread that waits.
private final class Stay: Sendable {
    let turn: MemberTurn?
    private let core: WorkerCore
    private let isReleased = Atomic<Bool>(false)

    init(_ turn: MemberTurn?, _ core: WorkerCore) {
        self.turn = turn
        self.core = core
    }

    func listen(wanted: @escaping @Sendable () -> Void) {
        turn?.whenCalled(wanted: wanted, over: { [weak self] in self?.release() })
    }

    var isOver: Bool { isReleased.load(ordering: .acquiring) }

    func release() {
        isReleased.store(true, ordering: .releasing)
        let loop = core.loop
        loop.perform(inModes: [.job]) { loop.stop() }
    }

    /// The name of the member's next work; `none`, or `over`, and then its thread goes on.
    func next(_ stage: Stage) -> String {
        switch turn?.next() ?? .over {
        case .work(let work):
            let name = (work as? Held)?.name ?? "?"
            stage.note(name)
            return name
        case .nothing: return "none"
        case .over:
            release()
            return "over"
        }
    }
}

/// A pool, the order of its events, and the threads that wait.
private final class Stage: Sendable {
    let pool: WorkerPool
    let wanted = Counter()
    private let state = Mutex(State())

    private struct State {
        var events: [String] = []
        var stays: [Stay] = []
        var waiting: [(isSo: @Sendable (State) -> Bool, latch: Latch)] = []
    }

    init(count: Int = 1) throws { pool = try WorkerPool(name: "pool", count: count) }

    deinit { pool.stop() }

    var all: [String] { state.withLock { $0.events } }

    func note(_ event: String) { change { $0.events.append(event) } }

    func begin(_ name: String, _ stay: Stay) {
        change {
            $0.events.append(name)
            $0.stays.append(stay)
        }
    }

    private func change(_ body: (inout State) -> Void) {
        state.withLock { state in
            body(&state)
            for (isSo, latch) in state.waiting where isSo(state) { latch.open() }
        }
    }

    private func wait(until isSo: @escaping @Sendable (State) -> Bool) {
        let latch = Latch()
        state.withLock { state in
            if isSo(state) { latch.open() }
            state.waiting.append((isSo, latch))
        }
        latch.wait()
    }

    func wait(forEvents count: Int) { wait { $0.events.count >= count } }

    /// Submits held work.
    func hold(_ name: String, on thread: String? = nil, key: SubmitKey? = nil) throws {
        let (_, owed) = try pool.submitOwingWake(
            onThread: thread, key: key, delegating: Held(name, self))
        owed?.pay()
    }

    func plain(_ name: String, on thread: String? = nil) throws {
        try pool.post(onThread: thread) { self.note(name) }
    }

    /// The thread that waits.
    func stay(_ index: Int = 0) -> Stay {
        wait { $0.stays.count > index }
        return state.withLock { $0.stays[index] }
    }

    /// Waits until a thread has gone on so often.
    func waitUntilGone(_ count: Int = 1) {
        wait { state in state.events.count { $0 == "goes on" } >= count }
    }
}

@Suite struct `The turn of a member` {
    @Test(.timeLimit(.minutes(2)))
    func `takes its next work of one kind, and gives way to other work, in order`() throws {
        let stage = try Stage()
        try stage.hold("1")
        let stay = stage.stay()
        try stage.hold("2")
        try stage.plain("3")
        try stage.hold("4")
        #expect(stay.next(stage) == "2")
        #expect(stage.all == ["1", "2"])
        #expect(stay.next(stage) == "over")
        stage.stay(1).release()
        stage.wait(forEvents: 6)
        #expect(stage.all == ["1", "2", "goes on", "3", "4", "goes on"])
    }

    @Test(.timeLimit(.minutes(2)))
    func `is called for work that comes while it is idle`() throws {
        let stage = try Stage()
        try stage.hold("1")
        let stay = stage.stay()
        #expect(stay.next(stage) == "none")
        #expect(stage.wanted.count == 0)
        try stage.hold("2")
        try stage.hold("3")
        #expect(stage.wanted.count == 1)
        #expect(stay.next(stage) == "2")
        #expect(stay.next(stage) == "3")
        #expect(stay.next(stage) == "none")
        try stage.plain("4")
        #expect(stage.wanted.count == 2)
        #expect(stay.next(stage) == "over")
        stage.wait(forEvents: 5)
        #expect(stage.all == ["1", "2", "3", "goes on", "4"])
        // Late calls change nothing.
        #expect(stay.turn?.isOver == true)
        #expect(stay.next(stage) == "over")
    }

    @Test(.timeLimit(.minutes(2)), arguments: [true, false])
    func `is over when its thread is paused or stopped`(isIdle: Bool) throws {
        for stops in [true, false] {
            let stage = try Stage()
            try stage.hold("1")
            let stay = stage.stay()
            if isIdle { #expect(stay.next(stage) == "none") }
            if !isIdle { try stage.hold("2") }
            if stops { stage.pool.stop(.finishQueued) } else { stage.pool.pause() }
            // An idle one ends by itself, and another one at its next look.
            if !isIdle { #expect(stay.next(stage) == "over") }
            stage.waitUntilGone()
            #expect(stay.turn?.isOver == true)
            if isIdle { continue }
            if !stops {
                #expect(stage.all == ["1", "goes on"])
                stage.pool.resume()
            }
            let second = stage.stay(1)
            #expect((second.turn == nil) == stops)
            second.release()
            stage.wait(forEvents: 4)
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `is over after so much work, and when it is ended while it is idle`() throws {
        let stage = try Stage()
        try stage.hold("0")
        let stay = stage.stay()
        for number in 1...(MemberTurn.workCountMax + 1) { try stage.hold("\(number)") }
        for number in 1...MemberTurn.workCountMax { #expect(stay.next(stage) == "\(number)") }
        #expect(stay.next(stage) == "over")
        let second = stage.stay(1)
        second.turn?.endIfIdle()
        #expect(second.turn?.isOver == false)
        #expect(second.next(stage) == "none")
        second.turn?.endIfIdle()
        stage.waitUntilGone(2)
    }

    @Test(.timeLimit(.minutes(2)))
    func `frees the key of each work with its end`() throws {
        let stage = try Stage(count: 2)
        try stage.hold("1", key: "a")
        let stay = stage.stay()
        try stage.hold("2", key: "a")
        try stage.hold("3", key: "a")
        #expect(stay.next(stage) == "2")
        #expect(stay.next(stage) == "3")
        #expect(stage.pool.boundKeyCount == 1)
        #expect(stay.next(stage) == "none")
        #expect(stage.pool.boundKeyCount == 0)
        stay.turn?.endIfIdle()
        stage.waitUntilGone()
    }

    @Test(.timeLimit(.minutes(2)))
    func `is over when another thread takes the place of its own`() throws {
        let stage = try Stage()
        try stage.hold("1")
        let stay = stage.stay()
        try stage.hold("2")
        let (old, _) = try #require(try stage.pool.replaceMember(named: "pool"))
        let second = stage.stay(1)
        #expect(stay.next(stage) == "over")
        old.join()
        try stage.hold("3")
        #expect(second.next(stage) == "3")
        #expect(second.next(stage) == "none")
    }
}
