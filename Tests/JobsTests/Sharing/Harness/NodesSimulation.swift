// One random history of several daemons that share the threads of one database, and the promises
// that hold at each of its steps.

import Jobs
import Kernel
import StoreTwin
import Support

/// Confined to the thread that made it.
final class NodesSimulation {
    /// The file of attempts of a machine, as a daemon that has died there has left it.
    typealias Log = (mark: UInt64, [JobID: (attempt: Int, result: [UInt8]?)])

    static let groups = [
        SimulatedGroup("one"), SimulatedGroup("two", count: 2), SimulatedGroup("six"),
        SimulatedGroup("ten", count: 2, slots: 5),
    ]
    /// The names that have an owner each.
    static let units = groups.flatMap(\.units)
    static let spread = SpreadPools(of: units)

    var random: SeededRandom
    let clock = StandingClock()
    let database: TwinDatabase
    var nodes: [SimulatedNode] = []
    /// The names of daemons that are to run, and the files of attempts of those that do not.
    var logs: [String: Log?] = [:]
    var ledger = SharingLedger()
    private var runCount: Int64 = 0
    let window: WindowLimits
    /// The pauses that were answered, of threads whose pause is not being changed.
    var paused: [String: Bool] = [:]
    /// The latest request to pause a thread or to let it go on.
    var steered: [String: Int] = [:]
    var steerCount = 0
    /// The threads of which all jobs were to be cancelled once.
    var cancelledAll: Set<String> = []
    /// The waits of clients for jobs of threads that are on their way to another node.
    var movedWaits: [(id: JobID, thread: String)] = []
    /// The jobs of each moment of a schedule.
    var moments: [String: [JobID]] = [:]
    /// Since when each thread has been without an owner that works, with no fault meanwhile.
    var ownerlessSince: [String: Int64] = [:]
    /// The latest fault.
    var faultAt: Int64 = 0
    var isCalm = false
    /// Whether not all nodes can run all threads.
    let areDifferent: Bool
    /// Whether machines are lost with their files, in each fourth history.
    let losesMachines: Bool
    /// The latest moment at which a thread was given away.
    var givenAt: Int64 = 0
    private(set) var stepCount = 0
    private var steps: [String] = []

    /// How long a thread may be without an owner after the last fault: a started server's grace,
    /// the looks and ranks of four nodes, and a client's patience.
    static let ownerlessMilliseconds: Int64 = 40_000

    init(seed: UInt64, _ fault: SharingFault? = nil) {
        random = SeededRandom(seed: seed)
        losesMachines = seed.isMultiple(of: 4)
        database = TwinDatabase(fault)
        window = random.chance(60) ? WindowLimits(countMax: 2 + random.below(6)) : WindowLimits()
        areDifferent = random.chance(30)
        for number in 0..<(2 + random.below(3)) { start("n\(number)") }
        database.whenCommitted = { [unowned self] in noteCommitted($0, of: $1) }
    }

    func run(_ count: Int) throws {
        for _ in 0..<count {
            step()
            try check()
        }
        try sweep()
    }

    // MARK: - Words

    func note(_ step: String) { steps.append("[\(database.now)] \(step)") }

    /// The last steps, and all that tell of the jobs that a fault names; all if `NODES_STORY` is
    /// set.
    func story(of fault: String) -> String {
        if Program.inheritedEnvironment()["NODES_STORY"] != nil {
            return steps.joined(separator: "\n")
        }
        let numbers = Set(fault.split { !$0.isNumber }.filter { $0.count > 5 })
        let told = steps.dropLast(60).filter { step in
            !step.contains("    ")
                || step.split { !$0.isNumber }.contains(where: numbers.contains)
        }
        return (told.suffix(400) + steps.suffix(60)).joined(separator: "\n")
    }

    func count(_ word: String) { ledger.count(word) }

    // MARK: - Nodes

    var now: Int64 { database.now }

    func start(_ name: String) {
        let log = logs.removeValue(forKey: name) ?? nil
        runCount += 1
        let node = SimulatedNode(
            name, run: runCount, groups: groups(of: name), on: database, clock: clock, log: log,
            window: window
        ) { [unowned self] said in steps.append("    \(name): \(said)") }
        node.whenPauseTaken = { [unowned self, unowned node] in checkPause(of: $0, $1, at: node) }
        node.whenGiving = { [unowned self, unowned node] in checkIdle($0, at: node) }
        node.whenTaking = { [unowned self] in if random.chance(20) { comeBack($0) } }
        node.whenLending = { [unowned self, unowned node] in checkLoad($0, of: $1, at: node) }
        note("\(name) starts as seat \(node.store.seat)")
        nodes.append(node)
    }

    /// The threads of a node: another thread is lacking in many configurations.
    private func groups(of name: String) -> [SimulatedGroup] {
        guard areDifferent, name != "n0" else { return Self.groups }
        let number = name.utf8.reduce(0) { $0 &* 31 &+ Int($1) } & 0xff
        return Self.groups.filter { $0.name != Self.groups[number % 5 % 4].name }
    }

    /// The process of a node dies.
    ///
    /// - Parameter isHeard: whether the server hears of it at once.
    func kill(_ node: SimulatedNode, keepsLog: Bool, isHeard: Bool) {
        note("\(node.name) dies\(keepsLog ? "" : ", its log is lost")\(isHeard ? "" : " unheard")")
        let log: Log? = keepsLog ? (node.store.mark, node.store.marks) : nil
        logs.updateValue(log, forKey: node.name)
        if isHeard, let session = node.store.session { database.end(session) }
        drop(node)
    }

    func drop(_ node: SimulatedNode) {
        node.driver.forgetAttempts()
        nodes.removeAll { $0 === node }
    }

    // MARK: - Time

    /// Lets time pass in small parts, in which the nodes go on by themselves.
    func pass(_ milliseconds: Int, part: Int = 150) {
        var left = milliseconds
        while left > 0 {
            let next = min(left, 1 + random.below(part))
            left -= next
            clock.advance(byMilliseconds: Int64(next))
            database.advance(to: clock.now().nanoseconds / 1_000_000)
            for node in nodes where !node.isFrozen {
                node.driver.input { $0.advance() }
                if !node.isTrusted, random.chance(8) { killPrograms(of: node) }
                if random.chance(node.pace) { turn(node) }
            }
            endLost()
            if left > 0 { checkQuickly() }
        }
    }

    /// A node's store, looks and scheduler go on.
    func turn(_ node: SimulatedNode) {
        guard !node.isFrozen, !node.store.isLost else { return }
        let store = node.store
        store.refuseLate()
        if !node.isCut {
            if store.hasLostSession { store.reconnect() }
            store.arrive()
        }
        node.look()
        let beats = now - store.committedAt >= SimulatedNode.beatPause
        store.dispatch(arrives: !node.isCut, beats: beats)
        if !node.isCut {
            if random.chance(80) { store.execute(isFull: random.chance(isCalm ? 0 : 4)) }
            if random.chance(80) { store.hear() }
        }
        node.driver.deliver(random.chance(50) ? .max : random.below(5))
        if random.chance(70) { node.see() }
        runSchedules(of: node)
    }

    /// The process of a node ends whose epoch is over, as it learns.
    func endLost() {
        for node in nodes where node.store.isLost && !node.isFrozen {
            note("\(node.name) has lost seat \(node.store.seat)")
            count("lost")
            kill(node, keepsLog: true, isHeard: true)
        }
    }

    // MARK: - Checks

    func check() throws {
        stepCount += 1
        checkQuickly()
        for node in nodes {
            node.driver.scheduler.checkInvariants()
            for report in node.driver.scheduler.takeFaults() { fail("\(node.name): \(report)") }
            if node.driver.scheduler.stalledQueueCount > 0 {
                fail("a queue of \(node.name) has stalled")
            }
            checkCounts(of: node)
        }
        if let fault = ledger.fault { throw HistoryFault("\(fault)\nafter\n\(story(of: fault))") }
    }

    func fail(_ text: String) { ledger.fail(text) }

    /// Checks that no two nodes may begin jobs of one thread, and that each thread has an owner.
    private func checkQuickly() {
        for unit in Self.units {
            let owners = nodes.filter { node in
                node.isTrusted && node.names(of: unit).contains(where: node.owned.contains)
            }
            if owners.count > 1 {
                fail("\(unit) belongs to \(owners.map(\.name)), and all of them are trusted")
            }
            let isServed = nodes.contains { $0.open.contains(unit) && $0.isTrusted }
            let isDisturbed =
                nodes.contains { !$0.isHealthy } || !nodes.contains { $0.canRun(unit) }
            if isDisturbed { faultAt = now }
            if isServed || isDisturbed {
                ownerlessSince[unit] = nil
            } else {
                let since = max(ownerlessSince[unit] ?? now, faultAt)
                ownerlessSince[unit] = since
                if now - since > Self.ownerlessMilliseconds {
                    fail("\(unit) has had no owner for \(now - since) ms")
                }
            }
        }
    }

    /// Compares the counts of a scheduler with the database, if nothing is on its way.
    private func checkCounts(of node: SimulatedNode) {
        guard node.isQuiet, node.isTrusted, !node.isCut, !node.isFrozen else { return }
        let owned = node.owned
        let kept = database.book.liveJobs.filter { owned.contains($0.slot) }
        let active = node.driver.scheduler.book.activeJobs.filter(\.isStored)
        let known = active.count + node.driver.scheduler.parkedCount
        if known != kept.count {
            fail(
                "\(node.name) counts \(active.map(\.id)) jobs in memory and "
                    + "\(node.driver.scheduler.parkedCount) parked ones of \(owned.sorted()), and "
                    + "the database has \(kept.map(\.id))")
        }
        count("compared")
    }

    /// Checks that no one notices that a thread passes to another node.
    private func checkIdle(_ name: String, at node: SimulatedNode) {
        let (driver, names) = (node.driver, node.names(of: name))
        if let running = driver.groups.flatMap({ $0.running.values }).first(where: {
            names.contains($0.job.details.slot)
        }) {
            fail("\(name) is given away by \(node.name), and runs job \(running.id)")
        }
        for job in driver.scheduler.book.activeJobs
        where names.contains(job.details.slot) && !job.isStored {
            fail("\(name) is given away by \(node.name) with job \(job.id) in memory only")
        }
        // It was withdrawn just before.
        if let job = driver.groups.flatMap(\.queue).first(where: {
            names.contains($0.job.details.slot)
        }) {
            fail("\(name) is given away by \(node.name), and job \(job.id) may begin")
        }
        let jobs = driver.scheduler.book.activeJobs
        if jobs.contains(where: { names.contains($0.details.slot) }) { count("given busy") }
        count("given idle")
    }

    /// Checks the counts by which a slot is lent: each job is where the node says that it waits.
    private func checkLoad(_ load: SlotLoad, of pool: String, at node: SimulatedNode) {
        count("lendable")
        for (slot, waiting) in load.lendable where waiting > load.sum {
            fail("\(node.name) counts \(waiting) jobs in \(slot), more than \(load.sum)")
        }
        for slot in load.lendable.keys
        where node.driver.scheduler.readiness(toPass: slot) == .needed {
            fail("\(node.name) would lend \(slot), which is needed there")
        }
        let known = node.driver.scheduler.knownGroup(of: pool)
        let shown = known.map { node.driver.scheduler.shownWaitingCount(of: $0) } ?? 0
        if load.sum > shown { fail("\(node.name) counts \(load.sum) jobs of \(shown) in \(pool)") }
    }

    /// Checks that a thread goes on as it was paused or resumed by its last owner.
    ///
    /// A node that was frozen may hear of an earlier moment, and then that it has lost its seat.
    private func checkPause(of thread: String, _ isPaused: Bool, at node: SimulatedNode) {
        let name = ThreadGroup.name(of: thread)
        let isOwner = database.threads.contains {
            PoolSlot.shown($0.key) == name && $0.value.seat == node.store.seat
        }
        guard isOwner, let promised = paused[name], promised != isPaused else { return }
        fail("\(node.name) takes \(thread) \(isPaused ? "paused" : "running"), which it is not")
    }

    /// The commands of a transaction are in the database.
    private func noteCommitted(_ commands: [StoreCommand], of seat: Int64) {
        for command in commands {
            switch command {
            case .accept(let new), .acceptOnce(let new, _):
                guard database.book.job(new.job.id) != nil else { break }
                ledger.kept(new.job.id, thread: new.job.slot)
            case .run(let runs): noteRuns(runs)
            case .end(let id, let attempt?, let outcome, _):
                ledger.recorded(id, attempt: attempt.number, outcome.state)
            case .retry(let id, let attempt, _):
                ledger.recorded(id, attempt: attempt.number, .failed)
            case .move(let moves, _): for move in moves { noteMove(move, by: seat) }
            case .claim(let queues, _): note("seat \(seat) claims \(queues[0].thread)")
            default: break
            }
        }
    }

    private func noteMove(_ move: ThreadMove, by seat: Int64) {
        let word = move.from == seat ? "given" : "taken"
        if move.from == seat {
            givenAt = now
            let other = database.sessions.values.first { $0.seat == move.to }
            let pool = PoolSlot.shown(move.thread)
            if other?.node.wanted.contains(pool) == true { count("given to idle") }
        }
        count(word)
        note("\(move.thread) is \(word) from seat \(move.from) to seat \(move.to)")
    }
}
