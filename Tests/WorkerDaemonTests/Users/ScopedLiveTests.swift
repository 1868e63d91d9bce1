// The live view of users that may touch some threads and selectors only.

import Kernel
import RESP
import Support
import Testing
import WorkerDaemon

@Suite struct `The live view of a user of some threads` {
    private static let owner = TestUser("owner", ["observe", "submit", "work", "operate"])
    private static let mailer = TestUser(
        "mailer", ["observe"], "threads: [\"mail*\"], selectors: [\"echo\", \"send-*\"]")
    private static let setup = Setup(
        threads: "images: {}, mail: { count: 2 }, mailbox: {}",
        selectors: "\"send-now\": { worker: true }, turn: { worker: true }")

    private func stream(_ doors: UserDoors, as user: TestUser) throws -> StreamClient {
        try doors.daemon.stream("/api/live", fields: ["Authorization: Bearer \(user.secret)"])
    }

    /// Reads changes until a row of a table says something.
    private func row(
        _ stream: StreamClient, _ table: String, _ name: String,
        where isMeant: (JSONValue) -> Bool
    ) throws -> JSONValue {
        while true {
            guard let (_, _, data) = try stream.next() else { throw Unexpected("it ended") }
            for row in data[table]?.elements ?? []
            where row["name"] == .string(name) && isMeant(row) {
                return row
            }
        }
    }

    private func names(_ data: JSONValue, _ table: String) -> [JSONValue?] {
        (data[table]?.elements ?? []).map { $0["name"] }
    }

    @Test(.timeLimit(.minutes(2))) func `has its rows and counts only`() throws {
        try withUsers([Self.owner, Self.mailer], Self.setup) { doors in
            let client = try doors.connect(as: Self.owner)
            for (thread, selector) in [
                ("images", "fail"), ("images", "echo"), ("mail/1", "echo"), ("mailbox", "sha256"),
                ("mailbox", "fail"),
            ] {
                _ = try client.call("PERFORM", .text(thread), .text(selector), "WAIT", "x")
            }
            for thread: CommandArgument in ["images", "images", "mail"] {
                _ = try client.perform(thread, "echo", "DELAY", 3_600_000, "x")
            }
            let first = try #require(try stream(doors, as: Self.mailer).next()?.data)
            #expect(names(first, "pools") == [.string("mail"), .string("mailbox")])
            #expect(
                names(first, "threads")
                    == ["mail/1", "mail/2", "mailbox"].map { .string($0) })
            #expect(names(first, "selectors") == [.string("echo"), .string("send-now")])
            #expect(first["selectors"]?.elements.allSatisfy { $0["run"] == nil } == true)
            #expect(first["pools"]?.elements[1]["wait"]?["count"] == .number("2"))
            let counts = try #require(first["counts"])
            for (name, count) in [("delayed", "1"), ("done", "2"), ("failed", "1")] {
                #expect(counts[name] == .number(count), "\(name)")
            }
            #expect(counts["accepted"] == nil && counts["expired"] == nil)
            #expect(first["server"]?["writable"] == .boolean(true))
            // Job 4, of another selector, ran longest.
            let bucket = first["threads"]?.elements[2]["buckets"]?.elements[0].elements
            #expect(bucket?.suffix(2) == [.number("0"), .number("0")])
            // The owner has all of it.
            let all = try #require(try stream(doors, as: Self.owner).next()?.data)
            #expect(names(all, "pools").count == 3 && all["counts"]?["delayed"] == .number("3"))
            #expect(all["selectors"]?.elements.contains { $0["run"] != nil } == true)
            #expect(
                all["threads"]?.elements[3]["buckets"]?.elements[0].elements[6] != .number("0"))
        }
    }

    @Test(.timeLimit(.minutes(2))) func `tells nothing while others' threads work`() throws {
        try withUsers([Self.owner, Self.mailer], Self.setup) { doors in
            let client = try doors.connect(as: Self.owner)
            let (own, all) = (
                try stream(doors, as: Self.mailer), try stream(doors, as: Self.owner)
            )
            #expect(try own.next()?.kind == "snapshot")
            _ = try all.next()
            _ = try client.call("PERFORM", "images", "echo", "WAIT", "x")
            _ = try row(all, "threads", "images") { $0["done"] == .number("1") }
            _ = try client.call("PERFORM", "mailbox", "echo", "WAIT", "x")
            let (id, kind, data) = try #require(try own.next())
            #expect(id.hasSuffix("-2") && kind == "change")
            #expect(names(data, "threads") == [.string("mailbox")])
            #expect(data["selectors"] == nil)
        }
    }

    @Test(.timeLimit(.minutes(2))) func `names no job of another selector`() throws {
        try withUsers([Self.owner, Self.mailer], Self.setup) { doors in
            let client = try doors.connect(as: Self.owner)
            let (own, all) = (
                try stream(doors, as: Self.mailer), try stream(doors, as: Self.owner)
            )
            let id = try client.perform("mailbox", "sleep", "LABEL", "l", "100000")
            let isBusy = { (row: JSONValue) in row["state"] == .string("running") }
            #expect(try row(all, "threads", "mailbox", where: isBusy)["job"] != nil)
            #expect(try row(own, "threads", "mailbox", where: isBusy)["job"] == nil)
            _ = try client.call("CANCEL", .integer(id))
            for (selector, isSeen) in [("turn", false), ("send-now", true)] {
                let held = try client.perform("mailbox", .text(selector), "x")
                let isHeld = { (row: JSONValue) in row["state"] == .string("held") }
                let seen = try row(own, "threads", "mailbox", where: isHeld)
                #expect((seen["awaits-worker"] != nil) == isSeen, "\(selector)")
                #expect(try row(all, "threads", "mailbox", where: isHeld)["awaits-worker"] != nil)
                _ = try client.call("CANCEL", .integer(held))
                for one in [own, all] {
                    _ = try row(one, "threads", "mailbox") { $0["state"] == .string("idle") }
                }
            }
        }
    }

    @Test(.timeLimit(.minutes(2))) func `has a member without its pool`() throws {
        let single = TestUser("single", ["observe"], "threads: [\"mail/1\"]")
        try withUsers([Self.owner, single], Self.setup) { doors in
            let client = try doors.connect(as: Self.owner)
            _ = try client.perform("mail", "echo", "DELAY", 3_600_000, "x")
            let first = try #require(try stream(doors, as: single).next()?.data)
            #expect(names(first, "pools") == [] && names(first, "threads") == [.string("mail/1")])
            #expect(first["counts"]?["delayed"] == .number("0"))
        }
    }

    @Test(.timeLimit(.minutes(2))) func `ends when a reload changes its rights`() throws {
        try withUsers([Self.owner, Self.mailer], Self.setup) { doors in
            let client = try doors.connect(as: Self.owner)
            let own = try stream(doors, as: Self.mailer)
            let other = try stream(doors, as: Self.owner)
            let (watching, reading) = (
                try doors.connect(as: Self.mailer), try doors.connect(as: Self.mailer)
            )
            let resting = try doors.connect(as: Self.mailer)
            let id = try client.perform("mail", "echo", "DELAY", 3_600_000, "x")
            for one in [watching, reading] { _ = try one.call("HELLO", 3) }
            #expect(try watching.call("OBSERVE", .integer(id)) == .integer(1))
            _ = try watching.reply()
            #expect(try reading.call("EVENTS").errorWord == nil)
            let fewer = TestUser("mailer", ["observe"], "threads: [\"mailbox\"]")
            try doors.daemon.scratch.writeUsers([Self.owner, fewer])
            #expect(try client.call("RELOAD").errorWord == nil)
            while try own.next() != nil {}
            for one in [watching, reading] { while try one.bytes() != nil {} }
            // Others go on, with their rights of now.
            #expect(
                try resting.call("THREADS").elements?.map { $0["name"] } == [
                    .bulk(Array("mailbox".utf8))
                ])
            _ = try client.call("PERFORM", "mailbox", "echo", "WAIT", "x")
            _ = try row(other, "threads", "mailbox") { $0["done"] == .number("1") }
        }
    }
}

extension JSONValue {
    /// The elements of a list; none of another value.
    fileprivate var elements: [JSONValue] {
        if case .array(let values) = self { values } else { [] }
    }
}
