// The live view as the page reads it.

import Kernel
import PostgreSQLServer
import RESP
import Support
import Testing
import WorkerDaemon

@Suite struct `The live view` {
    private static let setup = Setup(
        threads: "images: {}, mail: { count: 2 }", listen: "http: { unix: \"$DIR/http\" }")

    /// Reads changes until one says something.
    private func row(
        _ stream: StreamClient, _ table: String, _ name: String,
        where isMeant: (JSONValue) -> Bool = { _ in true }
    ) throws -> JSONValue {
        while true {
            guard let (_, kind, data) = try stream.next() else { throw Unexpected("it ended") }
            #expect(kind == "change")
            for row in data[table]?.elements ?? []
            where row["name"] == .string(name) && isMeant(row) {
                return row
            }
        }
    }

    @Test(
        .timeLimit(.minutes(2)),
        arguments: [
            (TestStore.memory, "memory"), (.file, "file"), (.postgresql, "database"),
        ])
    func `tells where jobs are kept`(store: TestStore, kind: String) throws {
        if store == .postgresql, !PostgreSQLServer.isInstalled { return }
        try withDaemon(
            Setup(
                threads: "images: {}", listen: "http: { unix: \"$DIR/http\" }", store: store.setting
            )
        ) { daemon in
            let first = try #require(try daemon.stream("/api/live").next())
            #expect(first.data["server"]?["store"] == .string(kind))
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `begins with everything, and goes on with changed rows`() throws {
        try withDaemon(Self.setup) { daemon in
            let client = try daemon.connect()
            _ = try client.call("PERFORM", "mail/2", "fail", "WAIT", "x")
            let stream = try daemon.stream("/api/live")
            let first = try #require(try stream.next())
            #expect(first.kind == "snapshot" && first.id.hasSuffix("-1"))
            let data = first.data
            #expect(data["server"]?["writable"] == .boolean(true))
            #expect(data["server"]?["draining"] == .boolean(false))
            #expect(data["counts"]?["failed"] == .number("1"))
            #expect(data["timeline"]?["count"] == .number("180"))
            #expect(
                data["pools"]?.elements.map { $0["name"] } == [.string("images"), .string("mail")])
            let names = data["threads"]?.elements.map { $0["name"] }
            #expect(names == ["images", "mail/1", "mail/2"].map { .string($0) })
            let buckets = data["threads"]?.elements[2]["buckets"]?.elements
            #expect(buckets?.count == 1)
            #expect(
                buckets?[0].elements[1...5].map { $0 }
                    == ["0", "1", "0", "0", "0"].map { .number($0) })
            #expect(buckets?[0].elements[6] == .number("1"))
            #expect(data["threads"]?.elements[0]["buckets"] == nil)
            #expect(
                data["selectors"]?.elements.contains { $0["run"]?["count"] == .number("1") } == true
            )

            _ = try client.call("PAUSE", "images")
            let paused = try row(stream, "threads", "images")
            #expect(paused["state"] == .string("paused") && paused["buckets"] == nil)
            let id = try client.perform("images", "echo", "LABEL", "l", "x")
            let pool = try row(stream, "pools", "images") { $0["oldest"] != nil }
            #expect(pool["waiting"] == .number("1"))
            _ = try client.call("CANCEL", .integer(id))
            let cancelled = try row(stream, "threads", "images") { $0["buckets"] != nil }
            let counts = cancelled["buckets"]?.elements[0].elements
            #expect(
                counts?[1...].map { $0 } == ["0", "0", "0", "1", "0", "0", "0"].map { .number($0) })
        }
    }

    @Test(.timeLimit(.minutes(2)), arguments: [true, false])
    func `is pushed over the Redis protocol, with HTTP or without`(hasHTTP: Bool) throws {
        let setup = hasHTTP ? Self.setup : Setup(threads: "images: {}, mail: { count: 2 }")
        try withDaemon(setup) { daemon in
            let client = try daemon.connect()
            _ = try client.call("PERFORM", "mail/2", "fail", "WAIT", "x")
            let reader = try daemon.connect()
            #expect(try reader.call("THREADS", "LIVE").errorWord == "ERR")
            _ = try reader.call("HELLO", 3)
            #expect(try reader.call("THREADS", "LIFE").errorWord == "ERR")
            #expect(try reader.call("THREADS", "LIVE") == .simpleString("OK"))
            guard case .push(let first) = try reader.reply() else { throw Unexpected("no push") }
            #expect(first[0].text == "live" && first[1].text == "snapshot")
            let threads = try #require(first[2]["threads"]?.elements)
            #expect(threads.map { $0["name"]?.text } == ["images", "mail/1", "mail/2"])
            #expect(threads[2]["failed"] == .integer(1))
            #expect((threads[2]["buckets"] != nil) == hasHTTP)

            _ = try client.call("PAUSE", "images")
            guard case .push(let change) = try reader.reply() else { throw Unexpected("no push") }
            #expect(change[1].text == "change")
            let row = change[2]["threads"]?.elements?.first
            #expect(row?["name"]?.text == "images" && row?["state"]?.text == "paused")

            // Another stream takes its place, and it that of another one.
            #expect(try reader.call("EVENTS").errorWord == nil)
            _ = try client.call("RESUME", "images")
            guard case .push(let event) = try reader.reply() else { throw Unexpected("no push") }
            #expect(event[0].text == "event")
            #expect(try reader.call("THREADS", "LIVE") == .simpleString("OK"))
            guard case .push(let again) = try reader.reply() else { throw Unexpected("no push") }
            #expect(again[0].text == "live" && again[1].text == "snapshot")
            _ = try reader.call("HELLO", 2)
            _ = try client.call("PERFORM", "images", "echo", "WAIT", "x")
            #expect(try reader.call("PING") == .simpleString("PONG"))
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `shows what runs, and how far it is`() throws {
        try withObedient(Self.setup) { daemon in
            let client = try daemon.connect()
            let orders = try Orders("orders", in: daemon.scratch)
            let stream = try daemon.stream("/api/live")
            _ = try stream.next()
            let id = try client.perform("images", "obey", "LABEL", "l", "KEY", "k", orders.payload)
            let running = try row(stream, "threads", "images") { $0["job"] != nil }
            let job = try #require(running["job"])
            #expect(running["state"] == .string("running"))
            #expect(job["id"] == .number("\(id)") && job["attempt"] == .number("1"))
            #expect(job["label"] == .string("l") && job["key"] == .string("k"))
            for fraction in ["0.5", "0.75"] {
                try orders.give("progress \(fraction)")
                _ = try row(stream, "threads", "images") {
                    $0["job"]?["progress"] == .number(fraction)
                }
            }
            try orders.give("return all")
            let idle = try row(stream, "threads", "images") { $0["job"] == nil }
            #expect(idle["state"] == .string("idle") && idle["done"] == .number("1"))
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `adds up to the same for a slow reader as for a fast one`() throws {
        try withDaemon(Self.setup) { daemon in
            let client = try daemon.connect()
            let slow = try daemon.stream("/api/live")
            let fast = try daemon.stream("/api/live")
            var (views, messages) = ([LiveView(), LiveView()], 0)
            for round in 0..<5 {
                for _ in 0..<20 {
                    _ = try client.call("PERFORM", "mail", "echo", "WAIT", "x")
                    _ = try client.call("PERFORM", "images", "fail", "WAIT", "x")
                }
                let wanted = "\(20 * (round + 1))"
                while views[1].counts?["failed"] != .number(wanted) {
                    guard let next = try fast.next() else { throw Unexpected("it ended") }
                    views[1].take(next.data)
                    messages += 1
                }
            }
            while views[0].counts?["failed"] != .number("100") {
                guard let next = try slow.next() else { throw Unexpected("it ended") }
                views[0].take(next.data)
            }
            // A third one begins with the same.
            var third = LiveView()
            third.take(try #require(try daemon.stream("/api/live").next()).data)
            #expect(views[0].ends == views[1].ends && third.ends == views[1].ends)
            #expect(third.ends.values.reduce(0, +) == 200)
        }
    }
}

/// The state of a page.
private struct LiveView {
    var counts: JSONValue?
    /// The ends of each bucket, by thread and bucket.
    var ends: [String: Int] = [:]

    mutating func take(_ data: JSONValue) {
        counts = data["counts"] ?? counts
        for row in data["threads"]?.elements ?? [] {
            for bucket in row["buckets"]?.elements ?? [] {
                let numbers = bucket.elements.map { value in
                    if case .number(let text) = value { Int(text) ?? -1 } else { -1 }
                }
                guard case .string(let name)? = row["name"] else { continue }
                ends["\(name) \(numbers[0])"] = numbers[1...5].reduce(0, +)
            }
        }
    }
}

extension JSONValue {
    /// The elements of a list; none of another value.
    fileprivate var elements: [JSONValue] {
        if case .array(let values) = self { values } else { [] }
    }
}
