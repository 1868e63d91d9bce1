// A node that waits passes its clients on to the node that serves: all that they say and hear,
// once, with the rights of a TCP door, until one of the three ends.

import Glibc
import Kernel
import PostgreSQLServer
import RESP
import Support
import TLS
import Testing

@Suite(
    .timeLimit(.minutes(2)),
    .enabled(if: PostgreSQLServer.isInstalled, .init(rawValue: PostgreSQLServer.excuse)))
struct RelayTests {
    @Test func `answers, news and events come through a node that waits`() throws {
        let nodes = try TestNodes()
        nodes.check {
            let client = try nodes.second.connect()
            #expect(try client.call("PERFORM", "images", "echo", "WAIT", "hello").text == "hello")
            // The first one has run it.
            let direct = try nodes.first.daemon.connect()
            #expect(try direct.figure("total_jobs_done") == 1)

            _ = try client.call("HELLO", 3)
            #expect(try client.call("EVENTS").text != nil)
            let id = try direct.perform("images", "echo", "seen")
            var changes: [String] = []
            while changes.last != "done" {
                guard case .push(let parts) = try client.reply() else { throw Unexpected("push") }
                guard case .map(let entries)? = parts.last else { throw Unexpected("\(parts)") }
                let details = Dictionary(
                    uniqueKeysWithValues: entries.map { ($0.key.text ?? "", $0.value) })
                #expect(details["job"]?.integer == id)
                changes.append(details["change"]?.text ?? "?")
            }
        }
    }

    @Test func `a worker takes jobs through a node that waits, and watchers are told`() throws {
        let nodes = try TestNodes()
        nodes.check {
            let (client, worker) = (try nodes.second.connect(), try nodes.second.connect())
            let id = try client.perform("images", "resize", "a picture")
            _ = try client.call("HELLO", 3)
            _ = try client.call("OBSERVE", .integer(id))
            let job = try Taken.take(worker, "resize")
            #expect(job.payload == "a picture")
            #expect(try job.ended(worker, "smaller").errorWord == nil)
            var state: String?
            repeat {
                guard case .push(let parts) = try client.reply() else { throw Unexpected("push") }
                state = parts.count > 2 ? parts[2].text : nil
            } while state != "done"
            #expect(try client.call("RESULT", .integer(id)).text == "smaller")
        }
    }

    @Test func `requests of HTTP come through both doors, with the key`() throws {
        let nodes = try TestNodes()
        nodes.check {
            let addresses = [
                nodes.second.http,
                .unix(try UnixAddress(nodes.second.daemon.scratch.file("http"))),
            ]
            for address in addresses {
                let stranger = try HTTPTestClient(address)
                #expect(try stranger.get("/api/threads").status == 401)
                let client = try HTTPTestClient(address, key: testKey)
                let threads = try client.get("/api/threads")
                #expect(threads.status == 200)
                #expect(threads.text.contains("images"))
            }
        }
    }

    @Test func `a Unix door of a node that waits gives no rights at the other`() throws {
        let nodes = try TestNodes()
        nodes.check {
            let client = try nodes.second.daemon.connect()
            #expect(try client.call("PERFORM", "images", "echo", "x").errorWord == "NOAUTH")
            #expect(try client.call("AUTH", "guess").errorWord == "WRONGPASS")
            #expect(try client.call("AUTH", .text(TestNode.password)).text == "OK")
            // As the serving one sees it, it is a client of its TCP door.
            let info = try client.call("CLIENT", "INFO").text ?? ""
            #expect(info.contains(" laddr=\(nodes.first.address) "), "\(info)")
        }
    }

    @Test func `a large payload goes both ways, and its end too`() throws {
        let nodes = try TestNodes()
        nodes.check {
            let client = try nodes.second.connect()
            for byteCount in [65_535, 65_536, 65_537, 5_000_000] {
                let payload = (0..<byteCount).map { UInt8(truncatingIfNeeded: $0 * 7) }
                let reply = try client.call("PERFORM", "images", "echo", "WAIT", .bytes(payload))
                #expect(reply.bytes == payload, "\(byteCount)")
            }
            // Half closed: the answer still comes, then the end.
            try client.send("PERFORM", "images", "echo", "WAIT", "last")
            try client.endSending()
            #expect(try client.repliesUntilClosed().map(\.text) == ["last"])
            // A client that leaves at once has submitted its job.
            do {
                let hasty = try nodes.second.connect()
                try hasty.send("PERFORM", "images", "echo", "hasty")
            }
            try eventually("the job of the client that left") {
                try nodes.sql("SELECT count(*) FROM workerd.ended WHERE result = 'hasty'") == "1\n"
            }
        }
    }

    @Test func `a client that does not read holds the serving node back, not memory`() throws {
        let nodes = try TestNodes()
        nodes.check {
            let client = try nodes.second.connect()
            let payload = [UInt8](repeating: 7, count: 4_000_000)
            let id = try client.perform("images", "echo", .bytes(payload))
            try client.waitUntil(id, is: "done")
            let before = try nodes.second.daemon.peakByteCount()
            let count = 40
            for _ in 0..<count { try client.send("RESULT", .integer(id)) }
            let observer = try nodes.first.daemon.connect()
            try eventually("answers wait at the serving node") {
                try observer.figure("client_output_backlog") > 0
            }
            // As long as these are answered, a node without bounds would go on reading.
            for _ in 0..<500 { _ = try observer.call("INFO", "memory") }
            for _ in 0..<count { #expect(try client.reply().bytes == payload) }
            #expect(try client.call("PING").text == "PONG")
            let grown = try nodes.second.daemon.peakByteCount() - before
            #expect(grown < 16 << 20, "\(grown)")
        }
    }

    @Test(arguments: [1, 2, 50, 100])
    func `pipelined jobs are accepted once or not, when the serving node is killed`(
        killedAfter: Int
    ) throws {
        let nodes = try TestNodes()
        nodes.check {
            let client = try nodes.second.connect()
            _ = try client.call("PAUSE", "images")
            let count = 100
            try client.send(
                (1...count).flatMap {
                    TestClient.bytes(["PERFORM", "images", "echo", .text("job \($0)")])
                })
            var answered = 0
            while answered < killedAfter {
                guard case .integer = try client.reply() else { throw Unexpected("no number") }
                answered += 1
            }
            try nodes.first.daemon.send(.kill)
            // The link breaks, so the client's connection is closed.
            for reply in try client.repliesUntilClosed() {
                guard case .integer = reply else { throw Unexpected("\(reply)") }
                answered += 1
            }
            try nodes.second.daemon.waitUntilListening()
            let rows = try nodes.sql(
                """
                SELECT convert_from(payload, 'UTF8'), count(*) FROM workerd.jobs
                GROUP BY payload ORDER BY min(id)
                """
            ).split(separator: "\n")
            #expect(rows.count >= answered)
            #expect(rows.enumerated().allSatisfy { $1 == "job \($0 + 1)|1" }, "\(rows)")
        }
    }

    @Test func `the same doors serve after a takeover, and clients that waited`() throws {
        let nodes = try TestNodes()
        nodes.check {
            let (silent, busy) = (try nodes.second.daemon.connect(), try nodes.second.connect())
            let stranger = try TestClient(nodes.second.address)
            #expect(try busy.call("PING").text == "PONG")
            try nodes.first.daemon.crash()
            #expect(try busy.repliesUntilClosed().isEmpty)
            // No node serves: these wait unread, and are the second's own in the end.
            let waiting = try nodes.second.daemon.connect()
            try waiting.send("PERFORM", "images", "echo", "WAIT", "patience")
            #expect(try waiting.reply().text == "patience")
            // The clients that waited are served before it says so.
            try eventually("it says where it listens") {
                nodes.second.daemon.log.contains("listening on \(nodes.second.daemon.socket)")
            }
            #expect(try silent.call("PERFORM", "images", "echo", "WAIT", "x").text == "x")
            #expect(try stranger.call("PING").errorWord == "NOAUTH")
            #expect(try stranger.call("AUTH", .text(TestNode.password)).text == "OK")
            let new = try TestClient(nodes.second.address)
            #expect(try new.call("AUTH", .text(TestNode.password)).text == "OK")
        }
    }

    @Test func `clients that were passed on to a stopped node are closed at the takeover`() throws {
        let nodes = try TestNodes()
        nodes.check {
            let client = try nodes.second.connect()
            try nodes.first.daemon.send(.stop)
            try client.send("PING")
            #expect(try client.repliesUntilClosed().isEmpty)
            try nodes.second.daemon.waitUntilListening()
            try nodes.first.daemon.send(.continue)
            #expect(try nodes.first.daemon.end() == "exit status 69")
        }
    }

    @Test func `a third node follows the seat to the second`() throws {
        let nodes = try TestNodes()
        let third = try TestNode("c", in: nodes.database)
        defer { third.daemon.kill() }
        nodes.check {
            try third.waitUntilPassingOn(to: "a")
            let before = try third.connect()
            try third.daemon.send(.stop)
            // It keeps its connections open, and answers on none.
            try nodes.first.daemon.send(.stop)
            try nodes.second.daemon.waitUntilListening()
            try third.daemon.send(.continue)
            try third.waitUntilPassingOn(to: "b")
            #expect(try before.repliesUntilClosed().isEmpty)
            let client = try third.connect()
            #expect(try client.call("PERFORM", "images", "echo", "WAIT", "b").text == "b")
            let direct = try nodes.second.daemon.connect()
            #expect(try direct.figure("total_jobs_done") == 1)
            try nodes.first.daemon.send(.continue)
            #expect(try nodes.first.daemon.end() == "exit status 69")
        }
    }

    @Test func `a connection that was passed on is not passed on again`() throws {
        let database = try PostgreSQLServer.shared.get().makeDatabase()
        // Others are told the second's address in place of the first's own.
        let second = try TestNode("b", in: database)
        try second.daemon.waitUntilListening()
        let first = try TestNode("a", in: database, told: "\(second.address)")
        defer {
            first.daemon.kill()
            second.daemon.kill()
        }
        try first.waitUntilPassingOn(to: "b")
        try second.daemon.crash()
        try first.daemon.waitUntilListening()
        // In the place of the one that was killed, at its address.
        let again = try TestDaemon(
            arguments: ["--config", second.daemon.scratch.file("workerd.json5")],
            in: second.daemon.scratch, logName: "again")
        defer { again.kill() }
        try eventually("it passes clients on") {
            again.log.contains("clients are passed on to node a")
        }
        let client = try again.connect()
        try client.send("PING")
        #expect(try client.repliesUntilClosed().isEmpty)
        #expect(again.log.contains("has passed on came back here"))
        #expect(try first.daemon.connect().call("PING").text == "PONG")
    }

    @Test func `a node that waits closes its clients' connections when it ends`() throws {
        let nodes = try TestNodes()
        nodes.check {
            let (open, silent) = (try nodes.second.connect(), try nodes.second.daemon.connect())
            try nodes.second.daemon.send(.terminate)
            #expect(try open.repliesUntilClosed().isEmpty)
            #expect(try silent.repliesUntilClosed().isEmpty)
            #expect(try nodes.second.daemon.end() == "exit status 0")
            #expect(try File.kind(of: nodes.second.daemon.socket) == nil)
            #expect(try nodes.first.daemon.connect().perform("images", "echo", "on") == 1)
        }
    }

    @Test func `a client is told why it can't be passed on`() throws {
        let nodes = try TestNodes()
        nodes.check {
            // As a node of an older version, which says nothing of itself.
            _ = try nodes.sql("DELETE FROM workerd.nodes WHERE name = 'a'")
            try eventually("the second knows no address") {
                nodes.second.daemon.log.contains("does not say where it is")
            }
            let client = try nodes.second.daemon.connect()
            let reply = try client.call("PING")
            #expect(reply.errorWord == "BUSY")
            #expect("\(reply)".contains("does not say where it is"))
            #expect(try client.repliesUntilClosed().isEmpty)
            let refused = try HTTPTestClient(nodes.second.http, key: testKey).get("/api/threads")
            #expect(refused.status == 503)
        }
    }

    @Test func `as many clients as the limit says are passed on`() throws {
        let nodes = try TestNodes(limits: "connections: 4")
        nodes.check {
            var clients = try (0..<4).map { _ in try nodes.second.connect() }
            let more = try nodes.second.daemon.connect()
            #expect("\(try more.reply())".contains("max number of clients reached"))
            clients.removeFirst()
            try eventually("a place is free") {
                let next = try nodes.second.daemon.connect()
                // One that is refused is closed, perhaps before it has sent anything.
                return (try? next.call("PING").errorWord) == "NOAUTH"
            }
        }
    }

    @Test func `NODES tells which node serves and which wait, through either`() throws {
        let nodes = try TestNodes()
        nodes.check {
            for client in [try nodes.first.daemon.connect(), try nodes.second.connect()] {
                let shown = try client.call("NODES").elements ?? []
                #expect(shown.map { $0["name"]?.text } == ["a", "b"])
                #expect(shown.map { $0["state"]?.text } == ["serves", "waits"])
                #expect(shown.map { $0["trusted"]?.integer } == [1, nil])
                #expect(shown.map { $0["epoch"]?.integer } == [1, nil])
                #expect(
                    shown.map { $0["address"]?.text } == [
                        "redis://\(nodes.first.address)", "redis://\(nodes.second.address)",
                    ])
                #expect(shown[0]["http"]?.text == "http://\(nodes.first.http)")
            }
            for address in [nodes.first.http, nodes.second.http] {
                let response = try HTTPTestClient(address, key: testKey).get("/api/nodes")
                #expect(try OpenAPI().faults("GET /api/nodes", response) == [])
                #expect(
                    response.text.contains(
                        #""trusted":true,"epoch":1,"address":"redis://\#(nodes.first.address)","#
                            + #""http":"http://\#(nodes.first.http)"},{"name":"b","state":"waits","#
                    ), "\(response.text)")
            }
            let shown = try nodes.workerctl("nodes")
            #expect(shown.contains("redis://\(nodes.second.address)"), "\(shown)")
            let findings = try nodes.workerctl("doctor")
            #expect(findings.contains("a serves, 1 other waiting"), "\(findings)")
            _ = try nodes.sql("UPDATE workerd.nodes SET commands = NULL WHERE name = 'b'")
            let warned = try nodes.workerctl("doctor")
            #expect(warned.contains("clients are not passed on to b: no address"), "\(warned)")
            try nodes.first.daemon.send(.kill)
            try nodes.second.daemon.waitUntilListening()
            let left = try nodes.second.daemon.connect().call("NODES").elements ?? []
            #expect(left.map { $0["name"]?.text } == ["b"])
            #expect(left.first?["state"]?.text == "serves")
            #expect(left.first?["epoch"]?.integer == 2)
        }
    }

    @Test func `TLS goes through untouched, and a door without is refused`() throws {
        let nodes = try TestNodes(tls: true)
        nodes.check {
            let client = try TestClient(nodes.second.address, .testClient())
            #expect(try client.call("AUTH", .text(TestNode.password)).text == "OK")
            let info = try client.call("CLIENT", "INFO").text ?? ""
            #expect(info.hasSuffix(" tls=TLSv1.3\n"), "\(info)")
            let payload = [UInt8](repeating: 5, count: 1_000_000)
            let reply = try client.call("PERFORM", "images", "echo", "WAIT", .bytes(payload))
            #expect(reply.bytes == payload)
            let web = try HTTPTestClient(nodes.second.http, key: testKey, .testClient())
            #expect(try web.get("/api/threads").status == 200)
            let plain = try nodes.second.daemon.connect().call("PING")
            #expect(plain.errorWord == "BUSY")
            #expect("\(plain)".contains("this door is without TLS"))
        }
    }
}

extension TestDaemon {
    /// The most memory that it has had in RAM.
    func peakByteCount() throws -> Int {
        let status = try File.read("/proc/\(processID)/status", atMost: 65_536)
        let line = String(decoding: status, as: UTF8.self).split(separator: "\n")
            .first { $0.hasPrefix("VmHWM:") }
        guard let line, let count = Int(line.filter(\.isNumber)) else { throw Unexpected("VmHWM") }
        return count << 10
    }
}
