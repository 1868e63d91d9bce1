// Links between real daemons with one PostgreSQL: over TLS, with new certificates, and to addresses
// that are wrong.

import Kernel
import PostgreSQLServer
import RESP
import Support
import Testing

@Suite(
    .timeLimit(.minutes(3)),
    .enabled(if: PostgreSQLServer.isInstalled, .init(rawValue: PostgreSQLServer.excuse)))
struct `Links of daemons` {
    /// Two nodes that share two threads.
    private final class Pair {
        let database: String
        let a: TestNode
        let b: TestNode
        /// The thread that each of them has.
        private(set) var threadOfA = ""
        private(set) var threadOfB = ""

        /// - Parameter told: the address that `b` tells in place of its own.
        init(tls: Bool, told: (TestNode) -> String? = { _ in nil }) throws {
            database = try PostgreSQLServer.shared.get().makeDatabase()
            let threads = "alpha: {}, beta: {}"
            a = try TestNode("a", in: database, tls: tls, threads: threads, shares: true)
            b = try TestNode(
                "b", in: database, tls: tls, told: told(a), threads: threads, shares: true)
            try a.daemon.waitUntilListening()
            try b.daemon.waitUntilListening()
            var places: [String: String] = [:]
            try eventually("each has a thread") {
                let rows = try sql(
                    """
                    SELECT n.name, t.name FROM workerd.threads t JOIN workerd.nodes n USING (seat)
                    WHERE moved = 0
                    """)
                for row in rows.split(separator: "\n") {
                    let parts = row.split(separator: "|").map(String.init)
                    places[parts[0]] = parts[1]
                }
                return places.count == 2
            }
            (threadOfA, threadOfB) = (places["a"] ?? "", places["b"] ?? "")
        }

        @discardableResult
        func sql(_ text: String) throws -> String { try PostgreSQLServer.run(text, at: database) }

        /// The state of the links from `a` to `b`, as `a` tells it.
        func link() throws -> String? { try link(from: a, to: "b") }

        func link(from node: TestNode, to name: String) throws -> String? {
            let nodes = try node.daemon.connect().call("NODES").elements ?? []
            return nodes.first { $0["name"]?.text == name }?["link"]?.text
        }

        func check(_ body: (Pair) throws -> Void) {
            defer {
                a.daemon.kill()
                b.daemon.kill()
            }
            do {
                try body(self)
            } catch {
                Issue.record(
                    """
                    \(error)
                    --- the log of a:
                    \(a.daemon.log.suffix(3_000))
                    --- the log of b:
                    \(b.daemon.log.suffix(3_000))
                    """)
            }
        }
    }

    @Test func `pass commands on over TLS`() throws {
        try Pair(tls: true).check { pair in
            let client = try pair.a.daemon.connect()
            let thread = CommandArgument.text(pair.threadOfB)
            let payload = (0..<1_000_000).map { UInt8(truncatingIfNeeded: $0 * 7) }
            let bytes = TestClient.bytes(["PERFORM", thread, "echo", "WAIT", .bytes(payload)])
            for start in stride(from: 0, to: bytes.count, by: 9_973) {
                try client.send(Array(bytes[start..<min(bytes.count, start + 9_973)]))
            }
            #expect(try client.reply().bytes == payload)
            let id = try client.perform(thread, "resize", "a picture")
            let worker = try pair.a.daemon.connect()
            let job = try Taken.take(worker, "resize")
            #expect(job.payload == "a picture")
            #expect(try job.ended(worker, "smaller").errorWord == nil)
            #expect(try client.call("RESULT", .integer(id), "WAIT").text == "smaller")
            let rows = try client.call("THREADS").elements ?? []
            #expect(Set(rows.compactMap { $0["node"]?.text }) == ["a", "b"])
            // The owner's door has TLS only, and sees the link.
            let clients = try pair.b.daemon.connect().call("CLIENT", "LIST").text ?? ""
            #expect(clients.contains(" tls=TLSv1.3"), "\(clients)")
            try eventually("the link is known to work") { try pair.link() == "ok" }
            let kept = try pair.sql("SELECT certificate ~ '^[0-9a-f]{64}$' FROM workerd.links")
            #expect(kept == "t\nt\n")
        }
    }

    @Test func `are made to no other certificate than the one that was told`() throws {
        try Pair(tls: true).check { pair in
            try pair.sql(
                """
                UPDATE workerd.links SET certificate = repeat('0', 64)
                WHERE node = (SELECT id FROM workerd.nodes WHERE name = 'b')
                """)
            try eventually("the link is known to fail") {
                try pair.link()?.contains("shows another certificate") == true
            }
            let client = try pair.a.daemon.connect()
            let thread = CommandArgument.text(pair.threadOfB)
            let refusal = try client.call("PERFORM", thread, "echo", "planted")
            #expect(refusal.errorWord == "BUSY")
            let told = String(repeating: "0", count: 64)
            #expect(refusal.errorMessage?.contains("node b is not reached") == true)
            #expect(refusal.errorMessage?.contains("than the node has told (\(told))") == true)
            #expect(try pair.sql("SELECT count(*) FROM workerd.jobs") == "0\n")
            #expect(try pair.sql("SELECT count(*) FROM workerd.ended") == "0\n")
            // A new certificate is told.
            try pair.b.daemon.scratch.install(TestAuthority.shared().issue("renewed"))
            let lines = try pair.b.daemon.connect().call("RELOAD").elements?.compactMap(\.text)
            #expect(lines?.contains { $0.contains("another certificate") } == true)
            try eventually("the link works again") { try pair.link() == "ok" }
            #expect(try client.call("PERFORM", thread, "echo", "WAIT", "x").text == "x")
        }
    }

    @Test func `go on over a new certificate, old ones and new ones`() throws {
        try Pair(tls: true).check { pair in
            let thread = CommandArgument.text(pair.threadOfB)
            let old = try pair.a.daemon.connect()
            #expect(try old.call("PERFORM", thread, "echo", "WAIT", "1").text == "1")
            try pair.b.daemon.scratch.install(TestAuthority.shared().issue("renewed"))
            _ = try pair.b.daemon.connect().call("RELOAD")
            // At once: the new certificate may not be told yet.
            let new = try pair.a.daemon.connect()
            #expect(try new.call("PERFORM", thread, "echo", "WAIT", "2").text == "2")
            #expect(try old.call("PERFORM", thread, "echo", "WAIT", "3").text == "3")
        }
    }

    @Test func `to a wrong address are told, by the doctor and in the log`() throws {
        try Pair(tls: false, told: { "\($0.address)" }).check { pair in
            let reason =
                "this is not the secret of the node's links: node a has told the same address"
            try eventually("the link is known to fail") {
                try pair.link()?.contains(reason) == true
            }
            #expect(
                pair.a.daemon.log.contains("commands are not passed on to node b: "),
                "\(pair.a.daemon.log)")
            let run = try ProgramRun(
                "\(try productsDirectory())/workerctl",
                ["--socket", pair.a.daemon.socket, "doctor"])
            #expect(run.status == .exited(1))
            #expect(run.output.contains("no commands are passed on to b: "), "\(run.output)")
            #expect(run.output.contains("node.address of b"), "\(run.output)")
            let list = try ProgramRun(
                "\(try productsDirectory())/workerctl",
                ["--socket", pair.a.daemon.socket, "nodes"])
            #expect(list.output.contains("serves, not reached"), "\(list.output)")
            let metrics = try HTTPTestClient(pair.a.http, key: testKey).get("/metrics").text
            #expect(metrics.contains("workerd_unreached_nodes 1\n"), "\(metrics)")
            // The other way, the address is right.
            try eventually("the links to a work") { try pair.link(from: pair.b, to: "a") == "ok" }
        }
    }
}
