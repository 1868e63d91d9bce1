// Certificates of the real daemon that change at a reload, and those that it does not start with.

import Kernel
import RESP
import Support
import TLS
import Testing

@Suite(.timeLimit(.minutes(2))) struct `Certificates` {
    private func subject(_ client: TestClient) -> String? { client.tls?.peerSubject }

    @Test func `are read again at a reload, and old connections go on`() throws {
        let authority = try TestAuthority.shared()
        try withTLSDoors { daemon, door, http in
            let early = try TestClient(door, .testClient())
            #expect(try early.call("AUTH", "open sesame") == .simpleString("OK"))
            #expect(subject(early) == "/CN=server")
            let `operator` = try daemon.connect()
            #expect(try `operator`.call("RELOAD").texts == [])

            try daemon.scratch.install(try authority.issue("renewed"))
            let lines = try `operator`.call("RELOAD").texts ?? []
            #expect(lines.count == 2, "\(lines)")
            let prefixes = [
                "listen.tls.certificate: another certificate, valid until 20",
                "listen.http.tls.certificate: another certificate, valid until 20",
            ]
            for (line, prefix) in zip(lines, prefixes) { #expect(line.hasPrefix(prefix)) }
            #expect(try early.call("PING") == .simpleString("PONG"))
            #expect(subject(try TestClient(door, .testClient())) == "/CN=renewed")
            let web = try HTTPTestClient(http, key: testKey, .testClient())
            #expect(subject(web.raw) == "/CN=renewed")
            #expect(try web.get("/readyz").status == 200)

            try daemon.scratch.install(try authority.issue("again"))
            try daemon.send(.hangUp)
            try eventually("it is reloaded") {
                daemon.log.split(separator: "\n").count { $0.contains("reloaded: ") } == 3
            }
            #expect(subject(try TestClient(door, .testClient())) == "/CN=again")
        }
    }

    @Test func `that are of no use change nothing at a reload`() throws {
        let authority = try TestAuthority.shared()
        try withTLSDoors { daemon, door, _ in
            let good = try authority.issue("good")
            let `operator` = try daemon.connect()
            try File.write(
                File.read(good.certificate, atMost: 1 << 20), to: daemon.scratch.file("cert.pem"))
            let path = daemon.scratch.path
            #expect(
                try `operator`.call("RELOAD").errorMessage
                    == "listen.tls.key: \(path)/key.pem does not belong to the certificate")
            #expect(subject(try TestClient(door, .testClient())) == "/CN=server")
            try daemon.scratch.install(good)
            try File.setMode(0o644, of: daemon.scratch.file("key.pem"))
            let message = try `operator`.call("RELOAD").errorMessage ?? ""
            #expect(message.hasPrefix("listen.tls.key: \(path)/key.pem has mode 0644: "))
            try File.setMode(0o600, of: daemon.scratch.file("key.pem"))
            #expect(try `operator`.call("RELOAD").texts?.count == 2)
            #expect(subject(try TestClient(door, .testClient())) == "/CN=good")
        }
    }

    @Test func `come and go with their setting, at a door that stays open`() throws {
        let scratch = try Scratch()
        let (text, address) = try freeLoopbackAddress()
        let door = try scratch.passwordDoor(at: text, password: "open sesame")
        let daemon = try TestDaemon(Setup(listen: door), in: scratch)
        defer { daemon.kill() }
        let early = try TestClient(address)
        #expect(try early.call("AUTH", "open sesame") == .simpleString("OK"))
        let tls = try TestAuthority.door(in: scratch)
        try daemon.rewrite(section: "listen: { unix: \"$DIR/s\", \(door), \(tls) }")
        let `operator` = try daemon.connect()
        #expect(try `operator`.call("RELOAD").texts == ["listen.tls: none → on"])
        #expect(try early.call("PING") == .simpleString("PONG"))
        #expect(
            try TestClient(address, .testClient()).call("PING").errorWord == "NOAUTH")
        try daemon.rewrite(section: "listen: { unix: \"$DIR/s\", \(door) }")
        #expect(try `operator`.call("RELOAD").texts == ["listen.tls: on → none"])
        #expect(try TestClient(address).call("PING").errorWord == "NOAUTH")
    }

    @Test func `that are of no use are status 78 at the start, and found by a check`() throws {
        let authority = try TestAuthority.shared()
        let scratch = try Scratch()
        let (text, _) = try freeLoopbackAddress()
        let door = try scratch.passwordDoor(at: text, password: "x")
        let tls = try TestAuthority.door(in: scratch)
        try File.write(
            File.read(authority.encrypt(scratch.file("key.pem")), atMost: 1 << 20),
            to: scratch.file("key.pem"))
        let setup = Setup(listen: "\(door), \(tls)")
        try scratch.write(setup.text(directory: scratch.path), to: "workerd.json5")
        for more in [[], ["--check"]] {
            let daemon = try TestDaemon(
                arguments: ["--config", scratch.file("workerd.json5")] + more, in: scratch)
            defer { daemon.kill() }
            #expect(try daemon.end() == "exit status 78")
            let said = try daemon.log + daemon.output()
            #expect(
                said.contains(
                    "listen.tls.key: \(scratch.path)/key.pem is encrypted, and there is no "
                        + "password for it: openssl pkey"), "\(said)")
        }
    }

    @Test func `that end within two weeks are a warning, and a figure of each door`() throws {
        try withTLSDoors { daemon, door, http in
            let soon = try TestAuthority.shared().issue("soon", days: 13)
            let web = try HTTPTestClient(http, key: testKey, .testClient())
            func ends() throws -> [Substring] {
                try web.get("/metrics").text.split(separator: "\n").filter {
                    $0.hasPrefix("workerd_certificate_expiry_timestamp_seconds{")
                }
            }
            let before = try ends()
            #expect(before.count == 2)
            #expect(!daemon.log.contains("expires on"))
            try daemon.scratch.install(soon)
            #expect(try daemon.connect().call("RELOAD").texts?.count == 2)
            #expect(daemon.log.contains("cert.pem expires on 20"))
            let now = Double(WallClock.unixMilliseconds()) / 1_000
            for (line, older) in zip(try ends(), before) {
                let halves = line.split(separator: " ")
                let days = ((Double(halves[1]) ?? 0) - now) / 86_400
                #expect(days > 12 && days <= 13, "\(line)")
                #expect(line != older)
            }
        }
    }

    @Test func `that have expired are a warning`() throws {
        let scratch = try Scratch()
        let (text, address) = try freeLoopbackAddress()
        let door = try scratch.passwordDoor(at: text, password: "x")
        let old = try TestAuthority.shared().issue("old", days: -1)
        let tls = try TestAuthority.door(in: scratch, old)
        let daemon = try TestDaemon(Setup(listen: "\(door), \(tls)"), in: scratch)
        defer { daemon.kill() }
        #expect(
            daemon.log.contains("warning: listen.tls.certificate: \(scratch.path)/cert.pem expired")
        )
        #expect(throws: TLSError.fault("certificate verify failed: certificate has expired")) {
            _ = try TestClient(address, .testClient())
        }
    }
}
