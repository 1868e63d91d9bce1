// Sockets that a service manager has opened: a restart refuses no connection, and only a door of
// the configuration is opened.

import Kernel
import PostgreSQLServer
import RESP
import Support
import Testing

@Suite(.timeLimit(.minutes(2)))
struct `Sockets of a service manager` {
    private let scripts = "\(repositoryDirectory)/Scripts/lib"

    @Test func `outlive restarts, in which no connection is refused or cut off`() throws {
        let run = try ProgramRun(
            "/usr/bin/python3",
            ["\(scripts)/restarts.py", "\(try productsDirectory())/workerd", "3"])
        #expect(run.status == .exited(0), "\(run.output)")
        #expect(run.output.hasSuffix(", 0 refused, 0 cut off\n"))
    }

    /// Starts workerd with sockets.
    ///
    /// - Parameter sockets: `NAME=ADDRESS`, where `$DIR` is the test's directory.
    private func start(
        _ sockets: [String], _ setup: Setup, _ scratch: Scratch
    ) throws -> TestDaemon {
        try scratch.write(setup.text(directory: scratch.path), to: "workerd.json5")
        // The daemon's own log, as its standard error is the script's.
        return try TestDaemon(
            arguments: ["\(scripts)/activate.py"]
                + sockets.map { $0.replacing("$DIR", with: scratch.path) }
                + [
                    "--", "\(try productsDirectory())/workerd", "--config",
                    scratch.file("workerd.json5"),
                ], in: scratch, path: "/usr/bin/python3")
    }

    @Test func `are doors by their names or addresses, and stay when workerd ends`() throws {
        let scratch = try Scratch()
        let address = try freeLoopbackAddress()
        var setup = Setup(selectors: "variables: { program: [\"env\"] }")
        setup.listen =
            try scratch.passwordDoor(at: address.text, password: "secret")
            + ", http: { unix: \"$DIR/h\" }"
        // A name that is no door's counts for nothing; a path may differ from the configured one.
        let daemon = try start(
            ["unix=$DIR/other", "workerd.socket=\(address.text)"], setup, scratch)
        defer { daemon.kill() }
        try daemon.waitUntilListening()
        #expect(daemon.log.contains("listen.unix: \(scratch.file("other")), a socket of the"))
        #expect(daemon.log.contains("listen.tcp: \(address.text), a socket of the service manager"))
        let client = try TestClient(.unix(UnixAddress(scratch.file("other"))))
        #expect(try client.call("PING").text == "PONG")
        let variables = try client.call("PERFORM", "images", "variables", "WAIT", "").text ?? ""
        #expect(variables.contains("WORKERD_JOB="))
        #expect(!variables.contains("LISTEN_"))
        let stranger = try TestClient(address.address)
        #expect(try stranger.call("PING").errorWord == "NOAUTH")
        // The door without a socket is opened by workerd itself, which takes it away at the end.
        #expect(try File.kind(of: scratch.file("h")) == .socket)
        #expect(try File.kind(of: scratch.file("s")) == nil)
        try daemon.send(.terminate)
        #expect(try daemon.end() == "exit status 0")
        #expect(try File.kind(of: scratch.file("other")) == .socket)
        #expect(try File.kind(of: scratch.file("h")) == nil)
    }

    @Test(.enabled(if: PostgreSQLServer.isInstalled, .init(rawValue: PostgreSQLServer.excuse)))
    func `are doors of a node that waits, serve after the takeover, and stay`() throws {
        let database = try PostgreSQLServer.shared.get().makeDatabase()
        let first = try TestNode("a", in: database)
        defer { first.daemon.kill() }
        try first.daemon.waitUntilListening()
        let scratch = try Scratch()
        let setup = Setup(store: "\"\(database)\", stateDirectory: \"$DIR\"")
        let second = try start(["unix=$DIR/s"], setup, scratch)
        defer { second.kill() }
        try eventually("clients are passed on") {
            second.log.contains("clients are passed on to node a")
        }
        #expect(try second.connect().call("PING").errorWord == "NOAUTH")
        try first.daemon.crash()
        try second.waitUntilListening()
        #expect(try second.connect().call("PING").text == "PONG")
        try second.send(.terminate)
        #expect(try second.end() == "exit status 0")
        #expect(try File.kind(of: scratch.file("s")) == .socket)
    }

    @Test(arguments: [
        (["a=$DIR/other"], "$DIR/other is no door of the configuration: set listen.unix"),
        (["tcp=127.0.0.1:0"], "is named tcp, which the configuration does not have"),
        (["unix=127.0.0.1:0"], "is named unix, whose address in the configuration is $DIR/s"),
        (["unix=$DIR/s", "unix=127.0.0.1:0"], "is named unix, whose address"),
    ])
    func `that are no door are an error of the configuration`(
        sockets: [String], says: String
    ) throws {
        let scratch = try Scratch()
        let daemon = try start(sockets, Setup(store: Setup.memory), scratch)
        defer { daemon.kill() }
        #expect(try daemon.end() == "exit status 78")
        #expect(daemon.log.contains(says.replacing("$DIR", with: scratch.path)), "\(daemon.log)")
    }

    @Test func `of another process are left alone, and a wrong number of them is refused`() throws {
        let scratch = try Scratch()
        try scratch.write(
            Setup(store: Setup.memory).text(directory: scratch.path), to: "workerd.json5")
        let arguments = ["--config", scratch.file("workerd.json5")]
        let other = try TestDaemon(
            arguments: arguments, in: scratch,
            environment: ["LISTEN_PID": "1", "LISTEN_FDS": "7"])
        defer { other.kill() }
        try other.waitUntilListening()
        try scratch.writeProgram(
            "#!/bin/sh\nexport LISTEN_PID=$$ LISTEN_FDS=x\n"
                + "exec '\(try productsDirectory())/workerd' \"$@\"\n", to: "start")
        let wrong = try TestDaemon(
            arguments: arguments, in: scratch, logName: "wrong", path: scratch.file("start"))
        defer { wrong.kill() }
        #expect(try wrong.end() == "exit status 78")
        #expect(wrong.log.contains("LISTEN_FDS is a number from 0 to 64, not 'x'"))
    }
}
