// The end of a random history of several daemons: nothing goes wrong any more, and all is done.

import Jobs
import StoreTwin
import Support

extension NodesSimulation {
    /// Lets everything that can happen happen: then all jobs have ended, each thread has an owner,
    /// and each node its share of them.
    func sweep() throws {
        note("sweep")
        isCalm = true
        heal()
        if random.chance(50) {
            for name in logs.keys.sorted().prefix(max(0, 4 - nodes.count)) { start(name) }
        }
        faultAt = now
        (paused, steered) = ([:], [:])
        for round in 0..<2_000 {
            // It has died before, or lost its seat; it can run all threads.
            if logs.keys.contains("n0") { start("n0") }
            if round % 50 == 0 { fire() }
            pass(100 + random.below(200))
            for node in nodes {
                resumeAll(node)
                for member in node.driver.groups.flatMap(\.memberNames) {
                    begin(on: member, of: node)
                }
                for attempt in node.running {
                    end(attempt, .done(attempt.job.payload), of: node)
                }
                for _ in 0..<8 { node.driver.hear() }
            }
            goOnWaiting()
            try check()
            if round % 8 == 0, database.book.liveJobs.isEmpty, nodes.allSatisfy(\.isQuiet),
                movedWaits.isEmpty,
                nodes.allSatisfy({ $0.waits.isEmpty && $0.driver.scheduler.book.activeCount == 0 }),
                areSharesEven, now - givenAt > Self.steadyMilliseconds
            {
                return try checkEnd()
            }
        }
        let left = database.book.liveJobs.map { "\($0.id) \($0.state) \($0.thread)" }
        let shares = nodes.map { "\($0.name) \($0.store.seat): \($0.open.sorted())" }
        let fault =
            "it never ends: jobs \(left), threads \(database.threads), nodes \(shares), quiet "
            + "\(nodes.map(\.isQuiet)), waiting \(nodes.map(\.waits.count))"
        throw HistoryFault("\(fault)\nafter\n\(story(of: fault))")
    }

    private func resumeAll(_ node: SimulatedNode) {
        for name in Set(node.open.map(PoolSlot.shown)).sorted() {
            guard let group = node.driver.groups.first(where: { $0.name == name }),
                !group.paused.isEmpty
            else { continue }
            note("\(node.name): resume \(name)")
            node.steer(name, isPaused: false) { _ in }
        }
    }

    /// How long no thread is given away at the end.
    private static let steadyMilliseconds: Int64 = 15_000

    /// Whether each thread is open at one node, and no node has more than its share of the threads
    /// and of a pool's slots; nodes that can run different threads have no such share.
    private var areSharesEven: Bool {
        guard nodes.map(\.open.count).reduce(0, +) == Self.units.count else { return false }
        let parts = Dictionary(grouping: Self.units) {
            Self.spread.count(of: PoolSlot.shown($0)) > 1
        }
        let areEven = parts.values.allSatisfy { units in
            let counts = nodes.map { $0.open.intersection(units).count }
            return (counts.max() ?? 0) - (counts.min() ?? 0) <= 1
        }
        return (areDifferent || areEven)
            && Self.units.allSatisfy { unit in nodes.contains { $0.open.contains(unit) } }
    }

    private func checkEnd() throws {
        for job in ledger.jobs.values where job.isTold {
            guard let kept = database.book.job(job.id) else {
                throw HistoryFault("job \(job.id) is lost, after\n\(story(of: "\(job.id)"))")
            }
            let hasEnded: (Outcome?) -> Bool = { $0?.state == kept.state }
            let mayBe =
                switch kept.state {
                case .done, .failed: job.attempts.contains { hasEnded($0.outcome) }
                case .cancelled:
                    job.isCancelAsked
                        || cancelledAll.contains(
                            PoolSlot.shown(ThreadGroup.name(of: job.request.thread)))
                case .expired: job.request.options.expireMilliseconds != nil
                case .delayed, .buffered, .waiting, .running: false
                }
            if !mayBe {
                let word = "job \(job.id) is \(kept.state.rawValue)"
                throw HistoryFault("\(word), after\n\(story(of: word))")
            }
            count("ended as \(kept.state.rawValue)")
        }
    }
}
