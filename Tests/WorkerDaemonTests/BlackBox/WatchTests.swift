// Pushes to clients about the jobs that they watch.

import Kernel
import RESP
import Support
import Testing

@Suite struct `Watching` {
    @Test(.timeLimit(.minutes(2)))
    func `tells what is so, each change and the end`() throws {
        try withObedient { daemon in
            let client = try daemon.connect()
            let watcher = try Watcher(daemon)
            let orders = try Orders("orders", in: daemon.scratch)
            _ = try client.call("PAUSE", "images")
            let id = try client.perform("images", "obey", orders.payload)
            #expect(try watcher.client.call("OBSERVE", .integer(id)) == .integer(1))
            let first = try watcher.next()
            #expect(first == News(id, "waiting", ["attempt": "0"]))
            _ = try client.call("RESUME", "images")
            let running = try watcher.next()
            #expect(running == News(id, "running", ["attempt": "1", "worker": "images"]))
            try orders.give("progress 0.5")
            #expect(try watcher.next().details["progress"] == "0.5")
            try orders.give("text nearly there")
            #expect(try watcher.next().details["progress-text"] == "nearly there")
            try orders.give("return all")
            let last = try watcher.next()
            #expect(last == News(id, "done", ["attempt": "1", "worker": "images"]))
            // Asked again, it says how it ended, and that is all.
            #expect(try watcher.client.call("OBSERVE", .integer(id)) == .integer(1))
            #expect(try watcher.next() == last)
            #expect(try watcher.client.call("UNOBSERVE") == .integer(0))
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `tells of progress at most every 50 ms, and of the last in any case`() throws {
        try withObedient { daemon in
            let client = try daemon.connect()
            let watcher = try Watcher(daemon)
            let orders = try Orders("orders", in: daemon.scratch)
            let id = try client.perform("images", "obey", orders.payload)
            #expect(try watcher.client.call("OBSERVE", .integer(id)) == .integer(1))
            let start = SystemClock().now()
            try orders.give("burst 100000")
            var (count, progress) = (0, "")
            while progress != "1.0" {
                progress = try watcher.next().details["progress"] ?? ""
                count += 1
            }
            let milliseconds = start.duration(to: SystemClock().now()) / .milliseconds(1)
            // The first ones may be how it was found and its beginning.
            #expect(count <= Int(milliseconds / 50) + 4, "\(count) in \(milliseconds) ms")
            try orders.give("return all")
            #expect(try watcher.next().state == "done")
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `tells how much a program has written to clients that ask for it`() throws {
        let script = "exec <\\\"$0\\\"; echo one; read line; echo two >&2; read line; echo three"
        let setup = Setup(
            selectors: "it: { program: [\"sh\", \"-c\", \"\(script)\", \"$DIR/orders\"] }")
        try withDaemon(setup) { daemon in
            let client = try daemon.connect()
            let (watcher, other) = (try Watcher(daemon), try Watcher(daemon))
            let orders = try Orders("orders", in: daemon.scratch)
            _ = try client.call("PAUSE", "images")
            let id = try client.perform("images", "it", "")
            #expect(try watcher.client.call("OBSERVE", .integer(id), "OUTPUT") == .integer(1))
            #expect(try other.client.call("OBSERVE", .integer(id)) == .integer(1))
            _ = try client.call("RESUME", "images")
            /// The next news that say so much is written.
            func expect(output: String, errors: String) throws {
                while true {
                    let news = try watcher.next()
                    guard ["waiting", "running"].contains(news.state) else {
                        throw Unexpected("\(news) before \(output) and \(errors)")
                    }
                    let (said, wrong) = (news.details["output-bytes"], news.details["errors-bytes"])
                    if said == output, wrong == errors { return }
                }
            }
            try expect(output: "4", errors: "0")
            try orders.give("go on")
            try expect(output: "4", errors: "4")
            try orders.give("go on")
            #expect(try watcher.last(of: id).state == "done")
            // The other is told of states only.
            let states = try (0..<3).map { _ in try other.next().state }
            #expect(states == ["waiting", "running", "done"])
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `ends with every end of a job`() throws {
        try withDaemon { daemon in
            let client = try daemon.connect()
            let watcher = try Watcher(daemon)
            let delayed = try client.perform("images", "echo", "DELAY", 3_600_000, "x")
            let buffered = try #require(try client.call("BUFFER", "images", "fail", "no").integer)
            #expect(
                try watcher.client.call("OBSERVE", .integer(delayed), .integer(buffered))
                    == .integer(2))
            #expect(try watcher.next() == News(delayed, "delayed", ["attempt": "0"]))
            #expect(try watcher.next() == News(buffered, "buffered", ["attempt": "0"]))
            #expect(try client.call("CANCEL", .integer(delayed)).text == "cancelled")
            #expect(try watcher.next() == News(delayed, "cancelled", ["attempt": "0"]))
            #expect(try client.call("FIRE", "images") == .integer(1))
            let last = try watcher.last(of: buffered)
            #expect(last.state == "failed")
            #expect(last.details["failure"] == "no")
            #expect(try watcher.client.call("UNOBSERVE") == .integer(0))
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `goes on over the attempts of a job`() throws {
        try withDaemon(.durable) { daemon in
            let client = try daemon.connect()
            let watcher = try Watcher(daemon)
            _ = try client.call("PAUSE", "images")
            let id = try client.perform("images", "fail", "RETRY", 1, "no")
            #expect(try watcher.client.call("OBSERVE", .integer(id)) == .integer(1))
            _ = try client.call("RESUME", "images")
            var states: [String] = []
            while states.last != "failed" {
                let news = try watcher.next()
                states.append(news.state)
                if news.state == "failed" { #expect(news.details["attempt"] == "2") }
            }
            #expect(
                states == ["waiting", "running", "delayed", "waiting", "running", "failed"])
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `holds for jobs that are in the journal only`() throws {
        try withDaemon(.durable) { daemon in
            let client = try daemon.connect()
            let watcher = try Watcher(daemon)
            _ = try client.call("PAUSE", "images")
            let count = 8_300
            let one = TestClient.bytes(["PERFORM", "images", "echo", "x"])
            try client.send(Array((0..<count).map { _ in one }.joined()))
            for _ in 0..<count { #expect(try client.reply().integer != nil) }
            let both: [CommandArgument] = ["OBSERVE", .integer(count - 1), .integer(count)]
            try watcher.client.send(TestClient.bytes(both))
            #expect(try watcher.client.reply() == .integer(2))
            #expect(try watcher.next() == News(count - 1, "waiting", ["attempt": "0"]))
            #expect(try watcher.next() == News(count, "waiting", ["attempt": "0"]))
            #expect(try client.call("CANCEL", .integer(count)).text == "cancelled")
            #expect(try watcher.next().state == "cancelled")
            _ = try client.call("RESUME", "images")
            #expect(try watcher.last(of: count - 1).state == "done")
            // One that is no longer in memory, and one that never was.
            #expect(try watcher.client.call("OBSERVE", .integer(count + 1)).errorWord == "NOJOB")
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `WATCH and UNWATCH are older names, which no list shows`() throws {
        try withDaemon { daemon in
            let watcher = try Watcher(daemon)
            let id = try watcher.client.perform("images", "sleep", "3600000")
            // So that there is one push only.
            try watcher.client.waitUntil(id, is: "running")
            #expect(try watcher.client.call("WATCH", .integer(id)) == .integer(1))
            #expect(try watcher.next().id == id)
            #expect(try watcher.client.call("UNWATCH") == .integer(1))
            let names = try watcher.client.call("COMMAND", "LIST").elements?.compactMap(\.text)
            #expect(names?.contains("observe") == true && names?.contains("watch") == false)
            let refused = try watcher.client.call("WATCH")
            #expect(refused.errorMessage?.contains("usage: WATCH id [id …]") == true)
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `needs version 3, known jobs and not too many`() throws {
        try withDaemon { daemon in
            let client = try daemon.connect()
            let id = try client.perform("images", "sleep", "3600000")
            try client.waitUntil(id, is: "running")
            let refused = try client.call("OBSERVE", .integer(id))
            #expect(refused.errorWord == "ERR")
            #expect(refused.errorMessage?.contains("HELLO 3") == true)
            let watcher = try Watcher(daemon)
            #expect(try watcher.client.call("OBSERVE", .integer(id), 77).errorWord == "NOJOB")
            #expect(try watcher.client.call("UNOBSERVE", .integer(id)) == .integer(0))
            #expect(try watcher.client.call("OBSERVE", "x").errorWord == "ERR")
            let others = (0..<1_000).map { _ in
                TestClient.bytes(["PERFORM", "images", "echo", "x"])
            }
            try client.send(Array(others.joined()))
            for _ in others { #expect(try client.reply().integer != nil) }
            let all = (2...1_001).map { CommandArgument.integer($0) }
            try watcher.client.send(TestClient.bytes(["OBSERVE", .integer(id)] + all))
            let tooMany = try watcher.client.reply()
            #expect(tooMany.errorMessage?.contains("1000 jobs at a time") == true)
            try watcher.client.send(TestClient.bytes(["OBSERVE"] + all))
            #expect(try watcher.client.reply() == .integer(1_000))
            for _ in all { #expect(try watcher.next().state == "waiting") }
            #expect(try watcher.client.call("OBSERVE", .integer(id)).errorWord == "ERR")
            // Jobs that it watches already count no more than once.
            #expect(try watcher.client.call("OBSERVE", 2, 3) == .integer(2))
            for _ in 2...3 { #expect(try watcher.next().state == "waiting") }
            #expect(try watcher.client.call("UNOBSERVE", 2, 2, 3, 5_000) == .integer(2))
            #expect(try watcher.client.call("OBSERVE", .integer(id)) == .integer(1))
            #expect(try watcher.next().state == "running")
            // A client that goes back to version 2 watches nothing any more.
            #expect(try watcher.client.call("HELLO", 2)["proto"] == .integer(2))
            #expect(try client.call("CANCEL", .integer(id)).text == "requested")
            #expect(try client.call("RESULT", 1_001, "WAIT").text == "x")
            #expect(try watcher.client.call("PING").text == "PONG")
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `tells who reads slowly the latest only`() throws {
        try withObedient { daemon in
            let client = try daemon.connect()
            let watcher = try Watcher(daemon)
            let orders = try Orders("orders", in: daemon.scratch)
            let id = try client.perform("images", "obey", orders.payload)
            try client.waitUntil(id, is: "running")
            #expect(try watcher.client.call("OBSERVE", .integer(id)) == .integer(1))
            #expect(try watcher.next().state == "running")
            let much = [UInt8](repeating: 65, count: 7 << 20)
            try watcher.client.send("ECHO", .bytes(much))
            try eventually("much waits") { try client.figure("client_output_backlog") > 1 << 20 }
            for step in 1...3 {
                try orders.give("progress 0.\(step)")
                try eventually("step \(step)") {
                    try client.job(id, "progress").text == "0.\(step)"
                }
            }
            try orders.give("return all")
            #expect(try client.call("RESULT", .integer(id), "WAIT").text == "all")
            #expect(try watcher.client.reply().bytes?.count == much.count)
            #expect(try watcher.next().state == "done")
            #expect(try watcher.client.call("PING").text == "PONG")
        }
    }

    @Test(.timeLimit(.minutes(2)), arguments: [[1], []])
    func `tells who reads slowly nothing any more about what it has let go of`(ids: [Int]) throws {
        try withDaemon { daemon in
            let client = try daemon.connect()
            let watcher = try Watcher(daemon)
            for _ in 1...2 { _ = try client.perform("images", "echo", "DELAY", 3_600_000, "x") }
            #expect(try watcher.client.call("OBSERVE", 1, 2) == .integer(2))
            for _ in 1...2 { #expect(try watcher.next().state == "delayed") }
            // So much that pushes are held, and not so much that it is not heard.
            let much = [UInt8](repeating: 65, count: 900 << 10)
            try watcher.client.send("ECHO", .bytes(much))
            try eventually("much waits") { try client.figure("client_output_backlog") > 64 << 10 }
            for id in 1...2 {
                #expect(try client.call("CANCEL", .integer(id)).text == "cancelled")
            }
            try watcher.client.send(TestClient.bytes(["UNOBSERVE"] + ids.map { .integer($0) }))
            try eventually("it is heard") {
                try client.call("CLIENT", "LIST").text?.contains("cmd=unobserve") == true
            }
            #expect(try watcher.client.reply().bytes?.count == much.count)
            #expect(try watcher.client.reply() == .integer(0))
            if !ids.isEmpty { #expect(try watcher.next().id == 2) }
            #expect(try watcher.client.call("PING").text == "PONG")
        }
    }
}

/// The contents of a push.
private struct News: Equatable, CustomStringConvertible {
    let id: Int
    let state: String
    let details: [String: String]

    init(_ id: Int, _ state: String, _ details: [String: String]) {
        self.id = id
        self.state = state
        self.details = details
    }

    init(_ push: RESPValue) throws {
        guard case .push(let parts) = push, parts.count == 4, parts[0].text == "job",
            let id = parts[1].integer, let state = parts[2].text, case .map(let entries) = parts[3]
        else { throw Unexpected("no news: \(push)") }
        var details: [String: String] = [:]
        for entry in entries {
            let value = entry.value
            details[entry.key.text ?? "?"] =
                value.text ?? value.integer.map { "\($0)" } ?? value.double.map { "\($0)" }
        }
        self.init(id, state, details)
    }

    var description: String { "job \(id) \(state) \(details)" }
}

/// A client that speaks version 3.
private final class Watcher {
    let client: TestClient

    init(_ daemon: TestDaemon) throws {
        client = try daemon.connect()
        _ = try client.call("HELLO", 3)
    }

    func next() throws -> News { try News(client.reply()) }

    /// The news of a job's end.
    func last(of id: Int) throws -> News {
        while true {
            let news = try next()
            if news.id == id, ["done", "failed", "cancelled"].contains(news.state) { return news }
        }
    }
}
