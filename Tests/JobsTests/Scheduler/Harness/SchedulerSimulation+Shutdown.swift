// Orderly ends within a random history: the steps are those that the daemon goes through.

import Jobs
import Support

extension SchedulerSimulation {
    /// Goes down while clients go on to ask, and starts again; a crash may be first.
    func shutDown() throws {
        note("shut down")
        count("shut down")
        isGoingDown = true
        driver.input { $0.refuse() }
        if random.chance(50) {
            drain()
            try goOn(steps: random.below(60))
            // A second signal, or all that may run has run.
            if random.chance(30) { stop() } else { try finish() }
        } else {
            stop()
        }
        try goOn(steps: random.below(30))
        if isGoingDown, random.chance(50) {
            let held = Set(driver.heldAttempts.map(\.id))
            // More than one signal or command may ask for that.
            for _ in 0...random.below(2) { driver.input { $0.interruptAll(except: held) } }
        }
        try goOn(steps: random.below(30))
        guard isGoingDown else { return }
        if random.chance(70) { driver.leaveToWorkers() }
        driver.input {
            $0.abandonRunning()
            _ = $0.keepParked()
        }
        driver.forgetAttempts()
        try check()
        // The store keeps all that it was told; what a scheduler that ends has yet to hear is lost.
        for _ in 0..<20 {
            driver.store()
            driver.deliver(random.below(20))
            try check()
        }
        if driver.scheduler.book.activeCount > 0 {
            let left = driver.scheduler.book.activeJobs.map { "\($0.id) \($0.place)" }
            fail("jobs outlive the shutdown: \(left)")
            try check()
        }
        if let number = waiting.keys.min() { fail("request \(number) waits at the end") }
        try check()
        crash()
    }

    private func drain() {
        guard isGoingDown else { return }
        note("drain")
        driver.input {
            _ = $0.keepDelayed()
            _ = $0.abandonDelayed()
        }
        driver.resumeAll()
    }

    /// Lets running jobs end, and none begin.
    private func stop() {
        guard isGoingDown else { return }
        note("stop")
        driver.input {
            _ = $0.keepParked()
            _ = $0.abandonWaiting()
        }
        driver.resumeAll()
        driver.stopAll()
    }

    private func goOn(steps count: Int) throws {
        for _ in 0..<count where isGoingDown {
            step()
            if random.chance(5) { leaveOne() }
            try check()
        }
    }

    /// A thread's next job is one for workers, and none has taken it for a while.
    private func leaveOne() {
        guard isGoingDown, let group = driver.groups.randomElement(using: &random),
            let member = group.memberNames.randomElement(using: &random),
            let attempt = group.waitingFirst(for: member), attempt.phase == .queued,
            driver.heldOver[attempt.id] == nil
        else { return }
        note("no worker takes \(attempt.id) of \(member)")
        count("left")
        driver.input { $0.isLeftByWorkers(attempt.job) }
    }

    /// Lets all run that a drain lets run.
    private func finish() throws {
        for _ in 0..<2_000 where isGoingDown {
            if driver.scheduler.book.activeCount == 0, driver.scheduler.areAllInMemory { return }
            driver.resumeAll()
            turnStore()
            driver.deliver()
            for _ in 0..<3 {
                beginOne()
                endOne()
                driver.hear()
            }
            driver.advance(byMilliseconds: 300)
            try check()
        }
        guard isGoingDown else { return }
        let left = driver.scheduler.book.activeJobs.map { "\($0.id) \($0.place)" }
        fail("a drain never ends: \(left), \(driver.scheduler.stalledQueueCount) stalled")
        try check()
    }
}
