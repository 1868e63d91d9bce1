// The Swift clients and `workerctl` at a door with TLS of the real daemon.

import Kernel
import Support
import Testing
import WorkerClient

@Suite(.timeLimit(.minutes(2))) struct `A client with TLS` {
    /// A daemon with a door, whose certificate is for `localhost`.
    private struct Door {
        let daemon: TestDaemon
        let address: String
        let authority: String
        let passwordFile: String

        /// - Parameter more: what `tls` has beside certificate and key.
        init(more: String = "") throws {
            let scratch = try Scratch()
            let issued = try TestAuthority.shared().issue("server")
            address = try freePort(at: "127.0.0.1").description
            authority = try TestAuthority.shared().certificate
            passwordFile = try scratch.write(Array("hunter2\n".utf8), to: "password")
            daemon = try TestDaemon(
                listen: """
                    tcp: "\(address)", passwordFile: "\(passwordFile)",
                    tls: { certificate: "\(issued.certificate)", key: "\(issued.key)", \(more) }
                    """, in: scratch)
        }

        var trusting: ClientTLS { ClientTLS(authorities: authority) }

        func workerctl(_ arguments: String...) throws -> CommandLineRun {
            try CommandLineRun(["--password-file", passwordFile] + arguments)
        }
    }

    @Test func `waits for results of any size`() throws {
        let door = try Door()
        let client = try WorkerClient(
            .tls(door.address, password: "hunter2", door.trusting))
        #expect(client.address.description == "tls://\(door.address)")
        for byteCount in [0, 1, 16_384, 70_000, 3_000_000] {
            let payload = (0..<byteCount).map { UInt8(truncatingIfNeeded: $0 * 13) }
            let result = try client.performAndWait(
                onThread: "images", selector: "echo", payload: payload)
            #expect(result == payload)
        }
        try door.daemon.kill()
    }

    @Test func `has many commands under way`() async throws {
        let door = try Door()
        let client = try await AsyncWorkerClient.connect(
            to: .tls(door.address, password: "hunter2", door.trusting))
        let payload = (0..<300_000).map { UInt8(truncatingIfNeeded: $0 * 13) }
        try await withThrowingTaskGroup(of: [UInt8].self) { group in
            for _ in 0..<40 {
                group.addTask {
                    try await client.performAndWait(
                        onThread: "images", selector: "echo", payload: payload)
                }
            }
            for try await result in group { #expect(result == payload) }
        }
        client.close()
        try door.daemon.kill()
    }

    @Test func `goes on with a daemon that was replaced`() throws {
        let door = try Door()
        var options = ClientOptions()
        options.idleBeforeLook = .zero
        let client = try WorkerClient(
            .tls(door.address, password: "hunter2", door.trusting), options: options)
        try client.ping()
        try client.ping()
        try door.daemon.kill()
        let lost = clientError { try client.ping() }
        guard case .notConnected = lost else {
            Issue.record("\(String(describing: lost))")
            return
        }
    }

    @Test func `trusts no other server, and says what to do`() throws {
        let door = try Door()
        func reason(_ address: WorkerAddress) -> String {
            guard
                case .notConnected(_, let reason, let advice)? = clientError({
                    _ = try WorkerClient(address)
                })
            else { return "no error" }
            return "\(reason); \(advice)"
        }
        let unknown = reason(.tls(door.address, password: "hunter2"))
        #expect(unknown.contains("certificate verify failed"), "\(unknown)")
        #expect(unknown.contains("--cacert names the file"))
        var elsewhere = door.trusting
        elsewhere.serverName = "jobs.example"
        #expect(
            reason(.tls(door.address, password: "hunter2", elsewhere)).contains(
                "hostname mismatch"))
        elsewhere.serverName = "localhost"
        try WorkerClient(.tls(door.address, password: "hunter2", elsewhere)).ping()
        let missing = ClientTLS(authorities: "/nowhere/ca.pem")
        #expect(
            reason(.tls(door.address, password: "hunter2", missing)).hasPrefix(
                "/nowhere/ca.pem: No such file"))
        let plaintext = reason(.tcp(door.address, password: "hunter2"))
        #expect(plaintext != "no error", "\(plaintext)")
        let text = try freePort(at: "127.0.0.1").description
        let plain = try TestDaemon(
            listen: "tcp: \"\(text)\", passwordFile: \"\(door.passwordFile)\"")
        #expect(
            reason(.tls(text, password: "hunter2", door.trusting))
                == "plaintext came, and no TLS; does this door of the daemon have listen.tls?")
        try plain.kill()
        try door.daemon.kill()
    }

    @Test func `shows its own certificate where one is required`() throws {
        let authority = try TestAuthority.shared()
        let door = try Door(more: "clients: \"\(authority.certificate)\", requireClient: true")
        #expect(
            clientError {
                _ = try WorkerClient(.tls(door.address, password: "hunter2", door.trusting))
            } != nil)
        let own = try authority.issue("packer", for: "DNS:packer")
        let run = try door.workerctl(
            "--tcp", "rediss://\(door.address)", "--cacert", door.authority,
            "--cert", own.certificate, "--cert-key", own.key, "ping")
        #expect(run.text.hasPrefix("PONG"), "\(run.errors)")
        try door.daemon.kill()
    }

    @Test func `is workerctl, too`() throws {
        let door = try Door()
        let tcp = "tls://localhost:\(door.address.split(separator: ":").last ?? "")"
        let result = try door.workerctl(
            "--tcp", tcp, "--cacert", door.authority, "perform", "images", "echo", "hi", "--wait")
        #expect(result.text == "hi", "\(result.errors)")
        let strange = try door.workerctl("--tcp", tcp, "ping")
        #expect(strange.status == 69)
        #expect(strange.errors.contains("certificate verify failed"), "\(strange.errors)")
        let byVariable = try CommandLineRun(
            ["--password-file", door.passwordFile, "--tcp", tcp, "ping"],
            environment: ["SSL_CERT_FILE": door.authority])
        #expect(byVariable.status == 0, "\(byVariable.errors)")
        let useless = try door.workerctl(
            "--tcp", door.address, "--cacert", door.authority, "ping")
        #expect(useless.status == 64)
        #expect(useless.errors.contains("--cacert is for TLS"), "\(useless.errors)")
        try door.daemon.kill()
    }
}
