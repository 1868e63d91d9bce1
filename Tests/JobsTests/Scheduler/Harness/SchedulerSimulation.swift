// One random history of a scheduler, and a model of what it has promised.

import Jobs
import StoreTwin
import Support

/// Confined to the thread that made it.
final class SchedulerSimulation {
    /// The store that keeps the jobs.
    enum Store: String, CaseIterable, Sendable {
        /// Nothing.
        case none
        /// It does what it is told in the same step.
        case prompt
        /// It does that some steps later, answers later still, and its clock is behind.
        case late
        /// It is late, and refuses at random.
        case refusing
    }

    var random: SeededRandom
    let store: Store
    let driver: TestDriver
    /// How many of 100 attempts workers in other processes hold.
    private let heldShare: Int
    /// Whether what is served changes again and again.
    private let isRestless: Bool
    var entries: [JobID: SimulatedJob] = [:]
    let followers = ChangeFollowers()
    private var asked: [UInt64: (JobRequest, isStored: Bool)] = [:]
    private var cancels: [UInt64: JobID] = [:]
    var payloads: [UInt64: JobID] = [:]
    /// Clients that wait for the ends of jobs, by the requests.
    var waiting: [UInt64: WaitingClient] = [:]
    private(set) var answered: Set<UInt64> = []
    private(set) var requestCount: UInt64 = 0
    private(set) var life = 0
    private var hasCancelledAll = false
    /// Requests to cancel all jobs of a pool that were not answered.
    private var bulkCancels: Set<UInt64> = []
    /// Whether this life ends in an orderly way, and delayed jobs are left for the next.
    var isGoingDown = false
    /// Threads that this scheduler does not own, or was told to let go of.
    var released: Set<String> = []
    /// Threads whose claims were not answered, by the requests.
    var claims: [UInt64: String] = [:]
    /// A change of threads or selectors under way.
    var change: Change?
    /// Whether there is a handler for the selector `other`.
    var servesOther = true
    /// The first number of this life.
    private(set) var firstOfLife: UInt64 = 1
    private var fault: String?
    /// All that was done and said.
    private(set) var steps: [String] = []
    var counts: [String: Int] = [:]

    init(seed: UInt64, _ store: Store) {
        random = SeededRandom(seed: seed)
        self.store = store
        let isSmall = random.chance(60)
        heldShare = [0, 20, 80][random.below(3)]
        isRestless = random.chance(30)
        driver = TestDriver(
            selectors: [("echo", JobOptions()), ("other", JobOptions())],
            book: store == .none ? nil : TwinBook(),
            window: isSmall ? WindowLimits(countMax: 2 + random.below(6)) : WindowLimits(),
            storeLag: store == .late || store == .refusing ? 1_500 : 0)
        followers.follow(driver)
        driver.whenAnswered = { [unowned self] in answer($0, $1) }
        driver.tell = { [unowned self] said in
            steps.append("    \(said)")
            if said.contains("please report") { fault = fault ?? said }
        }
    }

    func run(_ count: Int) throws {
        for _ in 0..<count {
            if store != .none, random.chance(1), random.chance(60) { try shutDown() }
            step()
            try check()
            if random.chance(1) { try checkSilence() }
        }
        try checkSilence()
        try sweep()
    }

    func check() throws {
        driver.scheduler.checkInvariants()
        for report in driver.scheduler.takeFaults() { fail(report) }
        checkSurroundings()
        if let fault {
            let members = driver.groups.flatMap(\.memberNames).joined(separator: ", ")
            throw HistoryFault(
                "\(fault)\nThe members are \(members). It was after\n\(story(of: fault))")
        }
    }

    /// The last steps, and all that tell of the jobs that a fault names.
    private func story(of fault: String) -> String {
        let numbers = Set(fault.split { !$0.isNumber })
        let told = steps.dropLast(40).filter { step in
            step.hasSuffix("crash") || Self.changes.contains(where: step.contains)
                || step.split { !$0.isNumber }.contains(where: numbers.contains)
        }
        return (told + steps.suffix(40)).joined(separator: "\n")
    }

    /// Words of steps that change what is served.
    private static let changes = ["serve", "claim", "release", "remove", "suspend", "threads"]

    func fail(_ text: String) { fault = fault ?? text }

    func note(_ step: String) { steps.append("[\(driver.now.unixMilliseconds)] \(step)") }

    func count(_ word: String) { counts[word, default: 0] += 1 }

    // MARK: - Steps

    func step() {
        if isRestless, random.chance(5) { changeServed() }
        switch random.below(100) {
        case ..<30: submit()
        case ..<36: cancel()
        case ..<37: cancelAll()
        case ..<55: beginOne()
        case ..<70: endOne()
        case ..<80: driver.hear()
        case ..<84: pass(random.chance(20) ? 3_000 : 200)
        case ..<86: fire()
        case ..<87: lookAtSome()
        case ..<89: runAgain()
        case ..<90 where store != .none: random.chance(50) ? crash() : letGoOrTakeOver()
        case ..<91: driver.pauseOrResume(random.below(3))
        case ..<93: passOn()
        case ..<94: changeServed()
        case ..<95: waitForOne()
        default: turnStore()
        }
        if store == .prompt { turnStore() }
        if store == .none { driver.deliver() }
    }

    func turnStore() {
        let refuses = store == .refusing && random.chance(20)
        if refuses { count("refused") }
        driver.store(
            refusing: refuses ? StoreFault(.full, path: "book", detail: "as wished") : nil)
        driver.deliver(store == .prompt ? .max : random.below(6))
    }

    func reply(_ patience: ReplyToken.Patience? = nil) -> ReplyToken {
        requestCount += 1
        return ReplyToken(client: 1, number: requestCount, patience: patience)
    }

    private func submit() {
        let threads = ["one", "two", "two", "two/1", "two/2"]
        var request = JobRequest(
            thread: threads[random.below(threads.count)], selector: "echo",
            payload: Array("p\(requestCount)".utf8))
        if random.chance(50) {
            request.vary(&random, blocks: 60, expires: 20, within: 4_000)
        }
        if random.chance(25) {
            let due = driver.now.unixMilliseconds + Int64(random.below(3_000))
            request.schedule = random.chance(50) ? .at(due, byClock: random.chance(50)) : .buffered
        }
        if random.chance(10) {
            name(&request)
        } else if random.chance(20) {
            request.selector = "other"
        }
        if random.chance(10) { request.isVolatile = true }
        let isStored = store != .none && !request.isVolatile
        // The answer to a client that waits does not tell the number of its job.
        let reply = reply(random.chance(5) ? somePatience() : nil)
        if reply.patience == nil { asked[reply.number] = (request, isStored) }
        note(
            "perform \(reply.number) \(request.thread) \(request.selector) \(request.schedule) "
                + "\(request.options.value)"
        )
        driver.input { $0.perform(request, reply) }
    }

    private func cancel() {
        guard let entry = someEntry() else { return }
        let reply = reply()
        cancels[reply.number] = entry.id
        entry.isCancelAsked = true
        note("cancel \(entry.id)")
        driver.input { $0.cancel(entry.id, reply) }
    }

    private func cancelAll() {
        let reply = reply()
        note("cancel all of two")
        // The answer counts them; which they are, their ends tell.
        hasCancelledAll = true
        bulkCancels.insert(reply.number)
        driver.input { $0.cancel(thread: "two", selector: "echo", payload: nil, reply) }
    }

    private func someEntry() -> SimulatedJob? {
        entries.values.filter { !$0.hasEnded }.sorted { $0.id < $1.id }
            .randomElement(using: &random)
    }

    func beginOne() {
        let members = driver.groups.flatMap(\.memberNames)
        let member = members[random.below(members.count)]
        guard let attempt = driver.begin(on: member, isHeld: random.chance(heldShare)) else {
            return
        }
        note("\(member) begins \(attempt.id), attempt \(attempt.number)")
        begun(attempt)
    }

    private func begun(_ attempt: FakeAttempt) {
        guard let entry = entries[attempt.id] else {
            // Its number is not out yet: it was accepted, and the answer is on its way.
            return
        }
        if entry.isCancelled { fail("job \(entry.id) was cancelled, and began") }
        if entry.isExpired { fail("job \(entry.id) has expired, and began") }
        if entry.hasEnded, !entry.isRunAgainAsked { fail("job \(entry.id) has ended, and began") }
        entry.hasEnded = false
        let expires =
            entry.life < 0
            ? nil : entry.request.options.expireMilliseconds.map { entry.acceptedAt + $0 }
        if let expires, entry.begun == 0, driver.now.unixMilliseconds >= expires {
            fail("job \(entry.id) began too late")
        }
        checkServed(attempt)
        checkOrder(of: entry)
        checkNumber(of: attempt)
        entry.begun += 1
        entry.isBetweenAttempts = false
    }

    private func checkOrder(of entry: SimulatedJob) {
        let running = driver.groups.flatMap { $0.running.values }
        if running.count(where: { $0.id == entry.id }) != 1 {
            fail("job \(entry.id) runs twice")
        }
        // Of a job that a lost answer named, only the number is known.
        guard entry.life >= 0 else { return }
        for other in entries.values
        where other !== entry && !other.hasEnded && other.life >= 0 {
            guard let order = entry.order, other.order == order else { continue }
            // A blocker leaves with its thread or handler, and jobs in memory only stay, unless the
            // daemon goes down.
            let hasLeft = (other.isStored || isGoingDown) && isAway(other)
            // Two hold each other up if the handler of the first was away: the first goes on. One
            // that a worker holds since before the restart goes first.
            let goesFirst =
                entry.blocks && entry.begun > 0
                && (entry.id < other.id || entry.isBetweenAttempts) || entry.wasInherited
            if other.blocks, other.isBetweenAttempts, !hasLeft, !goesFirst,
                state(of: other.id)?.isEnded == false
            {
                fail("job \(entry.id) began although job \(other.id) is tried again first")
            }
            if other.heldNumber != nil, driver.heldOver[other.id] != nil,
                state(of: other.id)?.isEnded == false
            {
                fail("job \(entry.id) began although job \(other.id) is in a worker's hands")
            }
            // Of two plain jobs of one queue, the one with the smaller number begins first.
            let isOlder =
                other.id < entry.id && other.begun == 0 && entry.begun == 0
                && other.request.priority == entry.request.priority
            // A job whose cancel is under way waits for that, and is cancelled mostly; one that is
            // too late was passed over, and that may not be told.
            let isLeaving =
                other.isCancelAsked || other.request.options.expireMilliseconds != nil
                || !bulkCancels.isEmpty || isGoingDown && !other.isUndelayed
                || isAway(other)
            if !isLeaving, other.isStored, entry.isStored,
                other.request.thread == entry.request.thread,
                other.begun == 0, entry.begun == 0,
                other.request.priority == entry.request.priority,
                let turn = entry.turnAt, let otherTurn = other.turnAt,
                otherTurn.upperBound < turn.lowerBound, state(of: other.id)?.isEnded == false
            {
                fail(
                    "job \(entry.id) began before job \(other.id), whose turn came earlier: "
                        + "\(turn) and \(otherTurn), \(entry.request.schedule) and "
                        + "\(other.request.schedule)")
            }
            if isOlder, other.isUndelayed, entry.isUndelayed, other.isStored == entry.isStored,
                !(entry.isPlain && other.isPlain ? isAway(other) : isLeaving), other.life == life,
                entry.life == life,
                state(of: other.id)?.isEnded == false
            {
                fail("job \(entry.id) began before job \(other.id)")
            }
        }
        if let key = entry.request.options.key {
            let beside = running.contains {
                $0.id != entry.id && $0.key == key && $0.thread == entry.request.thread
            }
            if beside { fail("job \(entry.id) began beside another one of its key") }
        }
    }

    /// The state of a job in memory, or in the store.
    func state(of id: JobID) -> JobState? {
        driver.scheduler.book.state(of: id) ?? driver.recorded[id]
            ?? driver.twin?.book.job(id)?.state
    }

    func endOne() {
        let running = driver.groups.flatMap { $0.running.values }.sorted { $0.id < $1.id }
        guard let attempt = running.randomElement(using: &random) else { return }
        var outcome = Outcome.done(attempt.job.payload)
        if attempt.isAskedToEnd, random.chance(70) {
            outcome = .cancelled
        } else if random.chance(40) {
            outcome = .failed(reason: "as wished")
        }
        note("end \(attempt.id): \(outcome.state.rawValue)")
        driver.end(attempt, outcome)
        guard let entry = entries[attempt.id] else { return }
        let isRetried = attempt.job.retry.follows(attempt: attempt.number)
        if outcome.state == .failed, isRetried, !attempt.isAskedToEnd {
            entry.isBetweenAttempts = true
            count("retried")
            if entry.blocks, entry.order != nil { count("blocked") }
        } else {
            entry.hasEnded = true
            count(outcome.state.rawValue)
        }
    }

    func crash() {
        note("crash")
        isGoingDown = false
        released = []
        change = nil
        servesOther = true
        count("crashed")
        life += 1
        driver.crash()
        for entry in entries.values { (entry.heldNumber, entry.wasInherited) = (nil, false) }
        for id in driver.heldOver.keys {
            count("held over")
            guard let entry = entries[id] else { continue }
            entry.heldNumber = entry.lastNumber
            // Of a job that a lost answer named, beginnings may be unknown.
            if entry.life < 0, let job = driver.scheduler.book.active(id) {
                entry.heldNumber = max(job.attemptNumber, entry.lastNumber)
            }
            entry.wasInherited = true
        }
        asked = [:]
        cancels = [:]
        bulkCancels = []
        claims = [:]
        payloads = [:]
        waiting = [:]
        answered = Set(0...requestCount)
        for entry in entries.values {
            if !entry.isStored { entry.hasEnded = true }
            // An end that was not kept is made again, and so is an attempt that ran.
            if entry.isStored { entry.hasEnded = false }
            let kept = driver.twin?.book.job(entry.id)
            // An attempt that the crash has interrupted is made again at the job's place.
            if kept.map({ $0.state == .delayed && $0.attempt > $0.forgivenCount }) != true {
                entry.isBetweenAttempts = false
            }
        }
        firstOfLife = driver.scheduler.book.nextNumber
    }

    // MARK: - Answers

    private func answer(_ reply: ReplyToken, _ answer: JobAnswer) {
        if !answered.insert(reply.number).inserted {
            fail("request \(reply.number) was answered twice")
        }
        defer { noteChange(reply.number) }
        bulkCancels.remove(reply.number)
        waiting[reply.number] = nil
        if let thread = claims.removeValue(forKey: reply.number), case .failed = answer {
            released.insert(thread)
        }
        if let (request, isStored) = asked.removeValue(forKey: reply.number) {
            switch answer {
            case .accepted(let id): accepted(id, request, isStored: isStored)
            case .known(let id): known(id, request, isStored: isStored)
            default: break
            }
        } else if let id = payloads.removeValue(forKey: reply.number) {
            payload(of: id, answer)
        } else if let id = cancels.removeValue(forKey: reply.number), let entry = entries[id] {
            guard case .cancel(let cancelled) = answer else { return }
            switch cancelled {
            case .cancelled:
                count("cancelled")
                if !entry.isStored || entry.begun == 0 || entry.isBetweenAttempts {
                    entry.isCancelled = true
                }
                entry.isBetweenAttempts = false
            case .requested, .stuck: entry.isAskedToEnd = true
            case .tooLate: break
            }
        }
    }

    // MARK: - The end of a history

    /// Lets everything that can happen happen: then all requests are answered, and all jobs have
    /// ended.
    private func sweep() throws {
        note("sweep")
        driver.resumeAll()
        let threads = ["one", "two"] + TestDriver.members("two", 3)
        for round in 0..<4_000 {
            // The store may have refused the first time.
            if round % 50 == 0 {
                for thread in threads where driver.isThread(thread) {
                    let reply = reply()
                    driver.input { $0.claim(thread, reply) }
                }
                for thread in ["one", "two"] where driver.isServed(thread) {
                    let reply = reply()
                    driver.input { $0.fire(thread, reply) }
                }
            }
            if round % 50 > 10 { serveAll() }
            driver.store()
            driver.deliver()
            for member in driver.groups.flatMap(\.memberNames) {
                guard let attempt = driver.begin(on: member) else { continue }
                note("\(member) begins \(attempt.id), attempt \(attempt.number)")
                begun(attempt)
            }
            let running = driver.groups.flatMap { $0.running.values }.sorted { $0.id < $1.id }
            for attempt in running {
                driver.end(attempt, .done(attempt.job.payload))
                entries[attempt.id]?.hasEnded = true
            }
            for _ in 0..<8 { driver.hear() }
            driver.advance(byMilliseconds: 1_000)
            try check()
            if servesAll, driver.scheduler.orphanedCount == 0,
                driver.scheduler.book.activeCount == 0, driver.scheduler.parkedCount == 0,
                driver.scheduler.store.inquiries.count == 0, driver.answerCount == 0,
                driver.reports.isEmpty
            {
                return try checkEnd()
            }
        }
        let left = driver.twin?.book.liveJobs.map { "\($0.id) \($0.state) \($0.thread)" } ?? []
        let fault =
            "\(driver.scheduler.book.activeCount) jobs in memory and "
            + "\(driver.scheduler.parkedCount) parked ones never end: "
            + left.joined(separator: ", ")
        throw HistoryFault("\(fault)\nafter\n\(story(of: fault))")
    }

    private func checkEnd() throws {
        checkFollowersAtEnd()
        try checkAnswers()
        // Of a job that a lost answer named, only the number is known.
        for entry in entries.values where entry.life >= 0 {
            guard let state = state(of: entry.id) else {
                // Jobs that were in memory only have died with it.
                if entry.isStored { throw HistoryFault("job \(entry.id) is lost") }
                continue
            }
            let mayBe =
                switch state {
                case .done, .failed: entry.begun > 0 || entry.life < life
                case .cancelled:
                    entry.isCancelAsked || entry.mayBeDropped
                        || hasCancelledAll && entry.request.thread.hasPrefix("two")
                case .expired:
                    // An attempt that a shutdown has interrupted counts as none.
                    entry.request.options.expireMilliseconds != nil
                        && (entry.begun == 0 || counts["shut down", default: 0] > 0)
                case .delayed, .buffered, .waiting, .running: false
                }
            if !mayBe {
                throw HistoryFault(
                    "job \(entry.id) is \(state.rawValue), after\n\(story(of: "\(entry.id)"))")
            }
        }
        if let left = driver.twin?.book.liveJobs.first {
            throw HistoryFault("job \(left.id) is in the store, and never ended")
        }
    }
}
