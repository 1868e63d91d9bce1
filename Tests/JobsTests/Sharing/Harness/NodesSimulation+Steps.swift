// The steps of a random history of several daemons: clients, workers, and all that goes wrong.

import Jobs
import StoreTwin
import Support

extension NodesSimulation {
    func step() {
        switch random.below(200) {
        case ..<36: submit()
        case ..<39: giveSchedule()
        case ..<44: wait()
        case ..<45: fire()
        case ..<47: runAgain()
        case ..<48: random.chance(30) ? cancelAll() : cancel()
        case ..<54: cancel()
        case ..<86: beginOne()
        case ..<114: endOne()
        case ..<134: nodes.randomElement(using: &random)?.driver.hear()
        case ..<164: nodes.randomElement(using: &random).map(turn)
        case ..<186: pass(1 + random.below(random.chance(20) ? 2_000 : 200))
        case ..<188: steer()
        case ..<190: pass(3_000 + random.below(9_000))
        default: disturb()
        }
        goOnWaiting()
        endLost()
    }

    // MARK: - Clients

    private func submit() {
        guard let node = nodes.randomElement(using: &random), !node.isFrozen else { return }
        let groups = node.open.sorted()
        var thread = Self.groups[random.below(4)].name
        if !groups.isEmpty, random.chance(95) { thread = groups[random.below(groups.count)] }
        if thread == "two" || thread == "ten", random.chance(30) {
            thread += "/\(1 + random.below(2))"
        }
        // Clients do not name slots.
        thread = PoolSlot.shown(thread)
        var request = JobRequest(
            thread: thread, selector: "echo", payload: Array("p\(random.below(100))".utf8))
        if random.chance(40) {
            request.vary(&random, blocks: 40, expires: 15, within: 8_000)
        }
        if random.chance(15) {
            let due = node.driver.now.unixMilliseconds + Int64(random.below(6_000))
            request.schedule =
                random.chance(20) ? .buffered : .at(due, byClock: random.chance(50))
        }
        if random.chance(6) { request.isVolatile = true }
        if random.chance(8) {
            // A name leads to one thread: that of its number.
            let number = random.below(8)
            request.thread = Self.groups[number % 4].name
            request.payload = [1]
            request.unique = UniqueName([UInt8(number)], isAgain: random.chance(30))
            if !node.open.contains(Self.spread.place(of: request)) { return }
        }
        let isForAnySlot = request.thread == "ten" && request.slotKey == nil
        let isOpen =
            isForAnySlot
            ? Self.spread.slots(of: "ten").contains(where: node.owned.contains)
            : node.owned.contains(Self.spread.place(of: request))
        note("\(node.name): submit to \(request.thread) \(request.schedule)")
        node.ask({ $0.perform(request, $1) }) { [unowned self] answer in
            self.answer(answer, to: request, isOpen: isOpen)
        }
    }

    private func answer(_ answer: JobAnswer, to request: JobRequest, isOpen: Bool) {
        switch answer {
        case .accepted where request.isVolatile: count("volatile")
        case .accepted(let id):
            if !isOpen { fail("job \(id) was accepted for a thread that was not open") }
            if let name = request.unique?.bytes { checkName(name, of: id) }
            if database.book.job(id) == nil { fail("job \(id) is told and is not kept") }
            ledger.accepted(id, request)
        case .known where request.isVolatile: break
        case .known(let id):
            count("known")
            let job = database.book.job(id)
            if job?.thread != request.thread || request.unique == nil {
                fail("the name of a submit leads to job \(id), which is another one")
            }
        default: count("refused")
        }
    }

    /// Checks that a new job has taken its name from none that has not ended.
    private func checkName(_ name: [UInt8], of id: JobID) {
        for other in ledger.jobs.values
        where other.request.unique?.bytes == name && other.id < id && other.isTold {
            if database.book.job(other.id)?.state.isEnded == false {
                fail("job \(id) has the name of job \(other.id), which has not ended")
            }
        }
        count("named")
    }

    private func cancel() {
        guard let node = nodes.randomElement(using: &random), !node.isFrozen else { return }
        let jobs = database.book.liveJobs.filter {
            node.open.contains(ThreadGroup.name(of: $0.slot))
        }
        guard let job = jobs.randomElement(using: &random) else { return }
        let entry = ledger.job(job.id, job.request)
        entry.isCancelAsked = true
        note("\(node.name): cancel \(job.id)")
        node.ask({ $0.cancel(job.id, $1) }) { [unowned self] answer in
            guard case .cancel(.cancelled) = answer else { return }
            count("taken back")
            if database.book.job(job.id)?.state.isEnded == false {
                fail("job \(job.id) is told to be cancelled, and has not ended")
            }
        }
    }

    private func cancelAll() {
        guard let node = nodes.randomElement(using: &random), !node.isFrozen,
            let thread = node.open.sorted().randomElement(using: &random)
        else { return }
        note("\(node.name): cancel all of \(thread)")
        let jobs = database.book.liveJobs.filter { ThreadGroup.name(of: $0.slot) == thread }
        for job in jobs { ledger.job(job.id, job.request).isCancelAsked = true }
        cancelledAll.insert(PoolSlot.shown(thread))
        // The pool's own name means all slots that the node has.
        let name = thread == "ten" ? PoolSlot.alias(0, of: thread) : thread
        node.ask({ $0.cancel(thread: name, selector: "echo", payload: nil, $1) }) {
            [unowned self] _ in count("all cancelled")
        }
    }

    /// A job of a thread that a node has open.
    private func someJob(of node: SimulatedNode, where isMeant: (Job) -> Bool) -> Job? {
        let jobs = database.book.allJobs.sorted { $0.id < $1.id }.filter {
            node.open.contains(ThreadGroup.name(of: $0.slot)) && isMeant($0)
        }
        return jobs.randomElement(using: &random)
    }

    private func wait() {
        guard let node = nodes.randomElement(using: &random), !node.isFrozen,
            let job = someJob(of: node, where: { !$0.state.isEnded })
        else { return }
        wait(for: job.id, at: node)
    }

    private func wait(for id: JobID, at node: SimulatedNode) {
        note("\(node.name): wait for \(id)")
        node.ask(waits: true, { $0.wait(for: id, $1) }) { [unowned self] answer in
            guard case .moved(let id, let thread, _) = answer else { return count("waited") }
            movedWaits.append((id, thread))
        }
    }

    /// Has clients wait where the threads of their jobs are by now.
    func goOnWaiting() {
        let waits = movedWaits
        movedWaits = []
        for (id, thread) in waits {
            let unit = ThreadGroup.name(of: thread)
            guard let node = nodes.first(where: { $0.open.contains(unit) && !$0.isFrozen }) else {
                movedWaits.append((id, thread))
                continue
            }
            count("waited on")
            wait(for: id, at: node)
        }
    }

    private func runAgain() {
        guard let node = nodes.randomElement(using: &random), !node.isFrozen,
            let job = someJob(of: node, where: { $0.state == .failed })
        else { return }
        note("\(node.name): run \(job.id) again")
        node.ask({ $0.runAgain(.one(job.id), $1) }) { [unowned self] _ in count("run again") }
    }

    func fire() {
        for node in nodes where !node.isFrozen {
            for thread in node.open.sorted() { node.ask({ $0.fire(thread, $1) }, then: { _ in }) }
        }
    }

    /// The programs of a node's attempts are killed, as it is not trusted.
    func killPrograms(of node: SimulatedNode) {
        for attempt in node.running where attempt.isStored {
            note("\(node.name): the program of \(attempt.id) is killed")
            ledger.vanished(attempt.id, attempt: attempt.number, run: node.store.seat)
            node.leave(attempt)
        }
    }

    private func steer() {
        let name = Self.groups[random.below(4)].name
        let owners = Self.spread.slots(of: name).compactMap { slot in
            nodes.first { $0.open.contains(slot) && !$0.isFrozen }
        }
        guard owners.count == Self.spread.count(of: name) else { return }
        let isPaused = random.chance(40)
        paused[name] = nil
        steerCount += 1
        let number = steerCount
        steered[name] = number
        var missingCount = owners.count
        for node in owners {
            note("\(node.name): \(isPaused ? "pause" : "resume") \(name)")
            node.steer(name, isPaused: isPaused) { [unowned self] answer in
                guard case .done = answer else { return }
                missingCount -= 1
                if missingCount == 0, steered[name] == number { paused[name] = isPaused }
            }
        }
    }

    // MARK: - Workers

    private func beginOne() {
        guard let node = nodes.randomElement(using: &random), !node.isFrozen else { return }
        let members = node.driver.groups.flatMap(\.memberNames)
        begin(on: members[random.below(members.count)], of: node)
    }

    func begin(on member: String, of node: SimulatedNode) {
        guard let attempt = node.driver.begin(on: member), attempt.isStored else { return }
        note("\(node.name): \(member) begins \(attempt.id), attempt \(attempt.number)")
        let driver = node.driver
        let book = database.book
        ledger.began(
            attempt.id, attempt.job.job.request, attempt: attempt.number, run: node.store.seat
        ) { id in
            if id == attempt.id { return book.job(id)?.state.isEnded == true }
            if driver.scheduler.book.state(of: id)?.isEnded == true { return true }
            return driver.recorded[id] != nil || driver.reports.contains { $0.job == id }
                || book.job(id).map(\.state.isEnded) != false
        }
    }

    private func endOne() {
        guard let node = nodes.randomElement(using: &random), !node.isFrozen,
            let attempt = node.running.randomElement(using: &random)
        else { return }
        var outcome = Outcome.done(attempt.job.payload)
        if attempt.isAskedToEnd, random.chance(70) {
            outcome = .cancelled
        } else if random.chance(25) {
            outcome = .failed(reason: "as wished")
        }
        end(attempt, outcome, of: node)
    }

    func end(_ attempt: FakeAttempt, _ outcome: Outcome, of node: SimulatedNode) {
        note("\(node.name): \(attempt.id) is \(outcome.state.rawValue)")
        node.driver.end(attempt, outcome)
        guard attempt.isStored else { return }
        ledger.ended(
            attempt.id, attempt: attempt.number, run: node.store.seat, outcome)
    }

    // MARK: - All that goes wrong

    private func disturb() {
        faultAt = now
        let node = nodes.randomElement(using: &random)
        switch random.below(losesMachines ? 20 : 16) {
        case ..<3:
            if let node { kill(node, keepsLog: random.chance(70), isHeard: random.chance(70)) }
        case ..<6:
            if let name = logs.keys.sorted().randomElement(using: &random) { start(name) }
        case ..<7: node.map(cut)
        case ..<8:
            guard let node else { return }
            note("\(node.name) is slow")
            node.pace = 5 + random.below(20)
        case ..<10: node.map(freeze)
        case ..<12: heal()
        case ..<13:
            // Its process finds out at once, and connects anew.
            guard let node, !node.isFrozen, !node.isCut, let session = node.store.session else {
                return
            }
            note("the session of \(node.name) ends")
            database.end(session)
            node.store.reconnect()
        case ..<14:
            if random.chance(50) { restartServer() }
        case ..<15: if let node, node.isHealthy, nodes.count > 1 { leave(node) }
        case 16...: if let node, node.isHealthy, nodes.count > 1 { dieCutOff(node) }
        default: if nodes.count < 4 { start("n\(4 + random.below(3))x\(now)") }
        }
    }

    private func cut(_ node: SimulatedNode) {
        note("\(node.name) is cut off")
        count("cut")
        node.isCut = true
        if random.chance(50) { node.store.execute() }
    }

    /// A node is cut off, and goes on while it trusts its seat; then its machine is lost.
    ///
    /// Failed jobs of it are tried again, and the database has neither their first attempt nor the
    /// next.
    private func dieCutOff(_ node: SimulatedNode) {
        cut(node)
        while node.isTrusted {
            for member in node.driver.groups.flatMap(\.memberNames) { begin(on: member, of: node) }
            for attempt in node.running where random.chance(50) {
                end(attempt, .failed(reason: "as wished"), of: node)
            }
            for _ in 0..<4 { node.driver.hear() }
            pass(200)
        }
        guard nodes.contains(where: { $0 === node }) else { return }
        count("lost with its machine")
        kill(node, keepsLog: false, isHeard: random.chance(70))
    }

    private func freeze(_ node: SimulatedNode) {
        note("\(node.name) is frozen")
        count("frozen")
        node.isFrozen = true
        if random.chance(50) { node.store.execute() }
    }

    func heal() {
        for node in nodes where !node.isHealthy {
            note("\(node.name) goes on")
            (node.isCut, node.isFrozen, node.pace) = (false, false, 85)
        }
    }

    /// The node of a seat is there again while another takes its threads, and works for a moment.
    func comeBack(_ seat: Int64) {
        guard !isCalm, let node = nodes.first(where: { $0.store.seat == seat && !$0.isHealthy })
        else { return }
        note("\(node.name) is there again")
        count("there again")
        (node.isCut, node.isFrozen) = (false, false)
        for _ in 0..<4 { turn(node) }
        freeze(node)
        if random.chance(25) { restartServer() }
    }

    private func restartServer() {
        note("the server starts anew")
        count("started anew")
        database.restart()
    }

    /// A node ends in order.
    private func leave(_ node: SimulatedNode) {
        note("\(node.name) leaves")
        node.isLeaving = true
        node.driver.input { $0.refuse() }
        node.driver.input {
            _ = $0.keepParked()
            _ = $0.abandonWaiting()
        }
        node.driver.stopAll()
        while !node.driver.reports.isEmpty || !node.driver.expiredReports.isEmpty {
            node.driver.hear()
        }
        for attempt in node.running {
            ledger.interrupted(attempt.id, attempt: attempt.number)
        }
        node.driver.input { $0.abandonRunning() }
        node.driver.forgetAttempts()
        for _ in 0..<40 where !node.store.isLost {
            turn(node)
            node.driver.deliver()
        }
        guard !node.store.isLost, node.store.isQuiet, !node.store.hasLostSession else {
            return kill(node, keepsLog: true, isHeard: true)
        }
        count("left")
        node.store.leave()
        logs.updateValue(nil, forKey: node.name)
        drop(node)
    }
}
