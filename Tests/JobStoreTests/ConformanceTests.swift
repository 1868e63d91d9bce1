// Proves that all stores behave alike: random commands go to two of them, and both must answer the
// same, also after they are reopened, in order or after a crash. The twin is the reference.

import Jobs
import Kernel
import PostgreSQLServer
import StoreTwin
import Support
import Synchronization
import Testing

@Suite struct `Stores behave alike` {
    private static let seeds = (0..<(askedNumber("STORE_HISTORIES") ?? 12)).map {
        UInt64($0 + (askedNumber("STORE_SEED") ?? 1))
    }

    @Test(.timeLimit(.minutes(2)), arguments: seeds)
    func `a store in a file, and its twin`(seed: UInt64) throws {
        try compare(seed: seed) { try ReopenedFile($0, $1) }
    }

    @Test(
        .timeLimit(.minutes(2)),
        .enabled(if: PostgreSQLServer.isInstalled, .init(rawValue: PostgreSQLServer.excuse)),
        arguments: seeds)
    func `a store in a database, and its twin`(seed: UInt64) throws {
        try compare(seed: seed, isDatabase: true) { try ReopenedDatabase($0, $1) }
    }

    @Test(.enabled(if: PostgreSQLServer.isInstalled, .init(rawValue: PostgreSQLServer.excuse)))
    func `jobs are counted at an opening, however far apart their numbers are`() throws {
        let (limits, time) = (StoreLimits(), TestWall().time)
        let all: [any Reopened] = [
            ReopenedTwin(limits, time), try ReopenedFile(limits, time),
            try ReopenedDatabase(limits, time),
        ]
        for reopened in all {
            let player = Player(reopened)
            try player.open(serving: ["echo"])
            let numbers: [UInt64] = [1, 100_001, 100_002, 300_000, 40_000_000_000]
            _ = try player.play(
                numbers.map { number in
                    let request = JobRequest(thread: "a", selector: "echo", payload: [1])
                    let job = Job(id: JobID(number), request: request, acceptedAt: 1)
                    return .accept(NewJob(job, isParked: true))
                })
            player.close(numbers[4] + 1)
            try player.open(serving: ["echo"])
            #expect(player.recovered.contains("[\"a normal waiting: 5\"]"), "\(player.recovered)")
            player.close(numbers[4] + 1)
        }
    }

    /// The jobs that are read next would be in their former states.
    @Test func `a file claims nothing while the end of a job is not written`() throws {
        let player = Player(try ReopenedFile(StoreLimits(), TestWall().time))
        try player.open(serving: ["echo"])
        let request = JobRequest(thread: "a", selector: "echo", payload: [1])
        let jobs = (1...2).map { number in
            NewJob(Job(id: JobID(number), request: request, acceptedAt: 1), isParked: false)
        }
        let definition = ScheduleDefinition(
            name: "nightly", rhythm: .every(milliseconds: 100), request: request)
        let record = ScheduleRecord(
            definition, isFromCommand: true, progress: ScheduleProgress(since: 1))
        _ = try player.play([.accept(jobs[0]), .keepSchedule(record, ticket: 1)])
        let runs = [Int64(2), 3].map { moment in
            let run = ScheduleRun(name: "nightly", thread: "a", through: moment, at: moment)
            return MadeRun(run: run, new: jobs[1])
        }
        let queues = Priority.allCases.map { QueueName(thread: "a", priority: $0) }
        let attempt = Attempt(number: 1, workerName: "a", startedAt: 2)
        // The second run's number is taken, so nothing of the transaction is written.
        let answers = try player.play([
            .end(JobID(1), attempt, .done([]), at: 3), .claim(queues, ticket: 2), .run(runs),
        ])
        #expect(answers.first == "2 claimed fault")
        #expect(try player.play([.claim(queues, ticket: 3)]).first == "3 claimed ")
        player.close(2)
    }

    private func compare(
        seed: UInt64, isDatabase: Bool = false,
        _ other: (StoreLimits, WallTime) throws -> any Reopened
    ) throws {
        var random = SeededRandom(seed: seed)
        let wall = TestWall()
        var limits = StoreLimits()
        // The order of dropping is known only of jobs that have ended since the store was opened.
        let isReopened = random.chance(70)
        if !isReopened { limits.retainedCountMax = 20 }
        if !isReopened, random.chance(50) { limits.retainedMilliseconds = 100 }
        // So few that some of the results to which names lead are too many.
        if random.chance(50) { limits.retainedByteCountMax = 3 * NamedResults.overheadByteCount }
        // The old name of an ended job may be dropped or not: it shows when that job runs again, or
        // when the clock is set back.
        let runsAgain = random.chance(50)
        var history = History(random, runsAgain: runsAgain)
        let twin = Player(ReopenedTwin(limits, wall.time, forgetsBeginnings: isDatabase))
        let file = Player(try other(limits, wall.time))
        for player in [twin, file] { try player.open(serving: history.selectors) }
        var past: [String] = []
        var hasMarks = false
        for step in 0..<60 {
            let isSetBack = runsAgain && history.random.chance(5)
            wall.move(byMilliseconds: isSetBack ? -3_000 : 7)
            if isReopened, history.random.chance(6) {
                let isCrash = history.random.chance(50)
                past.append("open again, crash \(isCrash)")
                history.selectors = history.random.chance(50) ? ["echo"] : ["echo", "hash"]
                for player in [twin, file] {
                    try isCrash ? player.crash() : player.close(history.nextNumber)
                    try player.open(serving: history.selectors)
                }
                history.forgetBeginnings()
                #expect(twin.recovered == file.recovered, "opened again, step \(step)")
                history.nextNumber = max(history.nextNumber, twin.nextNumber)
                continue
            }
            // A mark wakes the store by itself. It could take some of the next commands alone, and
            // answer them as if the others had not come.
            if hasMarks { for player in [twin, file] { _ = try player.play([]) } }
            hasMarks = false
            let commands = history.next(at: wall.time.unixMilliseconds())
            past.append("\(commands)")
            let (expected, told) = (try twin.play(commands), try file.play(commands))
            guard Reply.agree(expected, told) else {
                Issue.record(
                    """
                    step \(step) after
                    \(past.suffix(40).joined(separator: "\n"))
                    \(commands)
                    the twin \(expected)
                    the other \(told)
                    """)
                break
            }
            for (id, attempt, result) in history.marks() {
                for player in [twin, file] { player.mark(id, attempt, result) }
                hasMarks = true
                past.append("mark \(id) \(attempt) \(result ?? [])")
            }
        }
        twin.close(history.nextNumber)
        file.close(history.nextNumber)
    }
}

/// Gives commands to a store and collects its answers.
private final class Player {
    private let reopened: any Reopened
    private var store: (any JobStore)?
    private let answers = Answers()
    private(set) var recovered = ""
    private(set) var nextNumber: UInt64 = 1
    private var lastTicket: UInt64 = 1 << 32

    private final class Answers: Sendable {
        let all = Mutex<[StoreAnswer]>([])
    }

    init(_ reopened: any Reopened) { self.reopened = reopened }

    func open(serving selectors: Set<String>) throws {
        let (store, recovery) = try reopened.open(serving: selectors)
        self.store = store
        nextNumber = recovery.nextNumber
        answers.all.withLock { $0 = [] }
        store.add(.answer(to: { [answers] more in answers.all.withLock { $0 += more } }))
        store.fire()
        var parts: [RecoveryCount.Part] = []
        while !(parts.last ?? recovery.part).isLast {
            let more = answers.all.withLock { all in
                defer { all = [] }
                return all
            }
            for case .counted(let part) in more { parts.append(part) }
            SystemThread.yield()
        }
        recovered = Reply.text(recovery, parts)
    }

    /// - Returns: the answers.
    func play(_ commands: [StoreCommand]) throws -> [String] {
        lastTicket += 1
        let ticket = lastTicket
        for command in commands { store?.add(command) }
        store?.add(.confirm(ticket: ticket))
        store?.fire()
        // Questions are answered behind other commands: of the same transaction, which may be one
        // for all commands or not.
        let questionCount = commands.count(where: \.isQuestion)
        while true {
            let all = answers.all.withLock { all -> [StoreAnswer]? in
                guard all.count(where: \.isToQuestion) == questionCount,
                    all.contains(where: {
                        if case .confirmed(ticket, _) = $0 { true } else { false }
                    })
                else { return nil }
                defer { all = [] }
                return all
            }
            if let all {
                let ordered = all.filter { !$0.isToQuestion } + all.filter(\.isToQuestion)
                return ordered.compactMap(Reply.text).flatMap {
                    $0.split(separator: "\n").map(String.init)
                }
            }
            SystemThread.yield()
        }
    }

    func mark(_ id: UInt64, _ attempt: Int, _ result: [UInt8]?) {
        if let result {
            _ = store?.noteDone(id, attempt: attempt, result: result)
        } else {
            store?.noteStart(id, Attempt(number: attempt))
        }
    }

    func close(_ nextNumber: UInt64) {
        store?.close(nextNumber: nextNumber)
        // An orderly end leaves the same as a crash right behind it.
        if let store, reopened is ReopenedTwin { try? reopened.crash(store) }
        store = nil
    }

    func crash() throws {
        if let store { try reopened.crash(store) }
        store = nil
    }
}

/// Random commands, as a scheduler may give them.
private struct History {
    var random: SeededRandom
    /// Whether failed jobs run again.
    let runsAgain: Bool
    var nextNumber: UInt64 = 1
    /// The selectors that have a handler at present.
    var selectors: Set<String> = ["echo", "hash"]
    /// The jobs whose latest attempt has begun and not ended, as far as the store was told.
    private var begun: Set<JobID> = []
    private var lastTicket: UInt64 = 0
    private static let queues = ["a", "b"].flatMap { thread in
        [Priority.high, .normal].map { QueueName(thread: thread, priority: $0) }
    }

    init(_ random: SeededRandom, runsAgain: Bool) {
        self.random = random
        self.runsAgain = runsAgain
    }

    private mutating func ticket() -> UInt64 {
        lastTicket += 1
        return lastTicket
    }

    private mutating func anyID() -> JobID {
        JobID(
            UInt64.random(
                in: max(1, nextNumber - min(nextNumber - 1, 40))...nextNumber, using: &random))
    }

    private mutating func anyQueue() -> QueueName {
        Self.queues.randomElement(using: &random) ?? Self.queues[0]
    }

    private mutating func attempt(_ now: Int64) -> Attempt {
        Attempt(number: 1 + random.below(3), workerName: "w", startedAt: now - 1)
    }

    /// A name for a while; short ones only where no failed job runs again.
    private mutating func claim(at now: Int64) -> NameClaim {
        let holds = Int64(runsAgain ? 24 * 3_600_000 : random.below(120))
        return NameClaim(
            name: [UInt8(random.below(4))], isAgain: random.chance(30), until: now + holds,
            fingerprint: UInt64(random.below(2)))
    }

    private mutating func newJob(at now: Int64, uniqueUntil: Int64? = nil) -> NewJob {
        let queue = anyQueue()
        let schedules: [JobRequest.Schedule] = [.now, .now, .now, .buffered, .at(now + 50)]
        var options = anyOptions()
        options.uniqueUntil = uniqueUntil
        let request = JobRequest(
            thread: queue.thread,
            selector: random.chance(80) || selectors.count == 1 ? "echo" : "hash",
            payload: [UInt8](repeating: 7, count: random.below(40)), priority: queue.priority,
            schedule: schedules.randomElement(using: &random) ?? .now,
            options: options)
        nextNumber += 1
        let job = Job(id: JobID(nextNumber - 1), request: request, acceptedAt: now)
        return NewJob(job, isParked: job.state == .buffered || random.chance(60))
    }

    private mutating func anyOptions() -> JobOptions {
        var options = JobOptions(
            timeoutMilliseconds: random.chance(20) ? 500 : nil,
            retryCountMax: random.below(3), retryBlocks: random.chance(30),
            key: random.chance(20) ? [1] : nil,
            expireMilliseconds: random.chance(30) ? Int64(1 + random.below(200)) : nil)
        if random.chance(10) { options.label = [2] }
        if random.chance(10) { options.arguments = [UInt8](repeating: 3, count: 1_024) }
        if random.chance(10) { options.environment = [4, 0, 5] }
        return options
    }

    /// One transaction's commands.
    mutating func next(at now: Int64) -> [StoreCommand] {
        // A browsing command sees all of a transaction, and ended jobs are dropped with the next
        // write.
        if random.chance(20) { return [browsing(at: now), .keepDue(at: now, ticket: ticket())] }
        return (0...random.below(8)).flatMap { _ in inOrder(command(at: now), at: now) }
    }

    /// Orders the events of an attempt behind its beginning.
    private mutating func inOrder(_ command: StoreCommand, at now: Int64) -> [StoreCommand] {
        switch command {
        case .begun(let id, _): return begun.insert(id).inserted ? [command] : []
        case .end(let id, _?, _, _), .retry(let id, _, _), .putBack(let id, _, _, _):
            let isBegun = begun.remove(id) != nil
            return isBegun ? [command] : [.begun(id, attempt(now)), command]
        default: return [command]
        }
    }

    /// Drops the beginnings: the store was reopened.
    mutating func forgetBeginnings() { begun = [] }

    private mutating func browsing(at now: Int64) -> StoreCommand {
        switch random.below(5) {
        case 0: .find(anyID(), ticket: ticket())
        case 4: .findPayload(anyID(), ticket: ticket())
        case 3:
            .findExpired(
                at: now, after: random.chance(50) ? .first : DueKey(dueAt: now - 40, id: JobID(0)),
                limit: 1 + random.below(4), ticket: ticket())
        case 1: .findNamed(claim(at: now), ticket: ticket())
        default:
            .list(
                JobListing(
                    queues: Self.queues, thread: nil,
                    state: JobState.allCases.randomElement(using: &random),
                    in: random.chance(50) ? JobSpan() : JobSpan(.oldestFirst, after: anyID()),
                    limit: 1_000), ticket: ticket())
        }
    }

    private mutating func command(at now: Int64) -> StoreCommand {
        let id = anyID()
        switch random.below(32) {
        case ..<8: return .accept(newJob(at: now))
        case ..<10:
            let claim = claim(at: now)
            return .acceptOnce(newJob(at: now, uniqueUntil: claim.until), claim)
        case ..<14: return .end(id, random.chance(70) ? attempt(now) : nil, outcome(), at: now)
        case 14: return .retry(id, attempt(now), dueAt: now + Int64(random.below(100)))
        case 15:
            return .putBack(
                id, attempt: random.below(2), forgivenCount: random.below(2),
                mayExpire: random.chance(50))
        case 16: return .begun(id, attempt(now))
        case 17:
            return .cancel(id, as: random.chance(50) ? .cancelled : .expired, ticket: ticket())
        case 18: return .askToEnd(id)
        case 19: return .load(anyQueue(), limit: 1 + random.below(4), byteCount: 60)
        case 20:
            let place = random.chance(50) ? DueKey.first : DueKey(dueAt: now, id: JobID(0))
            return .loadDelayed(anyQueue(), after: place, limit: 1 + random.below(4), byteCount: 90)
        case 21:
            var batch = ReleaseBatch(
                queues: [anyQueue()], before: JobID(nextNumber), moment: now,
                countMax: 1 + random.below(4))
            (batch.loadCountMax, batch.loadByteCountMax) = (3, 100)
            return .fire(batch, ticket: ticket())
        case 22:
            var filter = CancelFilter(
                selector: random.chance(80) ? "echo" : "hash", payload: nil,
                before: JobID(nextNumber), isUnserved: false)
            filter.begun = [anyID()]
            return .cancelPart(
                BulkCancelPart(
                    filter: filter, places: BulkCancelPart.places(of: [anyQueue()]),
                    countMax: 1 + random.below(5), byteCountMax: 200), ticket: ticket())
        case 23:
            let part = FailedJobsPart(
                before: JobID(nextNumber), moment: now, countMax: 1 + random.below(3),
                byteCountMax: 60)
            let action: FailedJobAction =
                random.chance(40) || !runsAgain
                ? .drop : .runAgain(isServed: { [selectors] in selectors.contains($0.selector) })
            return .settle(
                random.chance(50) ? .one(id) : .all(selector: "echo"), action, part,
                ticket: ticket())
        case 24: return .keepDue(at: now, ticket: ticket())
        case 25: return .release([anyQueue()])
        case 26: return .claim([anyQueue(), anyQueue()], ticket: ticket())
        case 27: return .keepSchedule(schedule(at: now), ticket: ticket())
        case 28, 29: return .run((0...random.below(3)).map { _ in run(at: now) })
        case 30: return .dropSchedule("s", thread: anyScheduleThread(), ticket: ticket())
        default:
            return random.chance(50)
                ? .pause(
                    PauseChange(paused: ["a", "p/1"], goingOn: random.chance(50) ? ["b"] : []))
                : .pause(PauseChange(paused: ["b"], goingOn: ["a"], poolGoingOn: "p"))
        }
    }

    /// A thread of a schedule, mostly the same.
    private mutating func anyScheduleThread() -> String { random.chance(80) ? "a" : "b" }

    private mutating func schedule(at now: Int64) -> ScheduleRecord {
        var definition = ScheduleDefinition(
            name: "s", rhythm: .every(milliseconds: Int64(50 + random.below(2))),
            request: JobRequest(thread: anyScheduleThread(), selector: "echo"))
        definition.overlap = OverlappingRuns.allCases.randomElement(using: &random) ?? .one
        definition.request.unique =
            random.chance(50) ? UniqueName([1], isAgain: random.chance(50), milliseconds: nil) : nil
        return ScheduleRecord(
            definition, isFromCommand: true, progress: ScheduleProgress(since: now))
    }

    /// A job of that schedule, with a name or without one.
    private mutating func run(at now: Int64) -> MadeRun {
        let run = ScheduleRun(
            name: "s", thread: anyScheduleThread(), through: now, at: now)
        guard random.chance(50) else { return MadeRun(run: run, new: newJob(at: now)) }
        let claim = claim(at: now)
        return MadeRun(run: run, new: newJob(at: now, uniqueUntil: claim.until), claim: claim)
    }

    private mutating func outcome() -> Outcome {
        let outcomes: [Outcome] = [.done([1]), .failed(reason: "no"), .cancelled, .timedOut]
        return outcomes.randomElement(using: &random) ?? .cancelled
    }

    /// The marks of workers that the store is not told: only a crash brings them out.
    mutating func marks() -> [(id: UInt64, attempt: Int, result: [UInt8]?)] {
        let id = anyID()
        guard random.chance(30), begun.insert(id).inserted else { return [] }
        return [(id.number, 1 + random.below(3), random.chance(40) ? [9] : nil)]
    }
}
