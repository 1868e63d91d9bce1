// The live view and signs of life on a manual clock: how often something is sent, and that no timer
// runs while nothing happens.

import RESP
import Support
import Testing
import WorkerDaemon

@Suite struct `The live view, by the clock` {
    private static let request = "GET /api/live HTTP/1.1\r\nHost: localhost\r\n\r\n"

    /// How often a word is in a text.
    private static func count(_ word: String, in text: String?) -> Int {
        (text ?? "").ranges(of: word).count
    }

    @Test func `is sent once a second at most, and only after a change`() throws {
        try playScene { world in
            let client = try world.connectHTTP()
            try client.send(Self.request)
            try world.settle()
            #expect(Self.count("event: snapshot\n", in: try client.text()) == 1)
            #expect(!world.daemon.isLiveTimerSet && world.daemon.liveLookCount == 1)
            // Nothing happens: nothing is looked at, and no timer runs.
            for _ in 0..<10 {
                world.clock.advance(byMilliseconds: 1_000)
                try world.settle()
            }
            #expect(world.daemon.liveLookCount == 1)
            #expect(Self.count("event: ", in: try client.text()) == 0)
            // The first change is sent at once, all further ones of a second together.
            var changes = 0
            for token in 1...50 {
                try world.submit([], [], token: token)
                world.stage.end(token, .done(byteCount: 1))
                try world.settle()
                world.clock.advance(byMilliseconds: 100)
                try world.settle()
                changes += Self.count("event: change\n", in: try client.text())
            }
            #expect((5...6).contains(changes), "\(changes) in 5 s")
            #expect(world.daemon.liveLookCount <= 7)
            world.clock.advance(byMilliseconds: 1_000)
            try world.settle()
            _ = try client.text()
            let count = world.daemon.liveLookCount
            // A question changes nothing: it is looked at, now and a second later, and nothing is
            // sent.
            try world.ask(["JOBS"]) { _ in }
            try world.settle()
            world.clock.advance(byMilliseconds: 1_000)
            try world.settle()
            #expect(world.daemon.liveLookCount <= count + 2 && !world.daemon.isLiveTimerSet)
            #expect(try client.text() == "")
        }
    }

    @Test func `has the ends of the last 15 minutes`() throws {
        try playScene { world in
            try world.submit([], [], token: 1)
            world.clock.advance(byMilliseconds: 1_234)
            world.stage.end(1, .done(byteCount: 1))
            try world.settle()
            let number = (SimulatedClock.beginning + 1_234) / 5_000
            let bucket = "\"buckets\":[[\(number),1,0,0,0,0,1,1234]]"
            for (milliseconds, isShown) in [(0, true), (890_000, true), (10_000, false)] {
                world.clock.advance(byMilliseconds: Int64(milliseconds))
                let client = try world.connectHTTP()
                try client.send(Self.request)
                try world.settle()
                #expect(try client.text()?.contains(bucket) == isShown)
            }
        }
    }

    @Test func `ends with its last reader`() throws {
        try playScene { world in
            do {
                let client = try world.connectHTTP()
                try client.send(Self.request)
                try world.settle()
            }
            try world.settle()
            let count = world.daemon.liveLookCount
            try world.submit([], [], token: 1)
            world.clock.advance(byMilliseconds: 2_000)
            try world.settle()
            #expect(world.daemon.liveLookCount == count && !world.daemon.isLiveTimerSet)
            world.stage.end(1, .done(byteCount: 1))
            try world.settle()
        }
    }

    @Test func `says that it lives, each 15 seconds, unless it said something`() throws {
        try playScene { world in
            let client = try world.connectHTTP()
            try client.send(Self.request)
            try world.settle()
            _ = try client.text()
            world.clock.advance(byMilliseconds: 14_999)
            try world.settle()
            #expect(try client.text() == "")
            world.clock.advance(byMilliseconds: 1)
            try world.settle()
            #expect(try client.text() == ": still here\n\n")
            world.clock.advance(byMilliseconds: 10_000)
            try world.submit([], [], token: 1)
            world.clock.advance(byMilliseconds: 1_000)
            try world.settle()
            // That it was accepted, and that it runs.
            #expect((1...2).contains(Self.count("event: change\n", in: try client.text())))
            world.clock.advance(byMilliseconds: 9_000)
            try world.settle()
            #expect(try client.text() == "")
            world.clock.advance(byMilliseconds: 6_000)
            try world.settle()
            #expect(try client.text() == ": still here\n\n")
            world.stage.end(1, .done(byteCount: 1))
            try world.settle()
        }
    }

    @Test func `tells which job waits longest`() throws {
        try playScene { world in
            let client = try world.connectHTTP()
            try client.send(Self.request)
            try world.settle()
            _ = try client.text()
            let start = SimulatedClock.beginning
            try world.submit([], [], token: 1)
            world.clock.advance(byMilliseconds: 2_000)
            // The delayed one waits from its moment on.
            try world.submit(["DELAY", 1_000], [], token: 2)
            try world.submit([], [], token: 3)
            world.clock.advance(byMilliseconds: 2_000)
            try world.settle()
            #expect(try client.text()?.contains("\"oldest\":\(start + 2_000)") == true)
            world.stage.end(1, .done(byteCount: 1))
            try world.settle()
            world.clock.advance(byMilliseconds: 1_000)
            try world.settle()
            // Job 3 runs.
            #expect(try client.text()?.contains("\"oldest\":\(start + 3_000)") == true)
            for token in [3, 2] {
                world.stage.end(token, .done(byteCount: 1))
                try world.settle()
            }
            world.clock.advance(byMilliseconds: 1_000)
            try world.settle()
            #expect(try client.text()?.contains("\"oldest\"") == false)
        }
    }
}
