// Jobs that end because they have not begun in time: in memory and parked, whatever they wait for,
// on a clock that is moved by hand. Memory and parts are small here, so that a few hundred jobs are
// many.

import Jobs
import RESP
import RunLoopsTesting
import StoreTwin
import Support
import Testing
import WorkerDaemon

@Suite struct `A job that has not begun in time` {
    private func play(
        countMax: Int = 16, _ scene: @escaping @Sendable (World) throws -> Void
    ) throws {
        try playScene(WindowLimits(countMax: countMax), scene)
        try playScene(WindowLimits(countMax: countMax), hasTwin: true, scene)
    }

    @Test(.timeLimit(.minutes(2)), arguments: [["VOLATILE"], []] as [[CommandArgument]])
    func `ends at its moment, and who waits for it is told`(options: [CommandArgument]) throws {
        try play { world in
            try world.ask(["PAUSE", "one"]) { _ in }
            var reply: RESPValue?
            let command: [CommandArgument] = ["PERFORM", "one", "play", "EXPIRE", 500, "WAIT"]
            try world.ask(command + options + [1]) { reply = $0 }
            try world.settle()
            world.clock.advance(byMilliseconds: 499)
            try world.settle()
            guard reply == nil else { throw SimulationFault("too early: \(reply as Any)") }
            world.clock.advance(byMilliseconds: 1)
            try world.settle()
            guard reply?.errorWord == "EXPIRED", try world.state(of: 1) == "expired" else {
                throw SimulationFault("\(reply as Any), \(try world.state(of: 1))")
            }
            try world.expectNothing(expired: 1)
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `ends also if there are more than memory and one part hold, and none of them begins`()
        throws
    {
        try play { world in
            try world.ask(["PAUSE", "one"]) { _ in }
            for token in 1...300 {
                let expire = 1_000 + token % 7
                let one: [CommandArgument] = ["PERFORM", "one", "play", "EXPIRE", .integer(expire)]
                try world.ask(one + [.integer(token)]) { _ in }
                try world.ask(one + ["DELAY", 900, .integer(token)]) { _ in }
                try world.ask(one + ["DELAY", 3_600_000, .integer(token)]) { _ in }
                if token % 50 == 0 { try world.settle() }
            }
            try world.settle()
            world.clock.advance(byMilliseconds: 1_003)
            try world.settle()
            try world.ask(["JOBS", "expired", "LIMIT", 10_000]) { reply in
                guard (reply.elements ?? []).count == 3 * (42 + 43 * 3) else {
                    throw SimulationFault("\((reply.elements ?? []).count) have expired")
                }
            }
            try world.settle()
            world.clock.advance(byMilliseconds: 10)
            try world.settle()
            try world.expectNothing(expired: 900)
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `ends behind others that fill the memory, and when these have pushed it out of there`()
        throws
    {
        try play(countMax: 4) { world in
            try world.ask(["PAUSE", "one"]) { _ in }
            // The last of the delayed ones is in memory until the others come, which are due before
            // it.
            let expiring: [CommandArgument] = ["PERFORM", "one", "play", "EXPIRE"]
            try world.ask(expiring + [900, "DELAY", 9_000, 1]) { _ in }
            for token in 2...9 {
                try world.ask(["PERFORM", "one", "play", "DELAY", 5_000, .integer(token)]) { _ in }
                try world.ask(["PERFORM", "one", "play", .integer(token)]) { _ in }
            }
            for token in 10...14 { try world.ask(expiring + [1_000, .integer(token)]) { _ in } }
            try world.settle()
            world.clock.advance(byMilliseconds: 900)
            try world.settle()
            guard try world.state(of: 1) == "expired", try world.state(of: 22) == "waiting" else {
                throw SimulationFault("too early, or too late")
            }
            world.clock.advance(byMilliseconds: 100)
            try world.settle()
            let states = try (18...22).map { try world.state(of: $0) }
            guard states == Array(repeating: "expired", count: 5) else {
                throw SimulationFault("\(states)")
            }
            try world.checkFigures()
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `ends at the next look if the store refuses the first`() throws {
        try play(countMax: 4) { world in
            try world.ask(["PAUSE", "one"]) { _ in }
            for token in 1...8 {
                try world.ask(["PERFORM", "one", "play", .integer(token)]) { _ in }
            }
            try world.ask(["PERFORM", "one", "play", "EXPIRE", 1_000, 9]) { _ in }
            try world.settle()
            world.clock.advance(byMilliseconds: 1_000)
            world.refuseNext(2)
            try world.settle()
            world.clock.advance(byMilliseconds: 1_000)
            try world.settle()
            world.clock.advance(byMilliseconds: 1_000)
            try world.settle()
            guard try world.state(of: 9) == "expired" else {
                throw SimulationFault(try world.state(of: 9))
            }
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `ends also if it was left for the next start because its thread was stopped`() throws {
        try play { world in
            try world.submit(["DELAY", 500, "EXPIRE", 1_000], [], token: 1)
            try world.ask(["STOP", "one"]) { _ in }
            try world.settle()
            world.clock.advance(byMilliseconds: 500)
            try world.settle()
            guard try world.state(of: 1) == "waiting" else {
                throw SimulationFault(try world.state(of: 1))
            }
            world.clock.advance(byMilliseconds: 500)
            try world.settle()
            guard try world.state(of: 1) == "expired" else {
                throw SimulationFault(try world.state(of: 1))
            }
        }
    }

    @Test(.timeLimit(.minutes(2)), arguments: [false, true])
    func `ends at the right moment after a restart`(isCrash: Bool) throws {
        try play(countMax: 4) { world in
            try world.ask(["PAUSE", "one"]) { _ in }
            for token in 1...20 {
                try world.ask(
                    ["PERFORM", "one", "play", "EXPIRE", .integer(token * 1_000), .integer(token)]
                ) { _ in }
            }
            try world.settle()
            world.clock.advance(byMilliseconds: 4_999)
            if isCrash { try world.crash {} } else { try world.shutDown { false } }
            try world.settle()
            let states = try (1...8).map { try world.state(of: UInt64($0)) }
            guard states.dropLast(4).allSatisfy({ $0 == "expired" }),
                states.dropFirst(4).allSatisfy({ $0 == "waiting" })
            else { throw SimulationFault("\(states)") }
            world.clock.advance(byMilliseconds: 1)
            try world.settle()
            guard try world.state(of: 5) == "expired" else { throw SimulationFault("late") }
            world.clock.advance(byMilliseconds: 15_000)
            try world.settle()
            // An orderly end does first all that is due: four of them.
            try world.expectNothing(expired: isCrash ? 20 : 16)
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `may take its time with further attempts once it has begun`() throws {
        try play { world in
            try world.submit(["EXPIRE", 100, "RETRY", 1], [], token: 1)
            let id = try world.takeStart(of: 1)
            world.stage.end(1, .failed)
            try world.settle()
            world.clock.advance(byMilliseconds: 1_300)
            try world.settle()
            guard try world.takeStart(of: 1) == id else { throw SimulationFault("another one") }
            world.stage.end(1, .done(byteCount: 1))
            try world.settle()
            guard try world.state(of: id) == "done" else {
                throw SimulationFault(try world.state(of: id))
            }
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `is not begun by its worker, though nobody has looked at the clock meanwhile`() throws {
        try play { world in
            try world.submit([], [], token: 1)
            _ = try world.takeStart(of: 1)
            try world.submit(["EXPIRE", 100], [], token: 2)
            world.clock.advance(byMilliseconds: 100)
            // The thread is free before the daemon's own thread has made another pass.
            world.stage.end(1, .done(byteCount: 1))
            try world.settle()
            try world.expectNothing(expired: 1)
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `waits behind one that is tried again, and ends there`() throws {
        try play { world in
            try world.submit(["RETRY", 1, "BLOCK"], [], token: 1)
            _ = try world.takeStart(of: 1)
            world.stage.end(1, .failed)
            try world.settle()
            try world.submit(["EXPIRE", 100], [], token: 2)
            world.clock.advance(byMilliseconds: 100)
            try world.settle()
            guard try world.state(of: 2) == "expired" else {
                throw SimulationFault(try world.state(of: 2))
            }
            world.clock.advance(byMilliseconds: 1_200)
            try world.settle()
            _ = try world.takeStart(of: 1)
            world.stage.end(1, .done(byteCount: 1))
            try world.settle()
            try world.expectNothing(expired: 1)
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `follows the clock on the wall`() throws {
        try play(countMax: 4) { world in
            try world.ask(["PAUSE", "one"]) { _ in }
            for token in 1...12 {
                try world.ask(["PERFORM", "one", "play", "EXPIRE", 10_000, .integer(token)]) { _ in
                }
            }
            try world.settle()
            try world.setClock(byMilliseconds: 9_999)
            guard try world.state(of: 12) == "waiting" else { throw SimulationFault("too early") }
            try world.setClock(byMilliseconds: 1)
            let states = try (1...12).map { try world.state(of: $0) }
            guard states == Array(repeating: "expired", count: 12) else {
                throw SimulationFault("\(states)")
            }
            try world.expectNothing(expired: 12)
        }
    }
}

extension World {
    /// The state of a job, as `JOB` tells it.
    fileprivate func state(of id: UInt64) throws -> String {
        var state: String?
        try ask(["JOB", .integer(Int(id))]) { state = $0["state"]?.text ?? $0.errorWord }
        try settle()
        return state ?? "unanswered"
    }

    /// Says whether anything is left or begins that should have expired, or is counted wrongly.
    fileprivate func expectNothing(expired count: Int) throws {
        try ask(["RESUME", "one"]) { _ in }
        try settle()
        guard stage.takeEntries().isEmpty else { throw SimulationFault("some have begun") }
        try checkFigures()
        var figures = ""
        try ask(["INFO", "jobs"]) { figures = $0.text ?? "" }
        try settle()
        for line in [
            "waiting_jobs:0", "delayed_jobs:0", "running_jobs:0", "total_jobs_expired:\(count)\r\n",
        ] where !figures.contains(line) {
            throw SimulationFault("no \(line) in \(figures)")
        }
    }
}
