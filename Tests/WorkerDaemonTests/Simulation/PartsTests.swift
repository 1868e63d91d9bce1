// Commands about any number of jobs: they are done part by part, each a transaction, and the loop
// of the daemon serves others in between. Here a part is small.

import Jobs
import RESP
import RunLoopsTesting
import Support
import Testing
import WorkerDaemon

@Suite struct `A command about many jobs` {
    private func play(
        inPartsOf count: Int, _ scene: @escaping @Sendable (World) throws -> Void
    ) throws {
        var window = WindowLimits()
        window.changedAtOnce = count
        try playScene(window, scene)
    }

    @Test(.timeLimit(.minutes(2)))
    func `fires all of them, and serves others between the parts`() throws {
        try play(inPartsOf: 10) { world in
            let count = 3_000
            try world.ask(["PAUSE", "one"]) { _ in }
            for token in 1...count {
                try world.ask(["BUFFER", "one", "play", .integer(token)]) { _ in }
            }
            try world.settle()
            var reply: RESPValue?
            try world.ask(["FIRE", "one"]) { reply = $0 }
            var busyPassCount = 0
            while reply == nil { if try world.servePass() { busyPassCount += 1 } }
            guard reply == .integer(count), busyPassCount >= count / 10 else {
                throw SimulationFault("\(reply as Any) after \(busyPassCount) passes")
            }
            var figures = ""
            try world.ask(["INFO", "jobs"]) { figures = $0.text ?? "" }
            try world.settle()
            for line in ["buffered_jobs:0\r\n", "waiting_jobs:\(count)\r\n"]
            where !figures.contains(line) {
                throw SimulationFault("no \(line) in \(figures)")
            }
            try world.ask(["RESUME", "one"]) { _ in }
            for token in 1...20 {
                try world.settle()
                _ = try world.takeStart(of: token)
                world.stage.end(token, .done(byteCount: 2))
            }
            try world.settle()
        }
    }

    @Test
    func `lets what has failed run once, in one pass with a command that brings delayed jobs`()
        throws
    {
        try play(inPartsOf: 10) { world in
            try world.submit([], [], token: 1)
            _ = try world.takeStart(of: 1)
            world.stage.end(1, .failed)
            try world.ask(["BUFFER", "one", "play", 2]) { _ in }
            try world.settle()
            try world.ask(["FIRE", "one"]) { _ in }
            try world.ask(["RETRY", "ALL", "play"]) { reply in
                guard reply == .integer(1) else { throw SimulationFault("\(reply)") }
            }
            for token in [2, 1] {
                try world.settle()
                _ = try world.takeStart(of: token)
                world.stage.end(token, .done(byteCount: 2))
            }
            try world.settle()
            guard world.stage.takeEntries().isEmpty else { throw SimulationFault("it ran twice") }
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `lets all that have failed run again, and drops them`() throws {
        try play(inPartsOf: 7) { world in
            let tokens = 1...60
            for token in tokens { try world.submit([], [], token: token) }
            for answer in ["RETRY", "DROP"] {
                for token in tokens {
                    try world.settle()
                    _ = try world.takeStart(of: token)
                    world.stage.end(token, .failed)
                }
                try world.settle()
                var reply: RESPValue?
                try world.ask([.text(answer), "ALL", "play"]) { reply = $0 }
                try world.settle()
                guard reply == .integer(tokens.count) else {
                    throw SimulationFault("\(answer) was answered \(reply as Any)")
                }
            }
            var reply: RESPValue?
            try world.ask(["DROP", "ALL", "play"]) { reply = $0 }
            try world.settle()
            guard reply == .integer(0) else { throw SimulationFault("\(reply as Any)") }
        }
    }
}
