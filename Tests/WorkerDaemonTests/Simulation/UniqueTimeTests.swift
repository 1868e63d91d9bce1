// How long UNIQUE names and the results that they lead to are kept, across crashes.

import Jobs
import RESP
import RunLoopsTesting
import Support
import Testing
import WorkerDaemon

@Suite struct `A unique name` {
    private static let hour = 3_600_000

    @Test(.timeLimit(.minutes(2)), arguments: [false, true])
    func `keeps its job's result as long as it holds, also after a crash`(hasTwin: Bool) throws {
        try playScene(hasTwin: hasTwin) { world in
            let first = try world.once("n", [], token: 1)
            guard first == .integer(1) else { throw SimulationFault("\(first)") }
            _ = try world.takeStart(of: 1)
            world.stage.end(1, .done(byteCount: 3))
            try world.settle()
            // Another result is kept for an hour.
            try world.submit([], [], token: 2)
            _ = try world.takeStart(of: 2)
            world.stage.end(2, .done(byteCount: 3))
            try world.settle()
            for isCrashed in [false, true] {
                if isCrashed { try world.crash {} }
                world.clock.advance(byMilliseconds: Int64(2 * Self.hour))
                let kept = try world.once("n", ["WAIT"], token: 1)
                guard kept.text == "rrr" else { throw SimulationFault("\(kept)") }
                let plain = try world.reply(["RESULT", 1])
                guard plain.text == "rrr" else { throw SimulationFault("\(plain)") }
                let other = try world.reply(["RESULT", 2])
                guard other.errorWord == "NOJOB" else { throw SimulationFault("\(other)") }
            }
            world.clock.advance(byMilliseconds: Int64(20 * Self.hour))
            let gone = try world.reply(["RESULT", 1])
            guard gone.errorWord == "NOJOB" else { throw SimulationFault("\(gone)") }
            let next = try world.once("n", ["TELL"], token: 3)
            guard next.elements?.last?.text == "new" else { throw SimulationFault("\(next)") }
        }
    }

    @Test(.timeLimit(.minutes(2)), arguments: [[], ["VOLATILE"]])
    func `holds as long as FOR says, and as its job has not ended`(more: [String]) throws {
        try playScene { world in
            let options = ["FOR", "5000"] + more
            let first = try world.once("n", options, token: 1)
            _ = try world.takeStart(of: 1)
            world.clock.advance(byMilliseconds: 60_000)
            // It has not ended: that is long enough.
            guard try world.once("n", options, token: 1) == first else {
                throw SimulationFault("a second job while the first runs")
            }
            world.stage.end(1, .done(byteCount: 1))
            try world.settle()
            let second = try world.once("n", options, token: 1)
            guard second != first else { throw SimulationFault("the name holds for too long") }
            _ = try world.takeStart(of: 1)
            world.stage.end(1, .done(byteCount: 1))
            try world.settle()
            world.clock.advance(byMilliseconds: 4_999)
            guard try world.once("n", options, token: 1) == second else {
                throw SimulationFault("the name does not hold for its time")
            }
            world.clock.advance(byMilliseconds: 1)
            guard try world.once("n", options, token: 1) != second else {
                throw SimulationFault("the name holds for longer than its time")
            }
        }
    }

    @Test(.timeLimit(.minutes(2)), arguments: [false, true])
    func `stands for the same thread, selector and payload after a crash`(hasTwin: Bool) throws {
        try playScene(hasTwin: hasTwin) { world in
            _ = try world.once("n", [], token: 1)
            _ = try world.takeStart(of: 1)
            try world.crash {}
            try world.settle()
            let other = try world.once("n", [], token: 2)
            guard other.errorWord == "CONFLICT" else { throw SimulationFault("\(other)") }
            let same = try world.once("n", ["TELL"], token: 1)
            guard same.elements == [.integer(1), .bulk(Array("known".utf8))] else {
                throw SimulationFault("\(same)")
            }
        }
    }
}

extension World {
    fileprivate func reply(_ command: [CommandArgument]) throws -> RESPValue {
        var reply: RESPValue?
        try ask(command) { reply = $0 }
        try settle()
        guard let reply else { throw SimulationFault("no reply to \(command)") }
        return reply
    }

    /// Hands in a job for thread `one` under a name.
    fileprivate func once(_ name: String, _ options: [String], token: Int) throws -> RESPValue {
        let unique: [CommandArgument] = ["PERFORM", "one", "play", "UNIQUE", .text(name)]
        return try reply(unique + options.map { .text($0) } + [.integer(token)])
    }
}
