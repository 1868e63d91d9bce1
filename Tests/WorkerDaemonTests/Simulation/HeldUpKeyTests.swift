// How many jobs of a key that is held up others do not have to wait for: of each queue a window is
// in memory, half of which may be held up before nothing further is brought. Here a window is 8
// jobs.

import Jobs
import RESP
import RunLoopsTesting
import StoreTwin
import Support
import Testing
import WorkerDaemon

@Suite struct `A key that is held up` {
    private static let window = 8

    /// Hands in jobs of a key that is held up, then others; lets those that begin end.
    private func play(
        heldUp count: Int, _ scene: @escaping @Sendable (World, _ others: [Int]) throws -> Void
    ) throws {
        try playScene(WindowLimits(countMax: Self.window)) { world in
            // The first one holds up those behind it.
            try world.perform(["KEY", "held", "RETRY", 1, "BLOCK"], token: 1)
            try world.settle()
            _ = try world.takeStart(of: 1)
            for token in 2..<2 + count { try world.perform(["KEY", "held"], token: token) }
            let others = Array(100..<110)
            for token in others { try world.perform(["KEY", "free"], token: token) }
            try world.settle()
            world.stage.end(1, .failed)
            try scene(world, others)
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `keeps no others waiting up to half a window`() throws {
        try play(heldUp: Self.window / 2) { world, others in
            let begun = try world.endAll()
            guard begun == others else { throw SimulationFault("\(begun) began, not \(others)") }
            world.clock.advance(byMilliseconds: 1_251)
            let rest = try world.endAll()
            guard rest == [1] + Array(2..<2 + Self.window / 2) else {
                throw SimulationFault("then \(rest) began")
            }
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `keeps others behind a whole window waiting, and no longer than its own`() throws {
        try play(heldUp: Self.window * 2) { world, others in
            let begun = try world.endAll()
            guard begun.isEmpty else { throw SimulationFault("\(begun) began: say so") }
            world.clock.advance(byMilliseconds: 1_251)
            let rest = try world.endAll()
            guard rest.sorted() == [1] + Array(2..<2 + Self.window * 2) + others else {
                throw SimulationFault("then \(rest) began")
            }
        }
    }
}

extension World {
    fileprivate func perform(_ options: [CommandArgument], token: Int) throws {
        try ask(["PERFORM", "two", "play"] + options + [.integer(token)]) { reply in
            if let word = reply.errorWord { throw SimulationFault(word) }
        }
    }

    /// Lets all end that begin, until nothing does; returns them in that order.
    fileprivate func endAll() throws -> [Int] {
        var begun: [Int] = []
        while true {
            try settle()
            let entries = stage.takeEntries()
            if entries.isEmpty { return begun }
            for entry in entries {
                begun.append(entry.token)
                stage.end(entry.token, .done(byteCount: 2))
            }
        }
    }
}
