// Answers of THREADS, THREAD, JOB and INFO about jobs that wait behind one that is tried again.

import Jobs
import RESP
import RunLoopsTesting
import StoreTwin
import Support
import Testing
import WorkerDaemon

@Suite struct `A hold-up is shown` {
    /// Hands in a blocking job, which fails, and jobs behind it.
    private func play(
        _ window: WindowLimits = WindowLimits(), thread: CommandArgument, key: [CommandArgument],
        behind count: Int, _ scene: @escaping @Sendable (World) throws -> Void
    ) throws {
        try playScene(window) { world in
            try world.perform(thread, key + ["RETRY", 1, "BLOCK"], token: 1)
            try world.settle()
            _ = try world.takeStart(of: 1)
            for token in 2..<2 + count { try world.perform(thread, key, token: token) }
            try world.settle()
            world.stage.end(1, .failed)
            try world.settle()
            try scene(world)
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `of a thread: by which job, and until when`() throws {
        try play(thread: "one", key: [], behind: 3) { world in
            let due = try world.reply("JOB", 1)["due-at"]
            let thread = try world.reply("THREAD", "one")
            try expect(thread, "state", .text("held"))
            try expect(thread, "waiting", .number(3))
            try expect(thread, "held-by", .number(1))
            guard let due, thread["held-until"] == due else {
                throw SimulationFault("\(thread) is not held until \(due as Any)")
            }
            let listed = try world.reply("THREADS").elements?.first { $0["name"]?.text == "one" }
            guard let listed, listed["held-by"] == .integer(1), listed["held-until"] == due else {
                throw SimulationFault("THREADS says \(listed as Any)")
            }
            let job = try world.reply("JOB", 3)
            try expect(job, "state", .text("waiting"))
            try expect(job, "held-by", .number(1))
            guard job["held-until"] == due else { throw SimulationFault("\(job)") }
            let blocker = try world.reply("JOB", 1)
            guard blocker["held-by"] == nil else { throw SimulationFault("\(blocker)") }
            let lines = try world.reply("INFO", "threads").text ?? ""
            guard lines.contains("one:waiting=3,") else { throw SimulationFault(lines) }
            // Its next attempt runs: the others still wait for its end, which has no date.
            world.clock.advance(byMilliseconds: 1_251)
            try world.settle()
            _ = try world.takeStart(of: 1)
            let again = try world.reply("THREAD", "one")
            try expect(again, "held-by", .number(1))
            guard again["held-until"]?.isNull == true, again["state"]?.text == "running" else {
                throw SimulationFault("\(again)")
            }
            world.stage.end(1, .done(byteCount: 1))
            try world.settle()
            let free = try world.reply("THREAD", "one")
            guard free["held-by"] == nil else { throw SimulationFault("\(free)") }
            guard try world.reply("JOB", 3)["held-by"] == nil else {
                throw SimulationFault("job 3 is still said to be held up")
            }
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `of a key: the members of its pool are idle, until all that waits is held up`() throws {
        try play(thread: "two", key: ["KEY", "a"], behind: 2) { world in
            for name in ["two/1", "two/2"] as [CommandArgument] {
                let member = try world.reply("THREAD", name)
                try expect(member, "state", .text("held"))
                try expect(member, "held-by", .number(1))
            }
            try expect(try world.reply("THREAD", "two"), "held-by", .number(1))
            try expect(try world.reply("JOB", 2), "held-by", .number(1))
            try world.ask(["CANCEL", 1]) { _ in }
            try world.settle()
            guard try world.reply("THREAD", "two")["held-by"] == nil else {
                throw SimulationFault("a cancelled job is said to hold up others")
            }
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `also with a job that is in the store only`() throws {
        try play(WindowLimits(countMax: 4), thread: "one", key: [], behind: 40) { world in
            try expect(try world.reply("JOB", 40), "held-by", .number(1))
            let thread = try world.reply("THREAD", "one")
            try expect(thread, "state", .text("held"))
            try expect(thread, "waiting", .number(40))
            try world.crash {}
            try world.settle()
            try expect(try world.reply("THREAD", "one"), "held-by", .number(1))
            try expect(try world.reply("JOB", 41), "held-by", .number(1))
        }
    }
}

@Suite struct `FIRE on a stopped thread` {
    @Test(.timeLimit(.minutes(2)))
    func `is refused, and what was collected stays`() throws {
        try playScene { world in
            try world.ask(["BUFFER", "one", "play", "1"]) { _ in }
            try world.ask(["STOP", "one"]) { _ in }
            let reply = try world.reply("FIRE", "one")
            guard reply.errorWord == "NOTHREAD" else { throw SimulationFault("\(reply)") }
            try expect(try world.reply("JOB", 1), "state", .text("buffered"))
            // The thread is there again after a restart.
            try world.crash {}
            try world.settle()
            let again = try world.reply("FIRE", "one")
            guard again == .integer(1) else { throw SimulationFault("\(again)") }
            _ = try world.takeStart(of: 1)
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `hands over those of the members that go on`() throws {
        try playScene { world in
            try world.ask(["BUFFER", "two/1", "play", "1"]) { _ in }
            try world.ask(["BUFFER", "two/2", "play", "2"]) { _ in }
            try world.ask(["BUFFER", "two", "play", "3"]) { _ in }
            try world.ask(["STOP", "two/1"]) { _ in }
            let reply = try world.reply("FIRE", "two")
            guard reply == .integer(2) else { throw SimulationFault("\(reply)") }
            try expect(try world.reply("JOB", 1), "state", .text("buffered"))
        }
    }
}

/// The expected value of an entry of a reply.
private enum Expected {
    case number(Int), text(String)
}

private func expect(_ reply: RESPValue, _ name: String, _ expected: Expected) throws {
    let isSame =
        switch expected {
        case .number(let number): reply[name]?.integer == number
        case .text(let text): reply[name]?.text == text
        }
    if !isSame { throw SimulationFault("\(name) of \(reply) is not \(expected)") }
}

extension World {
    fileprivate func perform(
        _ thread: CommandArgument, _ options: [CommandArgument], token: Int
    ) throws {
        try ask(["PERFORM", thread, "play"] + options + [.integer(token)]) { reply in
            if let word = reply.errorWord { throw SimulationFault(word) }
        }
    }

    /// The reply to a command.
    fileprivate func reply(_ command: CommandArgument...) throws -> RESPValue {
        var reply: RESPValue?
        try ask(command) { reply = $0 }
        try settle()
        guard let reply else { throw SimulationFault("no reply to \(command)") }
        return reply
    }
}
