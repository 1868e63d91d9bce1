// The cost of a failure that holds up others: as many jobs as are of its order, however many there
// are of others. Told in jobs that the scheduler looks at, not in time.

import RESP
import Support
import Testing
import WorkerDaemon

@Suite struct `A job that fails and holds up others` {
    private static let crowd = 100..<500

    /// Lets many jobs wait for a thread of their own, which is paused.
    private func play(_ scene: @escaping @Sendable (World) throws -> Void) throws {
        try playScene { world in
            try world.ask(["PAUSE", "one"]) { _ in }
            for token in Self.crowd { try world.hand(to: "one", [], token: token) }
            try world.settle()
            try scene(world)
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `makes the scheduler look at no job of another key or thread`() throws {
        try play { world in
            let failing = 1...30
            for token in failing {
                let key = ["KEY", "k\(token)", "RETRY", "1", "BLOCK"]
                try world.hand(to: "two", key, token: token)
                try world.settle()
                _ = try world.takeStart(of: token)
                world.stage.end(token, .failed)
                try world.settle()
            }
            try world.checkLooks(atMost: failing.count)
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `makes it look at those behind it, and each counts as waiting until it is let go`() throws
    {
        try play { world in
            try world.hand(to: "two/1", ["RETRY", "1", "BLOCK"], token: 1)
            // Of two orders, and held up by one.
            for token in 2...6 { try world.hand(to: "two/1", ["KEY", "k"], token: token) }
            try world.settle()
            _ = try world.takeStart(of: 1)
            world.stage.end(1, .failed)
            try world.settle()
            try world.checkLooks(atMost: 6)
            try world.checkWaiting(5)
            var taken: RESPValue?
            try world.ask(["CANCEL", "two", "play", 6]) { taken = $0 }
            try world.settle()
            guard taken == .integer(1) else { throw SimulationFault("\(taken as Any)") }
            try world.checkWaiting(4)
            world.clock.advance(byMilliseconds: 1_251)
            for token in 1...5 {
                try world.settle()
                _ = try world.takeStart(of: token)
                try world.checkWaiting(5 - token)
                world.stage.end(token, .done(byteCount: 2))
            }
            try world.settle()
            try world.checkLooks(atMost: 6)
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `makes it look at no more after thousands of its order have run`() throws {
        try playScene { world in
            for token in 1...3_000 {
                try world.hand(to: "one", [], token: token)
                try world.settle()
                _ = try world.takeStart(of: token)
                world.stage.end(token, .done(byteCount: 2))
            }
            try world.hand(to: "one", ["RETRY", "1", "BLOCK"], token: 3_001)
            try world.settle()
            _ = try world.takeStart(of: 3_001)
            world.stage.end(3_001, .failed)
            try world.settle()
            // Entries that lead nowhere: so few are not worth a look through them.
            try world.checkLooks(atMost: 16)
        }
    }
}

extension World {
    fileprivate func hand(to thread: String, _ options: [String], token: Int) throws {
        let command: [CommandArgument] = ["PERFORM", .text(thread), "play"]
        try ask(command + options.map { .text($0) } + [.integer(token)]) { reply in
            if let word = reply.errorWord { throw SimulationFault(word) }
        }
    }

    fileprivate func checkLooks(atMost count: Int) throws {
        guard lookedAtCount <= count else {
            throw SimulationFault("it looked at \(lookedAtCount) jobs, not \(count)")
        }
    }

    fileprivate func checkWaiting(_ count: Int) throws {
        var waiting: RESPValue?
        try ask(["THREAD", "two"]) { waiting = $0["waiting"] }
        try settle()
        guard waiting?.integer == count else {
            throw SimulationFault("\(waiting as Any) wait, not \(count)")
        }
    }
}
