// How a simulated daemon ends and comes back, and whether anything is left over when all jobs have
// ended.

import RESP
import Support

extension Simulation {
    /// Takes back all that waits, lets all end that runs, and looks whether anything is counted
    /// still.
    func sweep() throws {
        note("sweep")
        for thread in ["one", "two"] { try cancelAll(of: thread) }
        try settle()
        try endAll { _ in true }
        try settle()
        // Jobs from before a crash are counted little by little.
        var figures = ""
        for _ in 0..<200 {
            try world.ask(["INFO", "jobs"]) { figures = $0.text ?? "" }
            try settle()
            if Self.liveStates.allSatisfy({ figures.contains("\($0)_jobs:0\r\n") }) { return }
            world.clock.advance(byMilliseconds: 1)
            book.advance(byMilliseconds: 1)
            try settle()
        }
        throw SimulationFault("nothing is left, and INFO says \(figures)")
    }

    /// Lets all jobs end that run on some threads.
    func endAll(on isMeant: (String) -> Bool) throws {
        for entry in book.live {
            guard case .running(let thread) = entry.state, isMeant(thread) else { continue }
            try book.end(entry.token, .done(byteCount: 2), at: world.clock.milliseconds)
            world.stage.end(entry.token, .done(byteCount: 2))
        }
    }

    private static let liveStates = ["delayed", "buffered", "waiting", "running"]

    func submitAndCrash() throws {
        if random.chance(50) {
            try askOfSlowStore(besideCrash: true)
            return try crash("crash of a slow store")
        }
        try submit()
        if random.chance(50) { try fire() }
        // Not both: a job may be asked to end while the scheduler is told of its end.
        if random.chance(50) {
            try endOne()
        } else if random.chance(60) {
            try cancel()
        } else if random.chance(60) {
            try cancelAll(of: Self.addresses.randomElement(using: &random) ?? "one")
        }
        if random.chance(30) { try pauseOrResume() }
        for _ in 0..<random.below(3) { _ = try world.servePass() }
        try crash("crash in the middle")
    }

    func crash(_ what: String) throws {
        note(what)
        try world.crash { try observe() }
        try book.crash(at: world.clock.milliseconds)
        try comeBack()
    }

    func shutDown() throws {
        note("shutdown")
        try settle()
        var interrupted: Set<Int> = []
        var hasWaited = false
        try world.shutDown {
            try observe()
            let running = book.live.filter {
                if case .running = $0.state { !interrupted.contains($0.token) } else { false }
            }
            guard let entry = running.first else { return false }
            if hasWaited {
                interrupted.insert(entry.token)
                world.stage.end(entry.token, .interrupted)
            } else if random.chance(50) {
                let end = Stage.End.done(byteCount: 2)
                try book.end(entry.token, end, at: world.clock.milliseconds)
                world.stage.end(entry.token, end)
            } else {
                hasWaited = true
                return false
            }
            return true
        }
        // A job that a client asked to end, and that did, is not put back.
        for token in interrupted where try book[token].isCancelAsked {
            try book.end(token, .interrupted, at: world.clock.milliseconds)
            interrupted.remove(token)
        }
        try book.shutDown(interrupted: interrupted, at: world.clock.milliseconds)
        try comeBack()
    }

    /// Looks at all that there is after a restart.
    private func comeBack() throws {
        // As it is configured at each start.
        poolCount = 2
        pausedThreads.allHaveArrived()
        // Requests that meet the first loads.
        if random.chance(50) { try askOfSlowStore(besideCrash: true) }
        try world.settle()
        try observe()
        try world.ask(["THREADS"]) { [unowned self] in try pausedThreads.check($0) }
        try world.settle()
        for entry in book.entries.values.sorted(by: { $0.token < $1.token })
        where entry.id != nil && entry.state != .gone && book.knows(entry.token) {
            try look(entry.token)
        }
        try settle()
    }
}
