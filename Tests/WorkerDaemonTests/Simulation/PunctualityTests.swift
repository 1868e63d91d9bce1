// When jobs begin and run out of time, to the nanosecond: on a clock that is moved by hand, and
// that does not stand at a whole millisecond.

import RESP
import RunLoopsTesting
import Support
import Testing
import WorkerDaemon

@Suite struct `A job's moment` {
    /// Plays a scene that does not begin at a whole millisecond.
    private func play(_ scene: @escaping @Sendable (World) throws -> Void) throws {
        try playScene { world in
            world.clock.advance(byNanoseconds: 400_000)
            try scene(world)
        }
    }

    @Test(arguments: [["VOLATILE"], []])
    func `is the one of AT, and not a nanosecond before`(options: [String]) throws {
        try play { world in
            let due = SimulatedClock.beginning + 5
            try world.submit(["AT", .integer(Int(due))], options, token: 1)
            try world.expectStart(of: 1, afterNanoseconds: 4_600_000)
        }
    }

    @Test(arguments: [["VOLATILE"], []], [2_000, -2_000])
    func `is the one of AT by a clock that was set meanwhile`(
        options: [String], milliseconds: Int64
    ) throws {
        try play { world in
            let due = SimulatedClock.beginning + 5_000
            try world.submit(["AT", .integer(Int(due))], options, token: 1)
            try world.setClock(byMilliseconds: milliseconds)
            try world.expectStart(
                of: 1, afterNanoseconds: (5_000 - milliseconds) * 1_000_000 - 400_000)
        }
    }

    @Test(arguments: [["VOLATILE"], []], [2_000, -2_000])
    func `comes after its DELAY, whatever the clock is set to`(
        options: [String], milliseconds: Int64
    ) throws {
        try play { world in
            try world.submit(["DELAY", 5_000], options, token: 1)
            try world.setClock(byMilliseconds: milliseconds)
            try world.expectStart(of: 1, afterNanoseconds: 5_000_600_000)
        }
    }

    @Test(arguments: [["VOLATILE"], []])
    func `that has not come with a DELAY is shown so, whatever the clock is set to`(
        options: [String]
    ) throws {
        try play { world in
            try world.submit(["DELAY", 5_000], options, token: 1)
            try world.setClock(byMilliseconds: 60_000)
            var state: String?
            try world.ask(["JOBS", "LIMIT", 1]) { state = $0.elements?.first?["state"]?.text }
            try world.settle()
            guard state == "delayed" else { throw SimulationFault(state ?? "no state") }
        }
    }

    @Test(arguments: [["VOLATILE"], []])
    func `comes no sooner than its DELAY after it was accepted`(options: [String]) throws {
        try play { world in
            try world.submit(["DELAY", 5], options, token: 1)
            // It is dated in milliseconds, and 0.4 of one are over.
            try world.expectStart(of: 1, afterNanoseconds: 5_600_000)
        }
    }

    @Test func `without a delay is now`() throws {
        try play { world in
            try world.submit(["DELAY", 0], [], token: 1)
            _ = try world.takeStart(of: 1)
            world.stage.end(1, .done(byteCount: 2))
            try world.settle()
        }
    }

    @Test func `of the next attempt is the one that JOB tells`() throws {
        try play { world in
            try world.submit(["RETRY", 1], [], token: 1)
            let id = try world.takeStart(of: 1)
            world.stage.end(1, .failed)
            try world.settle()
            var due = 0
            try world.ask(["JOB", .integer(Int(id))]) { due = $0["due-at"]?.integer ?? 0 }
            try world.settle()
            let moment = (due - Int(SimulatedClock.beginning)) * 1_000_000
            guard (750_400_000...1_250_400_000).contains(moment) else {
                throw SimulationFault("after 1 s, give or take a quarter, is no \(moment) ns")
            }
            try world.expectStart(of: 1, afterNanoseconds: Int64(moment) - 400_000)
        }
    }

    @Test func `of the next attempt comes as its handler was registered, or as its client says`()
        throws
    {
        try play { world in
            for (token, options, attempts) in [(1, [], 2), (2, ["RETRY", "0"], 1)] {
                let options = options.map { CommandArgument.text($0) }
                try world.ask(["PERFORM", "one", "stubborn"] + options + [.integer(token)]) { _ in }
                for _ in 1...attempts {
                    world.clock.advance(byMilliseconds: 1_300)
                    try world.settle()
                    _ = try world.takeStart(of: token)
                    world.stage.end(token, .failed)
                    try world.settle()
                }
                var state: String?
                try world.ask(["JOB", .integer(token)]) { state = $0["state"]?.text }
                try world.settle()
                guard state == "failed" else { throw SimulationFault(state ?? "no state") }
            }
        }
    }

    @Test(arguments: [["VOLATILE"], []])
    func `to be forgotten comes while nothing else happens`(options: [String]) throws {
        try play { world in
            try world.submit([], options, token: 1)
            let id = Int(try world.takeStart(of: 1))
            world.stage.end(1, .done(byteCount: 2))
            try world.settle()
            let hour: Int64 = 3_600_000
            for (milliseconds, isKnown) in [(hour - 1, true), (1, false)] {
                world.clock.advance(byMilliseconds: milliseconds)
                for command in ["JOB", "RESULT", "CANCEL"] {
                    try world.ask([.text(command), .integer(id)]) { reply in
                        guard (reply.errorWord == nil) == isKnown else {
                            throw SimulationFault("\(command) was answered \(reply)")
                        }
                    }
                }
                try world.settle()
            }
        }
    }

    @Test func `to be forgotten has come for a job of before a crash`() throws {
        try play { world in
            try world.submit([], [], token: 1)
            let id = Int(try world.takeStart(of: 1))
            world.stage.end(1, .done(byteCount: 2))
            try world.settle()
            world.clock.advance(byMilliseconds: 10)
            try world.settle()
            try world.crash {}
            for (milliseconds, count) in [(Int64(0), 1), (3_600_000, 0)] {
                world.clock.advance(byMilliseconds: milliseconds)
                try world.ask(["JOB", .integer(id)]) { reply in
                    guard (reply.errorWord == nil) == (count == 1) else {
                        throw SimulationFault("JOB was answered \(reply)")
                    }
                }
                try world.ask(["JOBS", "done"]) { reply in
                    guard reply.elements?.count == count else {
                        throw SimulationFault("JOBS was answered \(reply)")
                    }
                }
                try world.settle()
            }
        }
    }

    @Test func `to end goes by the clock of the daemon`() throws {
        try play { world in
            for (token, nanoseconds) in [(1, Int64(999_999_999)), (2, 1_000_000_000)] {
                try world.submit(["TIMEOUT", 1_000], [], token: token)
                let id = try world.takeStart(of: token)
                world.clock.advance(byNanoseconds: nanoseconds)
                // The handler ends early, as one does that sees its job cancelled.
                world.stage.end(token, .interrupted)
                try world.settle()
                var failure: String?
                try world.ask(["JOB", .integer(Int(id))]) { failure = $0["failure"]?.text }
                try world.settle()
                guard (failure == "took longer than its time limit") == (token == 2) else {
                    throw SimulationFault("after \(nanoseconds) ns: \(failure ?? "no failure")")
                }
            }
        }
    }
}

extension World {
    /// Expects a job to begin when so much time has passed, and not a nanosecond before.
    fileprivate func expectStart(of token: Int, afterNanoseconds count: Int64) throws {
        for nanoseconds in [0, count - 1] {
            clock.advance(byNanoseconds: nanoseconds)
            try settle()
            guard stage.takeEntries().isEmpty else {
                throw SimulationFault("it began within \(nanoseconds) ns, not after \(count)")
            }
        }
        clock.advance(byNanoseconds: 1)
        try settle()
        _ = try takeStart(of: token)
        stage.end(token, .done(byteCount: 2))
        try settle()
    }
}
