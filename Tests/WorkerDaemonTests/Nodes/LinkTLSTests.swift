// Links to nodes whose doors have TLS: the other node is known by its certificate.

import Jobs
import Kernel
import RESP
import Support
import TLS
import Testing

@testable import WorkerDaemon

@Suite struct `A link with TLS` {
    @Test(.timeLimit(.minutes(2)))
    func `carries commands of any size both ways`() throws {
        try withLinkedNodes(tls: [.none, .door()]) { nodes in
            let client = try nodes.connect(0)
            for byteCount in [0, 1, 16_383, 16_384, 16_385, 65_536, 1_000_000, 5_000_000] {
                let payload = (0..<byteCount).map { UInt8(truncatingIfNeeded: $0 * 7) }
                let reply = try client.call("PERFORM", "two", "echo", "WAIT", .bytes(payload))
                #expect(reply.bytes == payload, "\(byteCount)")
            }
            #expect(
                try nodes.figure(1) { $0.sessions.values.count { $0.isLink && $0.isEncrypted } }
                    == 1)
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `forgets no answer that came in one piece with others`() throws {
        try withLinkedNodes(tls: [.door(), .door()]) { nodes in
            let client = try nodes.connect(0)
            for count in [1, 10, 300, 1_000] {
                let bytes = (0..<count).flatMap {
                    TestClient.bytes(["PERFORM", "two", "echo", "WAIT", .integer($0)])
                }
                try client.send(bytes)
                for number in 0..<count { #expect(try client.reply().text == "\(number)") }
            }
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `sees an end of TLS that came in one piece with the last bytes`() throws {
        try withLinkedNodes(tls: [.none, .door()]) { nodes in
            let client = try nodes.connect(0)
            #expect(try client.call("PERFORM", "two", "echo", "WAIT", "x").text == "x")
            // OpenSSL takes both out of the socket at once. The socket stays open, and is silent.
            _ = try nodes.figure(1) { service in
                for session in service.sessions.values where session.isLink {
                    _ = try? session.socket?.send(contentsOf: Array(">1\r\n$1\r\nx\r\n".utf8))
                    session.socket?.tls?.shutdownWriting()
                }
                return 0
            }
            try eventually("the link has ended") {
                try nodes.figure(0) { service in
                    service.sessions.values.count { $0.links?.open.isEmpty == false }
                } == 0
            }
            #expect(try client.call("PERFORM", "two", "echo", "WAIT", "y").text == "y")
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `holds back what a client does not read`() throws {
        try withLinkedNodes(tls: [.none, .door()]) { nodes in
            let client = try nodes.connect(0)
            let payload = [UInt8](repeating: 7, count: 1_000_000)
            let id = try client.perform("two", "echo", .bytes(payload))
            try client.waitUntil(id, is: "done")
            let count = 40
            for _ in 0..<count { try client.send("RESULT", .integer(id)) }
            try eventually("answers wait at the owner") {
                try nodes.figure(1) { $0.sessions.values.map(\.outputByteCount).max() ?? 0 } > 0
            }
            #expect(
                try nodes.figure(0) { $0.sessions.values.map(\.outputByteCount).max() ?? 0 }
                    < 4 << 20)
            for _ in 0..<count { #expect(try client.reply().bytes == payload) }
            #expect(try client.call("PING").text == "PONG")
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `hands out jobs, and brings pushes`() throws {
        try withLinkedNodes(tls: [.door(), .door()]) { nodes in
            let (client, worker) = (try nodes.connect(0), try nodes.connect(0))
            _ = try client.call("HELLO", 3)
            let id = try client.perform("two", "turn", "a picture")
            #expect(try client.call("OBSERVE", .integer(id)) == .integer(1))
            let job = try Taken.take(worker, "turn")
            #expect(job.id == id && job.payload == "a picture")
            #expect(try job.ended(worker, "turned").errorWord == nil)
            var state: String?
            while state != "done" {
                guard case .push(let words) = try client.reply() else { throw Unexpected("push") }
                state = words[2].text
            }
            #expect(try client.call("RESULT", .integer(id)).text == "turned")
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `sends nothing to a node with another certificate, until it has told that`() throws {
        try withLinkedNodes(tls: [.none, .door()]) { nodes in
            let told = String(repeating: "0", count: 64)
            let own = try #require(try nodes.certificate(1))
            try nodes.describe(1) { $0.certificate?.fingerprint = told }
            let client = try nodes.connect(0)
            try client.send("PERFORM", "two", "echo", "x")
            try client.waitForBusy(
                nodes, "shows another certificate (SHA-256 \(own.fingerprint)) than the node has")
            #expect(try nodes.jobCount(1) == 0)
            #expect(try nodes.figure(1) { Int($0.commandCount) } == 0)
            #expect(try client.call("PERFORM", "one", "echo", "WAIT", "here").text == "here")
            // A held command goes its way when the node has told another one.
            nodes.advance(by: .seconds(2))
            try client.send("PERFORM", "two", "echo", "WAIT", "there")
            #expect(try client.isSilent())
            try nodes.describe(1) { $0.certificate = own }
            try nodes.own(["two": 1])
            var answer: RESPValue?
            while answer == nil {
                nodes.advance(by: .milliseconds(100))
                if try !client.isSilent(forMilliseconds: 20) { answer = try client.reply() }
            }
            #expect(answer?.text == "there")
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `is not made to a node that has told no certificate, or no TLS`() throws {
        try withLinkedNodes(tls: [.none, .door()]) { nodes in
            let own = try #require(try nodes.certificate(1))
            try nodes.describe(1) { $0.certificate = nil }
            let client = try nodes.connect(0)
            try client.send("PERFORM", "two", "echo", "x")
            try client.waitForBusy(nodes, "has told no certificate")
            try nodes.describe(1) {
                $0.certificate = own
                $0.commands = "redis" + ($0.commands ?? "").dropFirst("rediss".count)
            }
            nodes.advance(by: .seconds(2))
            try client.send("PERFORM", "two", "echo", "x")
            try client.waitForBusy(nodes, "node b is not reached")
            #expect(try nodes.figure(1) { Int($0.commandCount) } == 0)
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `is not made to a node that is told to have TLS and has none`() throws {
        try withLinkedNodes { nodes in
            try nodes.describe(1) {
                $0.commands = "rediss" + ($0.commands ?? "").dropFirst("redis".count)
                $0.certificate = NodeCertificate(fingerprint: "0")
            }
            let client = try nodes.connect(0)
            try client.send("PERFORM", "two", "echo", "x")
            try client.waitForBusy(nodes, "node b is not reached")
            #expect(try nodes.jobCount(1) == 0)
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `waits for a handshake that does not come no longer than for LINK`() throws {
        try withLinkedNodes(tls: [.none, .door()]) { nodes in
            let silent = try freeLoopbackAddress()
            let listener = try Listener(at: silent.address)
            try nodes.describe(1) { $0.commands = "rediss://\(silent.text)" }
            let client = try nodes.connect(0)
            try client.send("PERFORM", "two", "echo", "x")
            // Others are served meanwhile.
            let other = try nodes.connect(0)
            #expect(try other.call("PERFORM", "one", "echo", "WAIT", "x").text == "x")
            try client.waitForBusy(nodes, "node b is not reached: it does not answer")
            withExtendedLifetime(listener) {}
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `shows the node's own certificate where one is required`() throws {
        let authority = try TestAuthority.shared()
        try withLinkedNodes(tls: [.door(), .door(requiresClient: authority)]) { nodes in
            let client = try nodes.connect(0)
            #expect(try client.call("PERFORM", "two", "echo", "WAIT", "x").text == "x")
            let subjects = try nodes.figure(1) {
                $0.sessions.values.count { $0.socket?.tls?.peerSubject == "/CN=server" }
            }
            #expect(subjects == 1)
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `names the setting if the node has no certificate, or one of another authority`() throws {
        let authority = try TestAuthority.shared()
        let stranger = try TestAuthority().issue("stranger")
        let strict = NodeTLS.door(requiresClient: authority)
        try withLinkedNodes(3, tls: [.none, strict, .door(stranger)]) { nodes in
            let client = try nodes.connect(0)
            let refusal = try client.call("PERFORM", "two", "echo", "x")
            #expect(refusal.errorWord == "ERR")
            #expect(refusal.errorMessage?.contains("listen.tls.requireClient") == true)
            #expect(refusal.errorMessage?.contains("set listen.tls here") == true)
            let other = try nodes.connect(2)
            try other.send("PERFORM", "two", "echo", "x")
            try other.waitForBusy(nodes, "its listen.tls.clients must have the authority")
            #expect(try nodes.jobCount(1) == 0)
        }
    }
}
