// `workerctl doctor`: what it finds in order, and each thing that it finds wrong.

import Kernel
import Support
import Testing
import WorkerClient
import WorkerDaemon

@Suite(.timeLimit(.minutes(2)))
struct `workerctl doctor` {
    /// The findings by the names of their checks.
    private func findings(
        _ arguments: [String], status: Int?, at place: SourceLocation = #_sourceLocation
    ) throws -> [String: (state: String, text: String)] {
        let run = try CommandLineRun(["--json", "doctor"] + arguments)
        if let status {
            #expect(run.status == status, "\(run.text)\(run.errors)", sourceLocation: place)
        }
        let checks = try run.json()["checks"]?.elements ?? []
        return Dictionary(
            checks.map {
                ($0["check"]?.text ?? "", ($0["state"]?.text ?? "", $0["text"]?.text ?? ""))
            },
            uniquingKeysWith: { $1 })
    }

    @Test func `finds a daemon with a store in order`() throws {
        let scratch = try Scratch()
        let daemon = try TestDaemon(in: scratch, store: scratch.file("jobs.sqlite"))
        let found = try findings(["--socket", daemon.socket], status: 0)
        for name in ["configuration", "socket", "rights", "daemon", "jobs", "limits", "clock"] {
            #expect(found[name]?.state == "ok", "\(name): \(found[name]?.text ?? "not looked at")")
        }
        // The disk of the machine may be nearly full.
        #expect(found["store"]?.text.hasPrefix("\(scratch.file("jobs.sqlite")) has ") == true)
        #expect(found["configuration"]?.text == "\(scratch.file("workerd.json5")) has no fault")
        #expect(found["socket"]?.text.contains("mode 600") == true)
        let people = try daemon.workerctl("doctor")
        #expect(people.text.hasPrefix("ok    configuration  "))
    }

    @Test func `finds a daemon that is not there, and a socket that is a file`() throws {
        let scratch = try Scratch()
        let missing = try findings(["--socket", scratch.file("s")], status: 1)
        #expect(missing["socket"]?.state == "fail")
        #expect(missing["daemon"]?.state == "fail")
        #expect(missing["store"] == nil)
        let file = try scratch.write([], to: "file")
        let other = try findings(["--socket", file], status: 1)
        #expect(other["socket"]?.text == "\(file) is no socket")
        let run = try CommandLineRun(["--socket", scratch.file("s"), "doctor"])
        #expect(run.status == 1)
        #expect(run.text.contains("FAIL  socket         there is no \(scratch.file("s"))\n"))
        #expect(run.errors == "")
    }

    @Test func `finds the fault of a configuration, and one that is not there`() throws {
        let daemon = try TestDaemon()
        let faulty = try daemon.scratch.write(Array("{ thread: {} }".utf8), to: "faulty.json5")
        let found = try findings(["--socket", daemon.socket, "--config", faulty], status: 1)
        #expect(found["configuration"]?.state == "fail")
        #expect(found["configuration"]?.text.hasSuffix(", and 2 more faults") == true)
        #expect(found["daemon"]?.state == "ok")
        let none = daemon.scratch.file("none")
        let missing = try findings(["--socket", daemon.socket, "--config", none], status: 1)
        #expect(missing["configuration"]?.text == "there is no \(none)")
    }

    @Test(arguments: [
        (-3_600, "fail", "expired 1 h 0 min ago"), (13 * 86_400, "warn", "is valid for 13 d 0 h"),
        (15 * 86_400, "ok", "is valid for 15 d 0 h"),
    ])
    func `looks at certificates`(seconds: Int, state: String, words: String) throws {
        let now = Int(WallClock.unixMilliseconds() / 1_000)
        let figures =
            "server_time_usec:\(now * 1_000_000)\r\ncertificate_expires_http:\(now + seconds)\r\n"
        let server = try FakeServer({ session in
            try session.greet()
            #expect(try session.command() == ["INFO"])
            try session.send("$\(figures.utf8.count)\r\n\(figures)\r\n")
            session.readToEnd()
        })
        let found = try findings(["--socket", server.address.description], status: nil)
        #expect(found["certificate"]?.state == state)
        #expect(found["certificate"]?.text == "that of listen.http.tls \(words)")
        try server.finish()
    }

    @Test func `looks at the files of certificates, and tells each warning`() throws {
        let scratch = try Scratch()
        let soon = try TestAuthority.shared().issue("soon", days: 3)
        let password = try scratch.write(Array("hunter2\n".utf8), to: "password")
        let daemon = try TestDaemon(
            listen: """
                tcp: "\(try freePort(at: "127.0.0.1"))", passwordFile: "\(password)",
                tls: { certificate: "\(soon.certificate)", key: "\(soon.key)" }
                """, in: scratch)
        let found = try findings(["--socket", daemon.socket], status: 0)
        #expect(found["certificate"]?.state == "warn")
        let prefix = "that of listen.tls is valid for "
        #expect(found["certificate"]?.text.hasPrefix(prefix) == true)
        #expect(found["configuration"]?.text.contains(".pem expires on 20") == true)
        let other = try TestAuthority.shared().issue("other")
        try File.write(File.read(other.key, atMost: 1 << 20), to: soon.key)
        let faulty = try findings(["--socket", daemon.socket], status: 1)
        let text = faulty["configuration"]?.text ?? ""
        #expect(text.contains(".key does not belong to the certificate"), "\(text)")
    }

    @Test func `warns of jobs in memory only`() throws {
        let memory = try TestDaemon()
        let found = try findings(["--socket", memory.socket], status: 0)
        #expect(found["store"]?.state == "warn")
    }

    @Test(arguments: [("3630000", "1 h 0 min ahead of"), ("-7200000", "2 h 0 min behind")])
    func `warns of another clock`(difference: String, words: String) throws {
        let moment = WallClock.unixMilliseconds() + (Int64(difference) ?? 0)
        let figures = "# Server\r\nworkerd_version:0.0.1\r\nserver_time_usec:\(moment * 1_000)\r\n"
        let server = try FakeServer({ session in
            try session.greet()
            #expect(try session.command() == ["INFO"])
            try session.send("$\(figures.utf8.count)\r\n\(figures)\r\n")
            session.readToEnd()
        })
        // The socket of the server is gone after its last answer.
        let found = try findings(["--socket", server.address.description], status: nil)
        #expect(found["clock"]?.state == "warn")
        let text = found["clock"]?.text ?? ""
        #expect(text.contains(words), "\(text)")
        #expect(found["daemon"]?.state == "warn")
        try server.finish()
    }
}
