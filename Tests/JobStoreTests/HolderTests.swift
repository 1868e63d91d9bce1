// Workers in other processes that hold attempts: a store knows after any end which these are.

import Jobs
import Kernel
import PostgreSQLServer
import Support
import Synchronization
import Testing

@Suite struct `Stores know who holds an attempt` {
    @Test(.timeLimit(.minutes(2)), arguments: (1...20).map { UInt64($0) })
    func `after crashes and in order`(seed: UInt64) throws {
        try live(seed) { ReopenedTwin(StoreLimits(), $0) }
        try live(seed) { try ReopenedFile(StoreLimits(), $0) }
    }

    @Test(
        .timeLimit(.minutes(2)),
        .enabled(if: PostgreSQLServer.isInstalled, .init(rawValue: PostgreSQLServer.excuse)),
        arguments: (1...8).map { UInt64($0) })
    func `after crashes of a daemon with a database`(seed: UInt64) throws {
        try live(seed) { try ReopenedDatabase(StoreLimits(), $0) }
    }

    private func live(_ seed: UInt64, _ make: (WallTime) throws -> any Reopened) throws {
        let wall = TestWall()
        var life = HeldLives(SeededRandom(seed: seed), wall, try make(wall.time))
        try life.run()
    }

    @Test func `as words, and back`() throws {
        let token = JobHolder.Token(high: 1, low: .max)
        let process = JobHolder.Process(id: 77, userID: .max, birth: 1 << 63)
        let home = JobHolder.Home(machine: [1], start: [2], numbers: [3])
        let atHome = JobHolder.Process(id: 77, userID: 1, birth: 5, home: home)
        for holder in [
            JobHolder(token: token, process: process, since: 1_795_000_000_000, name: "w-1"),
            JobHolder(
                token: token, process: process, since: 1,
                name: String(repeating: "n", count: 64)),
            JobHolder(
                token: token, process: atHome, since: 1, name: String(repeating: "n", count: 55)),
            JobHolder(token: token, process: atHome, since: 1, name: nil),
            JobHolder(
                token: token, process: nil, since: 0, name: String(repeating: "n", count: 64)),
        ] {
            let words = holder.words
            #expect(words.count == JobHolder.wordCount)
            let read = try #require(JobHolder(words))
            #expect(read.token == holder.token)
            #expect(read.process == holder.process)
            #expect(read.since == holder.since)
            #expect(read.name == holder.name)
        }
        // A name without room for the home leaves a process that no daemon looks up.
        let named = JobHolder(
            token: token, process: atHome, since: 1, name: String(repeating: "n", count: 56))
        let read = try #require(JobHolder(named.words))
        #expect(read.process == JobHolder.Process(id: 77, userID: 1, birth: 0))
        #expect(read.name == named.name)
        #expect("\(token)" == "0000000000000001ffffffffffffffff")
        #expect(JobHolder(Array(repeating: 0, count: JobHolder.wordCount)) == nil)
        #expect(JobHolder([1, 2]) == nil)
    }
}

/// Jobs that workers take, end, give back and hold while the daemon ends in any way.
private struct HeldLives {
    private struct Known {
        var attempt = 0
        var forgivenCount = 0
        var holder: JobHolder?
        /// Whether that was since the store was opened.
        var hasBegun = false
        /// Whether it has failed and is tried again later: then it is in turn no more.
        var isRetried = false
    }

    private var random: SeededRandom
    private let wall: TestWall
    private let reopened: any Reopened
    private var live: [UInt64: Known] = [:]
    private var nextNumber: UInt64 = 1
    private var lastToken: UInt64 = 0
    /// The events so far, for the report of a failure.
    private var past: [String] = []

    init(_ random: SeededRandom, _ wall: TestWall, _ reopened: any Reopened) {
        self.random = random
        self.wall = wall
        self.reopened = reopened
    }

    mutating func run() throws {
        for _ in 0..<6 {
            let (store, recovery) = try reopened.open(serving: ["resize"])
            nextNumber = max(nextNumber, recovery.nextNumber)
            let held = recovery.held.map { Self.text($0.job.id.number, $0.holder, $0.job) }
            let expected = live.filter { $0.value.holder != nil }.sorted { $0.key < $1.key }
            #expect(
                held == expected.map { id, known in Self.text(id, known) },
                "\(type(of: reopened)) \(past.suffix(60))")
            past.append("opened")
            for id in live.keys { live[id]?.hasBegun = false }
            #expect(recovery.held.allSatisfy { $0.job.expiresAt == nil || $0.job.attempt == 0 })
            try checkTurns(store)
            let answers = Mutex<Set<UInt64>>([])
            store.add(
                .answer(to: { more in
                    for case .confirmed(let ticket, nil) in more {
                        _ = answers.withLock { $0.insert(ticket) }
                    }
                }))
            for ticket in 1...UInt64(12) {
                for _ in 0...random.below(4) { step(store) }
                wall.move(byMilliseconds: 3)
                guard random.chance(70) else { continue }
                past.append("confirm")
                store.add(.confirm(ticket: ticket))
                store.fire()
                while !answers.withLock({ $0.contains(ticket) }) {}
            }
            store.add(.confirm(ticket: 99))
            store.fire()
            while !answers.withLock({ $0.contains(99) }) {}
            // Holders that are only marked survive a crash as well.
            for _ in 0..<random.below(4) { begin(store) }
            past.append("end")
            if random.chance(60) {
                past.append("crash")
                try reopened.crash(store)
            } else {
                store.close(nextNumber: nextNumber)
                if reopened is ReopenedTwin { try reopened.crash(store) }
            }
        }
    }

    /// The jobs that no worker holds are in turn, as before they were taken for the first time.
    private func checkTurns(_ store: any JobStore) throws {
        let queue = QueueName(thread: "images", priority: .normal)
        let answer = Mutex<[UInt64]?>(nil)
        store.add(
            .answer(to: { more in
                for case .loaded(queue, .success(let batch)) in more {
                    answer.withLock { $0 = batch.jobs.map(\.id.number) }
                }
            }))
        store.add(.load(queue, limit: 1_000, byteCount: 1_000_000))
        store.fire()
        while answer.withLock({ $0 == nil }) {}
        let inTurn = try #require(answer.withLock { $0 })
        let free = live.filter { $0.value.holder == nil }.sorted { $0.key < $1.key }
        // A crash may have come before the record of a failure.
        let expected = free.filter { !$0.value.isRetried || inTurn.contains($0.key) }
        #expect(inTurn == expected.map(\.key), "\(type(of: reopened)) \(past.suffix(60))")
    }

    private static func text(_ id: UInt64, _ holder: JobHolder, _ job: Job) -> String {
        "\(id) \(holder.token) \(holder.name ?? "-") after \(job.attempt)-\(job.forgivenCount)"
    }

    private static func text(_ id: UInt64, _ known: Known) -> String {
        "\(id) \(known.holder.map { "\($0.token) \($0.name ?? "-")" } ?? "?") "
            + "after \(known.attempt - 1)-\(known.forgivenCount)"
    }

    private mutating func step(_ store: any JobStore) {
        guard let (id, known) = live.randomElement(using: &random), random.chance(75) else {
            return accept(store)
        }
        guard let holder = known.holder else { return begin(store) }
        past.append("\(id) held as \(known.attempt)")
        if !known.hasBegun {
            // It was held before the store was opened: its thread begins it as before.
            live[id]?.hasBegun = true
            store.noteHolder(id, attempt: known.attempt, holder)
            store.noteStart(id, Attempt(number: known.attempt, workerName: "images", startedAt: 1))
        }
        let now = wall.time.unixMilliseconds()
        let attempt = Attempt(number: known.attempt, workerName: "images", startedAt: now)
        let choice = random.below(6)
        past.append("step \(choice)")
        switch choice {
        case 0:
            live[id] = nil
            store.record(.end(JobID(id), attempt, .done([1]), at: now))
        case 1:
            live[id]?.holder = nil
            live[id]?.isRetried = true
            store.noteHolder(id, attempt: known.attempt, nil)
            store.record(.retry(JobID(id), attempt, dueAt: now + 10))
        case 2:
            live[id]?.holder = nil
            live[id]?.attempt -= 1
            store.noteHolder(id, attempt: known.attempt, nil)
            store.record(
                .putBack(
                    JobID(id), attempt: known.attempt - 1, forgivenCount: known.forgivenCount,
                    mayExpire: false))
        case 3:
            live[id]?.holder = nil
            live[id]?.forgivenCount += 1
            store.noteHolder(id, attempt: known.attempt, nil)
            store.record(
                .putBack(
                    JobID(id), attempt: known.attempt, forgivenCount: known.forgivenCount + 1,
                    mayExpire: false))
        case 4:
            // It has connected again, perhaps as another process.
            let other = JobHolder(
                token: holder.token, process: nil, since: holder.since, name: "w\(lastToken)-b")
            live[id]?.holder = other
            store.noteHolder(id, attempt: known.attempt, other)
        default: break
        }
    }

    private mutating func accept(_ store: any JobStore) {
        let job = Job(
            id: JobID(nextNumber),
            request: JobRequest(
                thread: "images", selector: "resize", payload: [1, 2],
                options: JobOptions(retryCountMax: 3, retryBlocks: random.chance(40))),
            acceptedAt: wall.time.unixMilliseconds())
        live[nextNumber] = Known()
        nextNumber += 1
        store.add(.accept(NewJob(job, isParked: false)))
        store.fire()
    }

    private mutating func begin(_ store: any JobStore) {
        guard let id = live.filter({ $0.value.holder == nil }).keys.min() else { return }
        lastToken += 1
        let holder = JobHolder(
            token: JobHolder.Token(high: lastToken, low: id), process: nil,
            since: wall.time.unixMilliseconds(), name: "w\(lastToken)")
        live[id]?.attempt += 1
        live[id]?.holder = holder
        live[id]?.hasBegun = true
        past.append("\(id) begins \(live[id]?.attempt ?? 0) for \(lastToken)")
        let attempt = live[id]?.attempt ?? 0
        store.noteHolder(id, attempt: attempt, holder)
        store.noteStart(
            id,
            Attempt(
                number: attempt, workerName: "images", startedAt: wall.time.unixMilliseconds()))
    }
}
