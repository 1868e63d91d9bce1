// Jobs that a command has made due, when the clock on the wall is set back before the daemon dies:
// their file has times of that clock only.

import Jobs
import RESP
import RunLoopsTesting
import StoreTwin
import Support
import Testing
import WorkerDaemon

@Suite struct `A job that a command has made due` {
    /// Lets a command make job 1 due, then the clock be set back and the daemon die; expects it to
    /// begin.
    ///
    /// - Parameter prepare: leaves the job due on thread `one`, which is paused.
    private func play(_ prepare: @escaping @Sendable (World) throws -> Void) throws {
        try playScene { world in
            world.clock.advance(byMilliseconds: 10_000)
            try prepare(world)
            try world.settle()
            try world.setClock(byMilliseconds: -3_600_000)
            try world.crash {}
            // Once more: what was mended stays so.
            try world.setClock(byMilliseconds: -3_600_000)
            try world.crash {}
            try world.ask(["RESUME", "one"]) { _ in }
            try world.settle()
            _ = try world.takeStart(of: 1)
            world.stage.end(1, .done(byteCount: 2))
            try world.settle()
        }
    }

    @Test func `does not wait once more if it was fired`() throws {
        try play { world in
            try world.ask(["PAUSE", "one"]) { _ in }
            try world.ask(["BUFFER", "one", "play", 1]) { _ in }
            try world.ask(["FIRE", "one"]) { _ in }
        }
    }

    @Test func `does not wait once more if it was to run again`() throws {
        try play { world in
            try world.submit([], [], token: 1)
            let id = try world.takeStart(of: 1)
            try world.ask(["PAUSE", "one"]) { _ in }
            world.stage.end(1, .failed)
            try world.settle()
            try world.ask(["RETRY", .integer(Int(id))]) { reply in
                guard reply == .integer(1) else { throw SimulationFault("\(reply)") }
            }
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `does not wait once more behind others, either, while the daemon lives`() throws {
        try playScene(WindowLimits(countMax: 4)) { world in
            let tokens = 1...20
            try world.ask(["PAUSE", "one"]) { _ in }
            for token in tokens {
                try world.ask(["BUFFER", "one", "play", .integer(token)]) { _ in }
            }
            try world.ask(["FIRE", "one"]) { _ in }
            try world.ask(["PERFORM", "one", "play", "DELAY", 1_000, 21]) { _ in }
            try world.settle()
            try world.setClock(byMilliseconds: -3_600_000)
            try world.ask(["RESUME", "one"]) { _ in }
            for token in tokens {
                try world.settle()
                _ = try world.takeStart(of: token)
                world.stage.end(token, .done(byteCount: 2))
            }
            try world.settle()
            guard world.stage.takeEntries().isEmpty else {
                throw SimulationFault("what is delayed began with them")
            }
        }
    }

    @Test func `waits for its next attempt no longer than for any`() throws {
        try playScene { world in
            try world.ask(["BUFFER", "one", "stubborn", 1]) { _ in }
            try world.ask(["FIRE", "one"]) { _ in }
            try world.settle()
            _ = try world.takeStart(of: 1)
            world.stage.end(1, .failed)
            try world.settle()
            // Until then the journal may not have written it.
            world.clock.advance(byMilliseconds: 10)
            try world.settle()
            try world.setClock(byMilliseconds: -3_600_000)
            try world.crash {}
            for milliseconds in [700, 600] as [Int64] {
                guard world.stage.takeEntries().isEmpty else {
                    throw SimulationFault("it began before its time")
                }
                world.clock.advance(byMilliseconds: milliseconds)
                try world.settle()
            }
            _ = try world.takeStart(of: 1)
            world.stage.end(1, .done(byteCount: 2))
            try world.settle()
        }
    }
}
