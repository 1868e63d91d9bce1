// The real daemon reads its configuration again: by command, by signal, over HTTP.

import Kernel
import RESP
import Support
import Testing

@Suite struct `A reload` {
    @Test(.timeLimit(.minutes(2))) func `applies limits and the level of the log`() throws {
        try withDaemon { daemon in
            let client = try daemon.connect()
            #expect(try client.call("RELOAD").texts == [])
            try daemon.rewrite(section: "log: { level: \"notice\" }")
            try daemon.rewrite(
                section: "limits: { waitingJobs: 3, payload: 100, retainedResults: 0 }")
            let lines = [
                "limits.payload: 8MB → 100", "limits.waitingJobs: 1,000,000 → 3",
                "limits.retainedResults: 10,000 → 0", "log.level: debug → notice",
            ]
            #expect(try client.call("RELOAD", "DRY").texts == lines)
            #expect(try client.call("PERFORM", "images", "echo", "WAIT", "x").text == "x")
            #expect(try client.call("RELOAD").texts == lines)
            for line in lines { #expect(daemon.log.contains("reload: \(line)\n")) }
            #expect(daemon.log.contains("reloaded: 4 changes\n"))
            #expect(try client.call("RELOAD").texts == [])

            _ = try client.call("PAUSE", "images")
            for _ in 0..<3 {
                #expect(try client.call("PERFORM", "images", "echo", "x").integer != nil)
            }
            #expect(try client.call("PERFORM", "images", "echo", "x").errorWord == "BUSY")
            #expect(try payloadLimit(client) == "100")
            // A connection keeps the limits with which it came in.
            #expect(try client.call("ECHO", .text(String(repeating: "x", count: 200))).text != nil)
            let other = try daemon.connect()
            #expect(
                try other.call("ECHO", .text(String(repeating: "x", count: 200))).errorMessage?
                    .contains("limits.payload") == true)
            // Ended jobs are no longer kept.
            #expect(try client.call("JOB", 1).errorWord == "NOJOB")
            #expect(!daemon.log.contains("client 2 came in"))
        }
    }

    @Test(.timeLimit(.minutes(2)), arguments: [Setup.memory, Setup.durable.store])
    func `drops ended jobs above lower limits at once, and so does a restart`(
        store: String
    ) throws {
        let scratch = try Scratch()
        var daemon = try TestDaemon(Setup(store: store), in: scratch)
        defer { daemon.kill() }
        var client = try daemon.connect()
        func count(_ state: String) throws -> Int? {
            try client.call("JOBS", .text(state)).elements?.count
        }
        for _ in 0..<5 {
            #expect(try client.call("PERFORM", "images", "echo", "WAIT", "x").text == "x")
            #expect(try client.call("PERFORM", "images", "fail", "WAIT", "x").errorWord == "FAILED")
        }
        try daemon.rewrite(section: "limits: { retainedResults: 3, retainedFailures: 2 }")
        #expect(try client.call("RELOAD").texts?.count == 2)
        #expect(try [count("done"), count("failed")] == [3, 2])
        guard store != Setup.memory else { return }
        try daemon.crash()
        let setup = Setup(limits: "retainedResults: 2, retainedFailures: 1", store: store)
        daemon = try TestDaemon(setup, in: scratch, logName: "log2")
        client = try daemon.connect()
        try eventually("they are dropped") { try [count("done"), count("failed")] == [2, 1] }
    }

    @Test(.timeLimit(.minutes(2))) func `of a bad file changes nothing and names all faults`()
        throws
    {
        try withDaemon { daemon in
            let client = try daemon.connect()
            try daemon.rewrite(section: "log: { level: \"loud\" }")
            try daemon.rewrite(section: "limits: { payload: 100, pipelin: 3 }")
            let file = daemon.configurationFile
            let faults = [
                "\(file): limits.pipelin: unknown key, did you mean \"pipeline\"? "
                    + "(line 6, column 29)",
                "\(file): log.level: "
                    + "must be one of \"debug\", \"info\", \"notice\", \"warning\", "
                    + "\"error\", is \"loud\" (line 8, column 19)",
            ]
            for command: [CommandArgument] in [["RELOAD"], ["RELOAD", "DRY"]] {
                let error = try client.callTogether(command)[0].errorMessage
                #expect(error == faults.joined(separator: "; "))
            }
            #expect(daemon.log.contains("not reloaded: " + faults.joined(separator: "; ")))
            #expect(try payloadLimit(client) != "100")
            try daemon.scratch.write("{", to: "workerd.json5")
            #expect(try client.call("RELOAD").errorMessage?.contains("line 1, column 2") == true)
            #expect(try client.call("RELOAD", "WET").errorMessage?.contains("'WET'") == true)
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `refuses by name what needs a restart, and applies nothing`() throws {
        try withDaemon { daemon in
            let client = try daemon.connect()
            try daemon.rewrite(section: "store: \"$DIR/other.sqlite\"")
            try daemon.rewrite(section: "limits: { payload: 100 }")
            for command: [CommandArgument] in [["RELOAD"], ["RELOAD", "DRY"]] {
                #expect(
                    try client.callTogether(command)[0].errorMessage
                        == "store can't change at a reload: restart workerd")
            }
            #expect(try payloadLimit(client) != "100")
        }
    }

    @Test(.timeLimit(.minutes(2))) func `changes how many events are kept, and streams`() throws {
        try withDaemon(Setup(limits: "events: 4, streams: 2")) { daemon in
            let client = try daemon.connect()
            _ = try client.call("HELLO", 3)
            let reader = try EventClient(daemon)
            func limit(_ text: String) throws {
                try daemon.rewrite(section: "limits: { \(text) }")
                #expect(try client.call("RELOAD").errorWord == nil)
            }
            func oldest() throws -> String {
                let late = try EventClient(daemon, "SINCE", .text(reader.begin))
                let first = try late.next()
                return "\(first.kind) \(first.details["count"] ?? "none")"
            }
            for _ in 0..<2 { _ = try client.call("PERFORM", "images", "echo", "WAIT", "x") }
            _ = try reader.next(6)
            #expect(try oldest() == "missed 2")
            try limit("events: 2, streams: 2")
            try eventually("its stream has ended") { try oldest() == "missed 4" }
            try limit("events: 100, streams: 1")
            let refused = try client.call("EVENTS")
            #expect(refused.errorWord == "BUSY")
            for _ in 0..<3 { _ = try client.call("PERFORM", "images", "echo", "WAIT", "x") }
            _ = try reader.next(9)
            try limit("events: 0")
            #expect(try client.call("EVENTS").errorMessage?.contains("limits.events") == true)
            try limit("events: 7")
            #expect(try client.call("EVENTS").errorWord == nil)
        }
        // Also of a daemon that began without.
        try withDaemon(Setup(limits: "events: 0")) { daemon in
            try daemon.rewrite(section: "limits: { }")
            #expect(
                try daemon.connect().call("RELOAD").texts == ["limits.events: 0 → 10,000"])
            let reader = try EventClient(daemon)
            _ = try daemon.connect().call("PERFORM", "images", "echo", "x")
            #expect(try reader.next().details["change"] == "accepted")
        }
    }

    @Test(.timeLimit(.minutes(2))) func `is what SIGHUP asks for`() throws {
        try withDaemon { daemon in
            let client = try daemon.connect()
            try daemon.rewrite(section: "limits: { payload: 100 }")
            try daemon.send(.hangUp)
            try eventually("it is applied") { daemon.log.contains("reloaded: 1 change\n") }
            #expect(try payloadLimit(client) == "100")
            try daemon.scratch.write("{", to: "workerd.json5")
            try daemon.send(.hangUp)
            try eventually("the fault is told") { daemon.log.contains("not reloaded: ") }
            #expect(try client.call("PERFORM", "images", "echo", "WAIT", "x").text == "x")
        }
    }

    @Test(.timeLimit(.minutes(2))) func `reads the password anew`() throws {
        let scratch = try Scratch()
        let (address, door) = try freeLoopbackAddress()
        var setup = Setup()
        setup.listen = try scratch.passwordDoor(at: address, password: "first")
        let daemon = try TestDaemon(setup, in: scratch)
        defer { daemon.kill() }
        let client = try daemon.connect()
        let early = try TestClient(door)
        #expect(try early.call("AUTH", "first").text == "OK")
        _ = try scratch.passwordDoor(at: address, password: "second")
        #expect(try client.call("RELOAD").texts == ["listen.passwordFile: another password"])
        let late = try TestClient(door)
        #expect(try late.call("AUTH", "first").errorWord == "WRONGPASS")
        #expect(try late.call("AUTH", "second").text == "OK")
        #expect(try early.call("PING").text == "PONG")
        #expect(!daemon.log.contains("second"))
    }

    @Test(.timeLimit(.minutes(2)))
    func `opens and closes doors, and leaves alone those that stay`() throws {
        let scratch = try Scratch()
        let (address, door) = try freeLoopbackAddress()
        let (taken, other) = try freeLoopbackAddress()
        let daemon = try TestDaemon(Setup(), in: scratch)
        defer { daemon.kill() }
        let client = try daemon.connect()
        let password = try scratch.passwordDoor(at: address, password: "secret")
        func listen(_ path: String, _ more: String) throws {
            try daemon.rewrite(section: "listen: { unix: \"$DIR/\(path)\", \(more) }")
        }
        try listen("s", password)
        #expect(
            try client.call("RELOAD").texts == [
                "listen.tcp: none → \(address)",
                "listen.passwordFile: none → \(scratch.file("password"))",
            ])
        let inside = try TestClient(door)
        #expect(try inside.call("AUTH", "secret").text == "OK")

        // A door that can't be opened: nothing changes, though another one could.
        let occupied = try Listener(at: other)
        try listen(
            "t", "http: { unix: \"$DIR/http\" }, " + password.replacing(address, with: taken))
        let refusal = try client.call("RELOAD").errorMessage ?? ""
        #expect(refusal.hasPrefix("can't listen: ") && refusal.contains(taken), "\(refusal)")
        #expect(!scratch.has("t") && !scratch.has("http") && scratch.has("s"))
        _ = consume occupied
        #expect(try TestClient(door).call("AUTH", "secret").text == "OK")

        try listen("t", "http: { unix: \"$DIR/http\", unixMode: \"0666\" }")
        #expect(
            try client.call("RELOAD").texts == [
                "listen.unix: \(scratch.file("s")) → \(scratch.file("t"))",
                "listen.tcp: \(address) → none",
                "listen.passwordFile: \(scratch.file("password")) → none",
                "listen.http.unix: none → \(scratch.file("http"))",
                "listen.http.unixMode: 0600 → 0666",
            ])
        // Connections go on, and no client comes in where a door was.
        #expect(try inside.call("PING").text == "PONG")
        #expect(try client.call("PING").text == "PONG")
        #expect(throws: (any Error).self) { try TestClient(door) }
        #expect(!scratch.has("s"))
        #expect(try daemon.connectHTTP().get("/readyz").text == "ok\n")
        let late = try TestClient(.unix(UnixAddress(scratch.file("t"))))
        #expect(try late.call("PING").text == "PONG")
        #expect(try File.mode(of: scratch.file("t")).map { $0 & 0o777 } == 0o600)
        try listen("t", "unixMode: \"0660\"")
        #expect(try late.call("RELOAD").errorWord == nil)
        #expect(try File.mode(of: scratch.file("t")).map { $0 & 0o777 } == 0o660)
    }

    @Test(.timeLimit(.minutes(2)))
    func `lets doors of two protocols change their addresses with each other`() throws {
        let scratch = try Scratch()
        let (first, second) = (try freeLoopbackAddress(), try freeLoopbackAddress())
        try scratch.write("\(testKey)\n", to: "key")
        try File.setMode(0o600, of: scratch.file("key"))
        func listen(_ redis: String, _ http: String, _ unix: (String, String)) throws -> String {
            try scratch.passwordDoor(at: redis, password: "secret")
                + ", http: { tcp: \"\(http)\", keyFile: \"$DIR/key\", unix: \"$DIR/\(unix.1)\" }"
        }
        let setup = Setup(listen: try listen(first.text, second.text, ("s", "h")))
        let daemon = try TestDaemon(setup, in: scratch)
        defer { daemon.kill() }
        let client = try daemon.connect()
        let early = try TestClient(first.address)
        #expect(try early.call("AUTH", "secret").text == "OK")
        let more = try listen(second.text, first.text, ("h", "s"))
        try daemon.rewrite(section: "listen: { unix: \"$DIR/h\", \(more) }")
        let reply = try client.call("RELOAD")
        #expect(
            reply.texts == [
                "listen.unix: \(scratch.file("s")) → \(scratch.file("h"))",
                "listen.tcp: \(first.text) → \(second.text)",
                "listen.http.tcp: \(second.text) → \(first.text)",
                "listen.http.unix: \(scratch.file("h")) → \(scratch.file("s"))",
            ], "\(reply)")
        #expect(
            daemon.log.contains(
                "\(first.text) speaks HTTP from now on; its connections go on\n"))
        #expect(try client.call("PING").text == "PONG")
        #expect(try early.call("PING").text == "PONG")
        let moved = try TestClient(second.address)
        #expect(try moved.call("PING").errorWord == "NOAUTH")
        #expect(try moved.call("AUTH", "secret").text == "OK")
        let web = try HTTPTestClient(first.address, key: testKey)
        #expect(try web.get("/api/threads").status == 200)
        let local = try HTTPTestClient(.unix(UnixAddress(scratch.file("s"))))
        #expect(try local.get("/api/threads").status == 200)
        let other = try TestClient(.unix(UnixAddress(scratch.file("h"))))
        #expect(try other.call("PING").text == "PONG")
    }

    @Test(.timeLimit(.minutes(2)))
    func `gives users their new rights, and has removed users leave`() throws {
        let operators = TestUser("boss", ["operate"])
        let before = [
            operators, TestUser("ann", ["observe"]), TestUser("bob", ["observe"]),
            TestUser("cat", ["observe"]),
        ]
        try withUsers(before) { doors in
            let boss = try doors.connect(as: operators)
            let ann = try doors.connect(as: before[1])
            let bob = try doors.connect(as: before[2])
            #expect(try ann.call("THREADS").errorWord == nil)
            #expect(try ann.call("PAUSE", "images").errorWord == "NOPERM")
            let cat = TestUser("cat", ["observe"], secret: "another one")
            try doors.daemon.scratch.writeUsers([
                operators, TestUser("ann", ["operate"]), cat, TestUser("dan", ["submit"]),
            ])
            let lines = [
                "user ann: other rights", "user bob: removed", "user cat: other secrets",
                "user dan: added",
            ]
            #expect(try boss.call("RELOAD", "DRY").texts == lines)
            #expect(try bob.call("THREADS").errorWord == nil)
            #expect(try boss.call("RELOAD").texts == lines)
            #expect(try ann.call("THREADS").errorWord == "NOPERM")
            #expect(try ann.call("PAUSE", "images").errorWord == nil)
            #expect(try bob.bytes() == nil)
            _ = try doors.connect(as: cat)
            #expect(throws: (any Error).self) { try doors.connect(as: before[3]) }
            // A file with a fault changes nothing.
            try doors.daemon.scratch.write("{ users: { boss: {} } }", to: "users")
            #expect(try boss.call("RELOAD").errorMessage?.contains("users.boss.roles") == true)
            #expect(try ann.call("RESUME", "images").errorWord == nil)
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `lets schedules come, go and change, and keeps those of commands`() throws {
        let every = "thread: \"images\", selector: \"echo\""
        let setup = Setup(
            store: "\"$DIR/jobs.sqlite\"",
            more:
                "schedules: { stays: { every: \"1h\", \(every) }, "
                + "goes: { every: \"1h\", \(every) } },"
        )
        try withDaemon(setup) { daemon in
            let client = try daemon.connect()
            _ = try client.call("SCHEDULE", "own", "EVERY", "3600000", "images", "echo", "x")
            let before = try client.call("SCHEDULES").elements ?? []
            try daemon.rewrite(
                section:
                    "schedules: { stays: { every: \"1h\", \(every), payload: \"new\" }, "
                    + "comes: { every: \"2h\", \(every) } }"
            )
            #expect(
                try client.call("RELOAD").texts == [
                    "schedule goes: removed", "schedule stays: payload changed",
                    "schedule comes: added",
                ])
            let after = try client.call("SCHEDULES").elements ?? []
            #expect(after.map { $0["name"]?.text } == ["comes", "own", "stays"])
            // The rhythm is the same, and so is the next moment.
            func next(_ schedules: [RESPValue]) -> Int? {
                schedules.first { $0["name"]?.text == "stays" }?["next-due-at"]?.integer
            }
            #expect(next(before) != nil && next(before) == next(after))
        }
    }

    @Test(.timeLimit(.minutes(2))) func `is asked for over HTTP`() throws {
        try withDaemon(Setup.http) { daemon in
            let client = try daemon.connectHTTP()
            try daemon.rewrite(section: "shutdown: { grace: \"99s\" }")
            for body in [#"{"dry": true}"#, "{}"] {
                let answer = try client.post("/api/reload", body)
                #expect(answer.text.contains("shutdown.grace: 100s → 99s"))
            }
            #expect(try client.post("/api/reload", "{}").text.contains(#"{"changes":[]}"#))
            try daemon.scratch.write("{", to: "workerd.json5")
            let refusal = try client.post("/api/reload", "{}")
            #expect(refusal.status == 400 && refusal.text.contains("line 1, column 2"))
        }
    }

    @Test(.timeLimit(.minutes(2))) func `is refused while the daemon goes down`() throws {
        try withDaemon { daemon in
            let client = try daemon.connect()
            let id = try client.perform("images", "sleep", "3600000")
            try client.waitUntil(id, is: "running")
            try daemon.send(.terminate)
            try eventually("it goes down") { daemon.log.contains("going down: ") }
            #expect(try client.call("RELOAD").errorWord == "SHUTTINGDOWN")
            _ = try client.call("CANCEL", .integer(id))
        }
    }
}

/// The lines of a reply.
extension RESPValue {
    var texts: [String]? { elements?.compactMap(\.text) }
}

private func payloadLimit(_ client: TestClient) throws -> String? {
    try client.call("CONFIG", "GET", "proto-max-bulk-len")["proto-max-bulk-len"]?.text
}
