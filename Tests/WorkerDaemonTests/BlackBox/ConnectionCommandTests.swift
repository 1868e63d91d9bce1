// Commands that every Redis client sends by itself, and those that describe the daemon.

import Kernel
import RESP
import Support
import Testing
import Wording

@Suite struct `Redis manners` {
    @Test(.timeLimit(.minutes(2)))
    func `HELLO agrees on a version and answers in it`() throws {
        try withDaemon { daemon in
            let client = try daemon.connect()
            guard case .map = try client.call("HELLO", 3, "SETNAME", "tester") else {
                throw Unexpected("version 3 answers with a map")
            }
            #expect(try client.call("CLIENT", "GETNAME").text == "tester")
            let hello = try client.call("HELLO")
            #expect(hello["server"]?.text == "workerd")
            #expect(hello["proto"]?.integer == 3)
            let id = try client.call("CLIENT", "ID").integer
            #expect(hello["id"]?.integer == id)
            guard case .verbatim = try client.call("INFO") else {
                throw Unexpected("version 3 has verbatim strings")
            }
            guard case .array = try client.call("HELLO", 2) else {
                throw Unexpected("version 2 answers with an array")
            }
            guard case .bulk = try client.call("INFO") else {
                throw Unexpected("version 2 has bulk strings")
            }
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `PING, ECHO, SELECT, RESET and QUIT do as Redis does`() throws {
        try withDaemon { daemon in
            let client = try daemon.connect()
            #expect(try client.call("PING") == .simpleString("PONG"))
            #expect(try client.call("ping", "a\0b") == .bulk([97, 0, 98]))
            #expect(try client.call("eChO", "") == .bulk([]))
            #expect(try client.call("SELECT", 0) == .simpleString("OK"))
            _ = try client.call("HELLO", 3, "SETNAME", "tester")
            #expect(try client.call("RESET") == .simpleString("RESET"))
            #expect(try client.call("CLIENT", "GETNAME") == .null)
            guard case .array = try client.call("HELLO") else { throw Unexpected("version 3") }
            try client.send(text: "\r\n*0\r\nPING\r\n")
            #expect(try client.reply() == .simpleString("PONG"))
            try client.send("QUIT")
            #expect(try client.repliesUntilClosed() == [.simpleString("OK")])
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `CLIENT lists, names and kills connections`() throws {
        try withDaemon { daemon in
            let client = try daemon.connect()
            let other = try daemon.connect()
            #expect(try other.call("CLIENT", "SETNAME", "victim") == .simpleString("OK"))
            #expect(try other.call("CLIENT", "SETINFO", "LIB-NAME", "x") == .simpleString("OK"))
            #expect(try client.call("CLIENT", "NO-EVICT", "on") == .simpleString("OK"))
            let list = try client.call("CLIENT", "LIST").text ?? ""
            #expect(list.split(separator: "\n").count == 2)
            #expect(list.contains("name=victim"))
            #expect(try client.call("CLIENT", "INFO").text?.contains("cmd=client") == true)
            let id = try #require(try other.call("CLIENT", "ID").integer)
            #expect(try client.call("CLIENT", "KILL", "ID", .integer(id)) == .integer(1))
            #expect(try other.repliesUntilClosed().isEmpty)
            let own = try #require(try client.call("CLIENT", "ID").integer)
            try client.send("CLIENT", "KILL", "ID", .integer(own))
            #expect(try client.repliesUntilClosed() == [.integer(1)])
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `CLIENT LIST shows where each client is, and where it came in`() throws {
        let scratch = try Scratch()
        let (door, address) = try freeLoopbackAddress()
        var setup = Setup()
        setup.listen = try scratch.passwordDoor(at: door, password: "secret")
        let daemon = try TestDaemon(setup, in: scratch)
        defer { daemon.kill() }
        let client = try daemon.connect()
        // From the addresses that the test knows, so that the two can be told apart.
        let others = try (0..<2).map { _ in try TestClient(address) }
        for other in others { #expect(try other.call("AUTH", "secret") == .simpleString("OK")) }
        let list = try client.call("CLIENT", "LIST").text ?? ""
        let lines = list.split(separator: "\n")
        #expect(lines.count == 3)
        #expect(lines[0].contains(" addr=\(daemon.socket) laddr=\(daemon.socket) "))
        for (line, other) in zip(lines.dropFirst(), others) {
            let own = try #require(try other.ownAddress())
            #expect(line.contains(" addr=\(own) laddr=\(door) "), "\(line)")
            #expect(try other.call("CLIENT", "INFO").text?.contains(" addr=\(own) ") == true)
        }
        #expect(lines[1] != lines[2])
        #expect(daemon.log.contains("came in from 127."))
    }

    @Test(.timeLimit(.minutes(2)))
    func `a client that sends nothing holds no memory for input`() throws {
        let scratch = try Scratch()
        let daemon = try TestDaemon(Setup(), in: scratch)
        defer { daemon.kill() }
        let idle = try daemon.connect()
        #expect(try idle.call("PING") == .simpleString("PONG"))
        let halfway = try daemon.connect()
        #expect(try halfway.call("PING") == .simpleString("PONG"))
        try halfway.send(text: "*1\r\n$4\r\nPI")
        let client = try daemon.connect()
        var memory: [Int] = []
        try eventually("half a command has arrived") {
            let lines = try client.call("CLIENT", "LIST").text?.split(separator: "\n") ?? []
            memory = lines.compactMap { line in
                line.split(separator: " ").first { $0.hasPrefix("tot-mem=") }
                    .flatMap { Int($0.dropFirst(8)) }
            }
            return memory.count == 3 && memory[1] > 10_000
        }
        #expect(memory[0] < 1024, "\(memory)")
        try halfway.send(text: "NG\r\n")
        #expect(try halfway.reply() == .simpleString("PONG"))
    }

    @Test(.timeLimit(.minutes(2)))
    func `COMMAND names every command, what it takes and what it does`() throws {
        try withDaemon { daemon in
            let client = try daemon.connect()
            let names = try client.call("COMMAND", "LIST").elements?.compactMap(\.text) ?? []
            #expect(try client.call("COMMAND", "COUNT").integer == names.count)
            #expect(Set(names).count == names.count)
            for name in ["perform", "cancel", "buffer", "fire", "job", "result", "shutdown"] {
                #expect(names.contains(name))
            }
            let info = try client.call("COMMAND", "INFO", "PERFORM", "ping").elements ?? []
            #expect(info.map { $0.elements?.first?.text } == ["perform", "ping"])
            #expect(info.map { $0.elements?.dropFirst().first?.integer } == [-4, -1])
            let all = try client.call("COMMAND", "DOCS")
            for name in names { #expect(all[name]?["summary"]?.text?.isEmpty == false, "\(name)") }
            let one = try client.call("COMMAND", "DOCS", "result")
            #expect(one.asMap?.count == 1)
            #expect(one["result"]?["usage"]?.text == "RESULT id [WAIT [ms]]")
            let arguments = one["result"]?["arguments"]?.elements ?? []
            #expect(arguments.map { $0["name"]?.text } == ["id", "WAIT [ms]"])
            // As Redis sends them: redis-cli ends itself if they are bulk strings.
            let flags = arguments.map { $0["flags"]?.elements ?? [] }
            #expect(flags == [[], [.simpleString("optional")]])
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `INFO has its sections, one or all`() throws {
        try withDaemon { daemon in
            let client = try daemon.connect()
            let all = try client.call("INFO").text ?? ""
            let sections = [
                "Server", "Clients", "Memory", "Persistence", "Stats", "Replication", "Jobs",
                "Threads", "Loop", "Cluster", "Keyspace",
            ]
            for section in sections {
                #expect(all.contains("# \(section)\r\n"))
                let one = try client.call("INFO", .text(section)).text ?? ""
                #expect(one.hasPrefix("# \(section)\r\n"))
                #expect(one.filter { $0 == "#" }.count == 1)
            }
            #expect(try client.figure("process_id") == daemon.processID)
            #expect(try client.call("INFO", "nonsense").text == "")
            #expect(try client.call("INFO", "everything").text?.contains("# Loop") == true)
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `INFO and HELLO tell clients of Redis what they choose by`() throws {
        try withDaemon { daemon in
            let client = try daemon.connect()
            // As valkey-glide asks, in version 2 and 3.
            for version in [2, 3] {
                let hello = try client.call("HELLO", .integer(version))
                #expect(hello["version"]?.text == "7.2.0")
                #expect(hello["workerd_version"]?.text == Release.version)
                for name in ["REPLICATION", "replication", "Replication"] {
                    let text = try client.call("INFO", .text(name)).text ?? ""
                    #expect(text.hasPrefix("# Replication\r\nrole:master\r\n"))
                }
            }
            let server = try client.call("INFO", "server").text ?? ""
            #expect(server.contains("\r\nredis_version:7.2.0\r\n"))
            #expect(server.contains("\r\nworkerd_version:\(Release.version)\r\n"))
            let both = try client.call("INFO", "KEYSPACE", "cluster").text
            #expect(both == "# Cluster\r\ncluster_enabled:0\r\n\r\n# Keyspace\r\n")
            #expect(try client.call("INFO", "persistence").text?.contains("loading:0") == true)
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `CLIENT INFO has the fields of Redis 7.2 in their order`() throws {
        try withDaemon { daemon in
            let client = try daemon.connect()
            _ = try client.call("CLIENT", "SETNAME", "packer")
            _ = try client.call("CLIENT", "SETINFO", "lib-name", "tester")
            _ = try client.call("CLIENT", "SETINFO", "LIB-VER", "1.2")
            let line = try client.call("CLIENT", "INFO").text ?? ""
            let fields = line.dropLast().split(separator: " ").map {
                $0.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            }
            #expect(
                fields.map { $0[0] } == [
                    "id", "addr", "laddr", "fd", "name", "age", "idle", "flags", "db", "sub",
                    "psub", "ssub", "multi", "qbuf", "qbuf-free", "argv-mem", "multi-mem", "rbs",
                    "rbp", "obl", "oll", "omem", "tot-mem", "events", "cmd", "user", "redir",
                    "resp", "lib-name", "lib-ver", "cmds", "pending", "tls",
                ])
            let values = Dictionary(uniqueKeysWithValues: fields.map { ($0[0], $0[1]) })
            let integers = [
                "id", "fd", "age", "idle", "db", "sub", "psub", "ssub", "multi", "qbuf",
                "qbuf-free", "argv-mem", "multi-mem", "rbs", "rbp", "obl", "oll", "omem",
                "tot-mem", "redir", "resp",
            ]
            for name in integers {
                #expect(values[name[...]].flatMap { Int($0) } != nil, "\(name)")
            }
            #expect(values["name"] == "packer" && values["flags"] == "U")
            #expect(values["lib-name"] == "tester" && values["lib-ver"] == "1.2")
            #expect(try client.call("CLIENT", "LIST").text?.hasPrefix("id=") == true)
            #expect(try client.call("CLIENT", "LIST", "TYPE", "replica").text == "")
            #expect(try client.call("CLIENT", "LIST", "TYPE", "normal").text?.isEmpty == false)
            #expect(try client.call("CLIENT", "LIST", "ID", 4_711).text == "")
            #expect(try client.call("CLIENT", "LIST", "nonsense").errorWord == "ERR")
            #expect(try client.call("CLIENT", "SETINFO", "LIB-NAME", "a b").errorWord == "ERR")
            #expect(try client.call("CLIENT", "SETINFO", "nonsense", "x").errorWord == "ERR")
            _ = try client.call("RESET")
            let after = try client.call("CLIENT", "INFO").text ?? ""
            #expect(after.contains(" lib-name= lib-ver= "))
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `INFO counts jobs in every state`() throws {
        try withDaemon { daemon in
            let client = try daemon.connect()
            _ = try client.call("PERFORM", "images", "echo", "WAIT", "x")
            _ = try client.call("PERFORM", "images", "fail", "WAIT", "x")
            let running = try client.perform("images", "sleep", "3600000")
            try client.waitUntil(running, is: "running")
            let waiting = try client.perform("images", "echo", "x")
            _ = try client.perform("images", "echo", "DELAY", 3_600_000, "x")
            _ = try client.call("BUFFER", "images", "echo", "x")
            func figures() throws -> [Int] {
                try [
                    "delayed_jobs", "buffered_jobs", "waiting_jobs", "running_jobs",
                    "total_jobs_accepted", "total_jobs_done", "total_jobs_failed",
                    "total_jobs_cancelled",
                ].map { try client.figure($0) }
            }
            #expect(try figures() == [1, 1, 1, 1, 6, 1, 1, 0])
            _ = try client.call("CANCEL", .integer(waiting))
            #expect(try figures() == [1, 1, 0, 1, 6, 1, 1, 1])
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `CONFIG GET knows what tools ask for`() throws {
        try withDaemon(Setup(limits: "payload: \"1KB\", connections: 7")) { daemon in
            let client = try daemon.connect()
            #expect(try client.call("CONFIG", "GET", "maxclients")["maxclients"]?.integer == 7)
            #expect(
                try client.call("CONFIG", "GET", "Proto-Max-Bulk-Len", "save").asMap?.count == 2)
            #expect(try client.call("CONFIG", "GET", "nonsense").asMap?.count == 0)
            let all = try client.call("CONFIG", "GET", "*")
            #expect(all["proto-max-bulk-len"]?.integer == 1_024)
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `SELECTORS names built-in and configured ones`() throws {
        let setup = Setup(selectors: "shout: { program: [\"tr\", \"a-z\", \"A-Z\"] }")
        try withDaemon(setup) { daemon in
            let client = try daemon.connect()
            let selectors = try client.call("SELECTORS").elements ?? []
            #expect(
                selectors.map { $0["name"]?.text } == ["echo", "fail", "sha256", "shout", "sleep"])
            let shout = selectors.first { $0["name"]?.text == "shout" }
            #expect(shout?["handler"]?.text?.hasSuffix("/tr a-z A-Z") == true)
            #expect(try client.call("PERFORM", "images", "shout", "WAIT", "hello").text == "HELLO")
        }
    }
}
