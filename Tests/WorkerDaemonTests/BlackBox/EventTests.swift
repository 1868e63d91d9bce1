// Events as readers get them, by pushes of RESP 3.

import Kernel
import RESP
import Support
import Testing

@Suite struct `Events` {
    @Test(.timeLimit(.minutes(2)))
    func `tell each change of a job, numbered without gaps`() throws {
        try withDaemon(Setup(threads: "images: {}, mail: { count: 2 }", store: Setup.memory)) {
            daemon in
            let client = try daemon.connect()
            let reader = try EventClient(daemon)
            let first = try client.perform("mail", "echo", "KEY", "k", "LABEL", "l", "x")
            var events = try reader.next(3)
            #expect(
                events.map(\.change) == ["\(first) accepted", "\(first) running", "\(first) done"])
            #expect(
                events.allSatisfy { $0.details["thread"] == "mail" && $0.details["key"] == "k" })
            #expect(events.allSatisfy { $0.details["label"] == "l" && $0.kind == "job" })
            #expect(events.map { $0.details["state"] } == ["waiting", "running", "done"])
            #expect(events[0].details["attempt"] == nil && events[0].details["worker"] == nil)
            #expect(events[1].details["attempt"] == "1")
            #expect(events[2].details["worker"]?.hasPrefix("mail/") == true)
            let failed = try client.perform("images", "fail", "no")
            events += try reader.next(3)
            #expect(events[5].change == "\(failed) failed" && events[5].details["failure"] == "no")
            #expect(try client.call("RETRY", .integer(failed)) == .integer(1))
            events += try reader.next(3)
            #expect(
                events[6...].map { $0.details["change"] } == ["run-again", "running", "failed"])
            #expect(try client.call("DROP", .integer(failed)) == .integer(1))
            events.append(try reader.next())
            #expect(
                events[9].change == "\(failed) dropped" && events[9].details["state"] == "dropped")
            #expect(events.map(\.number) == Array(1...10))
            #expect(Set(events.map(\.epoch)).count == 1)
            #expect(reader.begin == "\(events[0].epoch)-0")
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `tell of waits, ends without an attempt, and threads`() throws {
        try withDaemon { daemon in
            let client = try daemon.connect()
            let reader = try EventClient(daemon)
            _ = try client.call("PAUSE", "images")
            let delayed = try client.perform("images", "echo", "DELAY", 3_600_000, "x")
            let buffered = try #require(try client.call("BUFFER", "images", "echo", "y").integer)
            let late = try client.perform("images", "echo", "EXPIRE", 1, "z")
            _ = try client.call("CANCEL", .integer(delayed))
            _ = try client.call("FIRE", "images")
            var changes: [String] = []
            while !changes.contains("\(late) expired") || !changes.contains("\(buffered) released")
            {
                changes.append(try reader.next().change)
            }
            _ = try client.call("RESUME", "images")
            while changes.last != "\(buffered) done" { changes.append(try reader.next().change) }
            for expected in [
                "paused", "\(delayed) accepted", "\(buffered) accepted", "\(late) accepted",
                "\(delayed) cancelled", "resumed", "\(buffered) running",
            ] {
                #expect(changes.count { $0 == expected } == 1, "\(expected) in \(changes)")
            }
            _ = try client.call("STOP", "images")
            #expect(try reader.next().change == "stopped")
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `tell that buffered jobs of the store were fired`() throws {
        try withDaemon(.durable) { daemon in
            let client = try daemon.connect()
            let reader = try EventClient(daemon)
            for _ in 0..<3 { _ = try client.call("BUFFER", "images", "echo", "x") }
            #expect(try reader.next(3).allSatisfy { $0.details["state"] == "buffered" })
            #expect(try client.call("FIRE", "images") == .integer(3))
            var (doneCount, firedCount) = (0, 0)
            while doneCount < 3 || firedCount < 1 {
                let event = try reader.next()
                if event.details["change"] == "done" { doneCount += 1 }
                guard event.kind == "thread" else { continue }
                firedCount += 1
                #expect(event.change == "fired" && event.details["thread"] == "images")
                #expect(event.details["before"] == "4")
            }
            #expect(firedCount == 1)
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `are those of some threads, if these are named`() throws {
        let setup = Setup(threads: "images: {}, mail: { count: 2 }, log: {}")
        try withDaemon(setup) { daemon in
            let client = try daemon.connect()
            let pool = try EventClient(daemon, "mail", "log")
            let member = try EventClient(daemon, "mail/2")
            _ = try client.call("PERFORM", "images", "echo", "WAIT", "x")
            _ = try client.call("PERFORM", "mail/2", "echo", "WAIT", "y")
            _ = try client.call("PERFORM", "log", "echo", "WAIT", "z")
            let events = try pool.next(6)
            #expect(
                events.map { $0.details["thread"] } == Array(repeating: "mail/2", count: 3)
                    + Array(repeating: "log", count: 3))
            #expect(try member.next(3).map(\.id) == events.prefix(3).map(\.id))
            let odd = try daemon.connect()
            _ = try odd.call("HELLO", 3)
            #expect(try odd.call("EVENTS", "nobody").errorWord == "NOTHREAD")
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `go on behind a place, and say what was missed`() throws {
        try withDaemon(Setup(limits: "events: 6")) { daemon in
            let client = try daemon.connect()
            let reader = try EventClient(daemon)
            _ = try client.call("PERFORM", "images", "echo", "WAIT", "x")
            let events = try reader.next(3)
            let again = try EventClient(daemon, "SINCE", .text(events[0].id))
            #expect(again.begin == events[0].id)
            #expect(try again.next(2) == Array(events[1...]))
            for _ in 0..<3 { _ = try client.call("PERFORM", "images", "echo", "WAIT", "x") }
            let all = events + (try reader.next(9))
            let late = try EventClient(daemon, "SINCE", .text(events[1].id))
            let missed = try late.next()
            #expect(missed.kind == "missed" && missed.details["count"] == "4")
            #expect(missed.number == 6)
            #expect(try late.next(6) == Array(all[6...]))
            for place in ["0123456789abcdef-3", "\(events[0].epoch)-9999"] {
                let other = try EventClient(daemon, "SINCE", .text(place))
                let missed = try other.next()
                #expect(missed.kind == "missed" && missed.details["count"] == "null")
                #expect(try other.next(6) == Array(all[6...]))
            }
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `are refused with a reason`() throws {
        try withDaemon(Setup(limits: "streams: 1")) { daemon in
            let client = try daemon.connect()
            #expect(try client.call("EVENTS").errorWord == "ERR")
            _ = try client.call("HELLO", 3)
            #expect(try client.call("EVENTS", "SINCE", "7").errorWord == "ERR")
            let reader = try EventClient(daemon)
            #expect(try client.call("EVENTS").errorWord == "BUSY")
            // The same connection may ask anew, and gives its stream up by RESET.
            #expect(try reader.client.call("EVENTS", "images").text == reader.begin)
            _ = try reader.client.call("RESET")
            _ = try client.call("PERFORM", "images", "echo", "WAIT", "x")
            try eventually("the stream has ended") {
                try client.call("EVENTS").errorWord == nil
            }
        }
        try withDaemon(Setup(limits: "events: 0")) { daemon in
            let client = try daemon.connect()
            _ = try client.call("HELLO", 3)
            #expect(try client.call("EVENTS").errorMessage?.contains("limits.events") == true)
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `wait for a reader that is slow, in bounded memory`() throws {
        try withDaemon(Setup(limits: "events: 3000, retainedFailures: 0")) { daemon in
            let client = try daemon.connect()
            let reader = try EventClient(daemon)
            let reason = String(repeating: "x", count: 200)
            let batch = Array(
                repeating: TestClient.bytes(["PERFORM", "images", "fail", .text(reason)]),
                count: 2_000
            ).flatMap { $0 }
            var last = 0
            for _ in 0..<6 {
                try client.send(batch)
                for _ in 0..<2_000 { last = try client.reply().integer ?? last }
            }
            try eventually("all have ended") { try client.figure("total_jobs_failed") == last }
            let lines = try client.call("CLIENT", "LIST").text?.split(separator: "\n") ?? []
            let held = lines.compactMap { line in
                line.split(separator: " ").first { $0.hasPrefix("omem=") }
                    .flatMap { Int($0.dropFirst(5)) }
            }
            // The bytes of one fill, and one event more.
            #expect(held.max().map { $0 <= 66 << 10 } == true, "\(held)")
            var (number, missedCount, readCount) = (0, 0, 0)
            while number < 3 * last {
                let event = try reader.next()
                if event.kind == "missed" {
                    let count = try #require(event.details["count"].flatMap { Int($0) })
                    missedCount += count
                    #expect(event.number == number + count)
                } else {
                    #expect(event.number == number + 1)
                    readCount += 1
                }
                number = event.number
            }
            #expect(missedCount > 0 && readCount + missedCount == 3 * last)
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `tell at once that a job runs on a thread that a reload has brought`() throws {
        let setup = Setup(
            threads: "images: {}, mail: { count: 4 }", listen: "http: { unix: \"$DIR/http\" }")
        try withDaemon(setup) { daemon in
            let (client, other) = (try daemon.connect(), try daemon.connect())
            let reader = try EventClient(daemon)
            let before = try client.perform("images", "sleep", "3600000")
            #expect(
                try reader.next(2).map(\.change) == ["\(before) accepted", "\(before) running"])
            try daemon.rewrite(
                section: "threads: { images: { count: 2 }, mail: { count: 2 }, log: {} }")
            // The reload waits for the running job, and the other threads work.
            try other.send("RELOAD")
            try eventually("the thread is there") {
                try client.call("THREADS").elements?.contains { $0["name"]?.text == "log" } == true
            }
            for thread: CommandArgument in ["log", "mail"] {
                let id = try client.perform(thread, "sleep", "3600000")
                #expect(try reader.next(2).map(\.change) == ["\(id) accepted", "\(id) running"])
                #expect(try client.call("CANCEL", .integer(id)).text == "requested")
                #expect(try reader.next().change == "\(id) cancelled")
            }
            // The end of a job of a thread that is new is counted.
            #expect(try client.call("PERFORM", "log", "echo", "WAIT", "x").text == "x")
            #expect(try client.call("CANCEL", .integer(before)).text == "requested")
            #expect(try other.reply().elements?.count == 3)
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `tell the thread of a failed job of an earlier run that is dropped`() throws {
        let setup = Setup(threads: "images: {}, mail: {}", store: Setup.durable.store)
        let scratch = try Scratch()
        let first = try TestDaemon(setup, in: scratch)
        defer { first.kill() }
        let client = try first.connect()
        for thread: CommandArgument in ["images", "mail"] {
            let id = try client.perform(thread, "fail", "no")
            try client.waitUntil(id, is: "failed")
        }
        try first.send(.terminate)
        _ = try first.end()
        let second = try TestDaemon(setup, in: scratch, logName: "log2")
        defer { second.kill() }
        try second.check {
            let reader = try EventClient(second, "mail")
            let again = try second.connect()
            #expect(try again.call("DROP", "ALL", "fail") == .integer(2))
            let event = try reader.next()
            #expect(event.change == "2 dropped" && event.details["thread"] == "mail")
            #expect(event.details["selector"] == "fail")
        }
    }

    @Test(.timeLimit(.minutes(2)), arguments: ["RESET", "HELLO"])
    func `leave their place to others when they end`(_ command: String) throws {
        try withDaemon(Setup(limits: "streams: 1")) { daemon in
            let first = try EventClient(daemon)
            let second = try daemon.connect()
            _ = try second.call("HELLO", 3)
            #expect(try second.call("EVENTS").errorWord == "BUSY")
            _ =
                command == "RESET"
                ? try first.client.call("RESET") : try first.client.call("HELLO", 2)
            #expect(try second.call("EVENTS").errorWord == nil)
        }
    }
}
