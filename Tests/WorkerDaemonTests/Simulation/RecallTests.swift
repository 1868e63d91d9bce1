// CANCEL of a thread's jobs by what they ask for, when there are more than memory and one
// transaction hold. Memory and parts are small here, so that a few hundred jobs are many.

import Jobs
import RESP
import RunLoopsTesting
import StoreTwin
import Support
import Testing
import WorkerDaemon

@Suite struct `A CANCEL of many jobs` {
    private func play(_ scene: @escaping @Sendable (World) throws -> Void) throws {
        try playScene(WindowLimits(countMax: 16), scene)
    }

    @Test(.timeLimit(.minutes(2)))
    func `takes back all that has not begun, and none of it begins meanwhile`() throws {
        try play { world in
            try world.submit([], [], token: 1)
            _ = try world.takeStart(of: 1)
            let count = try world.handIn()
            var reply: RESPValue?
            try world.ask(["CANCEL", "one", "play"]) { reply = $0 }
            try world.ask(["PERFORM", "one", "play", "1000"]) { _ in }
            while try !world.servePass() {}
            // The command has come. The thread is free from now on, and the time of many has come.
            world.stage.end(1, .done(byteCount: 2))
            world.clock.advance(byMilliseconds: 10)
            var busyPassCount = 0
            while reply == nil { if try world.servePass() { busyPassCount += 1 } }
            guard reply == .integer(count), busyPassCount >= count / 20 else {
                throw SimulationFault("\(reply as Any) after \(busyPassCount) passes")
            }
            try world.settle()
            // Handed in behind the command, it is not meant, and the only one that begins.
            _ = try world.takeStart(of: 1_000)
            world.stage.end(1_000, .done(byteCount: 2))
            try world.settle()
            let figures = try world.figures()
            for line in [
                "waiting_jobs:0", "delayed_jobs:0", "buffered_jobs:0",
                "total_jobs_cancelled:\(count)",
            ] where !figures.contains(line) {
                throw SimulationFault("no \(line) in \(figures)")
            }
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `leaves alone what has another payload`() throws {
        try play { world in
            try world.ask(["PAUSE", "one"]) { _ in }
            for token in 1...120 {
                try world.ask(["PERFORM", "one", "play", .integer(token % 40)]) { _ in }
            }
            try world.settle()
            var reply: RESPValue?
            try world.ask(["CANCEL", "one", "play", "7"]) { reply = $0 }
            try world.settle()
            guard reply == .integer(3), try world.figures().contains("waiting_jobs:117") else {
                throw SimulationFault("\(reply as Any), \(try world.figures())")
            }
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `and of one of them, while it is on its way to memory, takes each back once`() throws {
        try play { world in
            var ids: [Int] = []
            for token in 1...40 {
                let delay = 1_000 + token
                try world.ask(["PERFORM", "one", "play", "DELAY", .integer(delay), .integer(token)])
                {
                    ids.append($0.integer ?? 0)
                }
                try world.settle()
            }
            try world.holdStore()
            // Jobs that are due first make room in memory: the next ones are asked for.
            for id in ids.prefix(12) { try world.ask(["CANCEL", .integer(id)]) { _ in } }
            var replies: [RESPValue] = []
            try world.ask(["CANCEL", "one", "play"]) { replies.append($0) }
            try world.ask(["CANCEL", .integer(ids[12])]) { replies.append($0) }
            try world.servePassWithoutStore()
            world.releaseStore()
            try world.settle()
            guard replies == [.integer(28), .simpleString("toolate")] else {
                throw SimulationFault("\(replies)")
            }
            try world.checkFigures()
            world.clock.advance(byMilliseconds: 10_000)
            try world.settle()
            guard world.stage.takeEntries().isEmpty else {
                throw SimulationFault("what was cancelled has begun")
            }
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `that a crash interrupts leaves each of them cancelled or waiting`() throws {
        try play { world in
            try world.ask(["PAUSE", "one"]) { _ in }
            let count = try world.handIn()
            var reply: RESPValue?
            try world.ask(["CANCEL", "one", "play"]) { reply = $0 }
            var busyPassCount = 0
            while busyPassCount < 8 { if try world.servePass() { busyPassCount += 1 } }
            guard reply == nil else { throw SimulationFault("it was over at once") }
            try world.crash {}
            try world.settle()
            try world.ask(["CANCEL", "one", "play"]) { reply = $0 }
            try world.settle()
            guard let left = reply?.integer, (1..<count).contains(left) else {
                throw SimulationFault("\(reply as Any) of \(count) were left")
            }
            try world.ask(["RESUME", "one"]) { _ in }
            world.clock.advance(byMilliseconds: 10_000_000)
            try world.settle()
            guard world.stage.takeEntries().isEmpty else {
                throw SimulationFault("what was cancelled has begun")
            }
        }
    }
}

extension World {
    /// Hands in jobs that wait, are delayed, or are buffered.
    ///
    /// - Returns: how many.
    fileprivate func handIn() throws -> Int {
        for token in 2...300 {
            try ask(["PERFORM", "one", "play", .integer(token)]) { _ in }
            try ask(["PERFORM", "one", "play", "DELAY", 5, .integer(token)]) { _ in }
            try ask(["PERFORM", "one", "play", "DELAY", 3_600_000, .integer(token)]) { _ in }
            try ask(["BUFFER", "one", "play", .integer(token)]) { _ in }
            if token % 50 == 0 { try settle() }
        }
        try settle()
        return 4 * 299
    }

    /// The figures of INFO about jobs.
    fileprivate func figures() throws -> String {
        var figures = ""
        try ask(["INFO", "jobs"]) { figures = $0.text ?? "" }
        try settle()
        return figures
    }
}
