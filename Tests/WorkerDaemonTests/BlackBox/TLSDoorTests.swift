// Doors with TLS of the real daemon, with clients of ours and with `openssl s_client`.

import Kernel
import RESP
import Support
import TLS
import Testing

@Suite(.timeLimit(.minutes(2))) struct `A door with TLS` {
    @Test func `serves commands after the password, whatever their size`() throws {
        try withTLSDoors { daemon, door, _ in
            let client = try TestClient(door, .testClient())
            #expect(try client.call("PING").errorWord == "NOAUTH")
            #expect(try client.call("AUTH", "open sesame") == .simpleString("OK"))
            let info = try client.call("CLIENT", "INFO").text ?? ""
            #expect(info.hasSuffix(" tls=TLSv1.3\n"), "\(info)")
            let plain = try daemon.connect().call("CLIENT", "INFO").text ?? ""
            #expect(plain.hasSuffix(" tls=\n"), "\(plain)")
            for byteCount in [0, 1, 16_383, 16_384, 16_385, 65_536, 1_000_000, 5_000_000] {
                let payload = (0..<byteCount).map { UInt8(truncatingIfNeeded: $0 * 7) }
                let reply = try client.call("PERFORM", "images", "echo", "WAIT", .bytes(payload))
                #expect(reply.bytes == payload, "\(byteCount)")
            }
        }
    }

    @Test func `forgets no command that came in one piece with others`() throws {
        try withTLSDoors { _, door, _ in
            let client = try TestClient(door, .testClient())
            #expect(try client.call("AUTH", "open sesame") == .simpleString("OK"))
            let ping = TestClient.bytes(["PING"])
            for count in stride(from: 4_600, to: 9_400, by: 131) {
                // Each piece is a record.
                let bytes = [[UInt8]](repeating: ping, count: count).flatMap { $0 }
                for start in stride(from: 0, to: bytes.count, by: 9_973) {
                    try client.send(Array(bytes[start..<min(bytes.count, start + 9_973)]))
                }
                for _ in 0..<count { #expect(try client.reply() == .simpleString("PONG")) }
            }
        }
    }

    @Test func `keeps large answers for a client that reads late`() throws {
        let size = 3_000_000
        let big = "big: { program: [\"sh\", \"-c\", \"seq 1 9999999 | head -c \(size)\"] }"
        try withTLSDoors(Setup(selectors: big)) { daemon, door, _ in
            let client = try TestClient(door, .testClient())
            #expect(try client.call("AUTH", "open sesame") == .simpleString("OK"))
            let payload = try ProgramRun("/bin/sh", ["-c", "seq 1 9999999 | head -c \(size)"])
                .output.utf8
            for _ in 0..<4 { try client.send("PERFORM", "images", "big", "WAIT", "") }
            try client.send("PING")
            let other = try daemon.connect()
            try eventually("all jobs are done") {
                try other.figure("total_jobs_done") == 4
            }
            for _ in 0..<4 { #expect(try client.reply().bytes == Array(payload)) }
            #expect(try client.reply() == .simpleString("PONG"))
        }
    }

    @Test func `says that it closes`() throws {
        try withTLSDoors { _, door, _ in
            let client = try TestClient(door, .testClient())
            try client.send("QUIT")
            #expect(try client.repliesUntilClosed() == [.simpleString("OK")])
        }
    }

    @Test func `answers what a client asked that has ended its half`() throws {
        try withTLSDoors { _, door, _ in
            let client = try TestClient(door, .testClient())
            #expect(try client.call("AUTH", "open sesame") == .simpleString("OK"))
            try client.send("PERFORM", "images", "sleep", "WAIT", "50")
            try client.send("ECHO", "still here")
            try client.endSending()
            #expect(try client.repliesUntilClosed().last?.text == "still here")
        }
    }

    @Test func `takes version 1.2 and none before`() throws {
        try withTLSDoors { daemon, door, _ in
            let now = try SecureClient.run(door, ["-tls1_2"], "QUIT\r\n")
            #expect(now.contains("Protocol  : TLSv1.2"), "\(now)")
            #expect(now.contains("+OK"), "\(now)")
            // The daemon says that it ends (close_notify).
            #expect(!now.contains("unexpected eof"), "\(now)")
            let before = try SecureClient.run(
                door, ["-tls1_1", "-cipher", "DEFAULT@SECLEVEL=0"])
            #expect(before.contains("alert protocol version"), "\(before)")
            try eventually("the log tells it") {
                daemon.log.contains("warning: no TLS with a client from 127.0.0.1:")
                    && daemon.log.contains("unsupported protocol")
            }
        }
    }

    @Test func `serves no other protocol that a client asks for`() throws {
        try withTLSDoors { _, door, http in
            let web = try SecureClient.run(http, ["-alpn", "h2,http/1.1"])
            #expect(web.contains("ALPN protocol: http/1.1"), "\(web)")
            let browser = try SecureClient.run(door, ["-alpn", "h2,http/1.1"])
            #expect(browser.contains("alert no application protocol"), "\(browser)")
        }
    }

    @Test func `closes on plaintext, and the log tells it`() throws {
        try withTLSDoors { daemon, door, http in
            for address in [door, http] {
                let client = try TestClient(address)
                try client.send(text: "GET /readyz HTTP/1.1\r\nHost: localhost\r\n\r\n")
                // OpenSSL answers with an alert, or with nothing.
                while let bytes = try client.bytes() { #expect(bytes.first == 21) }
            }
            try eventually("the log tells it") {
                daemon.log.contains("warning: no TLS with a client from 127.0.0.1:")
                    && daemon.log.contains(": plaintext came, and no TLS\n")
            }
            let client = try TestClient(door, .testClient())
            #expect(try client.call("PING").errorWord == "NOAUTH")
        }
    }

    @Test(arguments: [[22], [22, 3, 1, 2, 0, 1, 0, 1, 252, 3, 3]] as [[UInt8]])
    func `of plaintext closes on the first byte of TLS`(bytes: [UInt8]) throws {
        try withDaemon { daemon in
            let client = try daemon.connect()
            try client.send(bytes)
            let replies = try client.repliesUntilClosed()
            #expect(
                replies.map(\.errorMessage) == [
                    "Protocol error: TLS where plaintext is expected"
                ])
        }
    }

    @Test func `of plaintext closes on TLS`() throws {
        let scratch = try Scratch()
        let (text, address) = try freeLoopbackAddress()
        let door = try scratch.passwordDoor(at: text, password: "x")
        let daemon = try TestDaemon(Setup(listen: door), in: scratch)
        defer { daemon.kill() }
        for _ in 0..<3 {
            let answer = try SecureClient.run(address, [])
            #expect(answer.contains("wrong version number"), "\(answer)")
        }
        // The log tells the first one, and the others at the minute's end.
        let warnings = daemon.log.split(separator: "\n").filter {
            $0.contains(", where plaintext is expected")
        }
        #expect(warnings.count == 1, "\(warnings)")
        #expect(warnings.first?.contains("warning: TLS from 127.0.0.1:") == true, "\(warnings)")
        try withHTTPDoors { daemon, http in
            let answer = try SecureClient.run(http, [])
            #expect(answer.contains("wrong version number"), "\(answer)")
            #expect(daemon.log.contains("warning: TLS from 127.0.0.1:"))
        }
    }

    @Test func `asks clients for a certificate if it is to`() throws {
        let authority = try TestAuthority.shared()
        let own = try authority.issue("packer", for: "DNS:packer")
        let clients = "clients: \"\(authority.certificate)\", requireClient: true"
        try withTLSDoors(more: clients) { daemon, door, http in
            #expect(throws: TLSError.self) {
                let client = try TestClient(door, .testClient())
                _ = try client.call("PING")
            }
            let stranger = try TestAuthority().issue("packer")
            #expect(throws: TLSError.self) {
                let client = try TestClient(door, .testClient(stranger))
                _ = try client.call("PING")
            }
            // A certificate is no password.
            let client = try TestClient(door, .testClient(own))
            #expect(try client.call("PING").errorWord == "NOAUTH")
            #expect(try client.call("AUTH", "open sesame") == .simpleString("OK"))
            #expect(daemon.log.contains(", certificate /CN=packer\n"))
            let web = try HTTPTestClient(http, key: testKey, .testClient(own))
            #expect(try web.get("/api/threads").status == 200)
        }
    }

    @Test func `serves the page and its changes, whose origin is https`() throws {
        try withTLSDoors { daemon, _, http in
            #expect(daemon.log.contains("HTTP on https://\(http)/\n"))
            let client = try HTTPTestClient(http, key: testKey, .testClient())
            let page = try client.get("/")
            #expect(page.status == 200)
            #expect(page.text.contains("<html"))
            let job = "{\"thread\": \"images\", \"selector\": \"echo\", \"payload\": \"x\"}"
            let own = try client.post("/api/jobs", job, fields: ["Origin: https://localhost"])
            #expect(own.status == 202)
            let url = try daemon.connect().call("PAGE")["url"]?.text ?? ""
            #expect(url.hasPrefix("https://\(http)/#ticket="))
            let other = try client.post("/api/jobs", job, fields: ["Origin: https://evil.example"])
            #expect(other.status == 403)
            // The refusal is read to its end, and the connection ends in order.
            #expect(try client.textUntilClosed() == "")
        }
    }

    @Test func `has the addresses of its strangers counted before they are encrypted`() throws {
        try withTLSDoors(Setup(limits: "connections: 16")) { daemon, door, _ in
            let silent = try (1...4).map { _ in try TestClient(door) }
            try eventually("they are in") { try daemon.connect().figure("connected_clients") >= 5 }
            // One more is closed without a word: nothing is said in plaintext.
            let refused = try TestClient(door)
            #expect(try refused.bytes() == nil)
            #expect(try daemon.connect().figure("rejected_connections") == 1)
            withExtendedLifetime(silent) {}
        }
    }
}

/// The command `openssl s_client`.
enum SecureClient {
    /// Connects, and returns what it prints and the daemon answers.
    ///
    /// - Parameter text: is sent, and has the daemon close the connection; nil closes it at once.
    static func run(
        _ address: SocketAddress, _ arguments: [String], _ text: String? = nil
    ) throws -> String {
        let shown = arguments.map { "'\($0)'" }.joined(separator: " ")
        let line =
            "printf '%s' \"$TEXT\" | timeout 60 openssl s_client -connect \(address) \(shown)"
            + (text == nil ? "" : " -ign_eof")
        let run = try ProgramRun("/usr/bin/env", ["TEXT=\(text ?? "")", "/bin/sh", "-c", line])
        return run.output
    }
}
