// How workerd starts, and how it says why it does not.

import Glibc
import Kernel
import RESP
import Support
import Testing

@Suite struct `Starting` {
    /// Runs workerd to its end with any arguments.
    private func run(
        _ arguments: [String], in scratch: Scratch
    ) throws -> (status: String, output: String, errors: String) {
        let daemon = try TestDaemon(arguments: arguments, in: scratch)
        defer { daemon.kill() }
        return (try daemon.end(), try daemon.output(), daemon.log)
    }

    @Test(.timeLimit(.minutes(2)))
    func `--version and --help answer and end well`() throws {
        let scratch = try Scratch()
        let version = try run(["--version"], in: scratch)
        #expect(version.status == "exit status 0")
        #expect(version.output.hasPrefix("workerd "))
        let help = try run(["--help"], in: scratch)
        #expect(help.status == "exit status 0")
        #expect(help.output.contains("--config FILE"))
    }

    @Test(
        .timeLimit(.minutes(2)),
        arguments: [
            (["--frobnicate"], "unknown argument --frobnicate"), ([], "--config FILE is missing"),
            (["--config"], "--config needs a file"), (["--check"], "--config FILE is missing"),
            (["workerd.json5"], "unknown argument workerd.json5"),
        ])
    func `arguments that are wrong are named, status 64`(arguments: [String], fault: String) throws
    {
        let ended = try run(arguments, in: Scratch())
        #expect(ended.status == "exit status 64")
        #expect(ended.errors.contains("workerd: \(fault)\n"))
        #expect(ended.errors.contains("usage: workerd"))
        #expect(ended.output.isEmpty)
    }

    @Test(.timeLimit(.minutes(2)))
    func `--check says that a configuration is fine and starts nothing`() throws {
        let scratch = try Scratch()
        try scratch.write(Setup().text(directory: scratch.path), to: "workerd.json5")
        for arguments in [
            ["--config", scratch.file("workerd.json5"), "--check"],
            ["--check", "--config=\(scratch.file("workerd.json5"))"],
        ] {
            let ended = try run(arguments, in: scratch)
            #expect(ended.status == "exit status 0")
            #expect(ended.output.hasSuffix("workerd.json5: no fault\n"))
        }
        #expect(!scratch.has("s"))
    }

    // systemd makes the socket's directory at the start, and removes it at the end.
    @Test(.timeLimit(.minutes(2)))
    func `--check warns of a directory that the start needs`() throws {
        let scratch = try Scratch()
        let socket = "\"\(scratch.file("missing/s"))\""
        let text = "{\n  listen: { unix: \(socket) },\n  threads: { images: {} },\n}"
        try scratch.write(text, to: "workerd.json5")
        let file = scratch.file("workerd.json5")
        let checked = try run(["--config", file, "--check"], in: scratch)
        #expect(checked.status == "exit status 0")
        #expect(checked.output == "\(file): no fault\n")
        let fault =
            "listen.unix: there is no directory \"\(scratch.file("missing"))\" for the socket"
        #expect(
            checked.errors
                == "\(file): warning: \(fault); it has to be there at the start "
                + "(line 2, column 19)\n"
        )
        let started = try run(["--config", file], in: scratch)
        #expect(started.status == "exit status 78")
        #expect(started.errors.contains("\(file): \(fault)"))
        // A file in its place is a fault all the same.
        try scratch.write("", to: "missing")
        #expect(try run(["--config", file, "--check"], in: scratch).status == "exit status 78")
    }

    @Test(.timeLimit(.minutes(2)))
    func `units and drop-ins that systemd does not find by their names are linked`() throws {
        func lines(_ directory: String) throws -> [Substring] {
            let script =
                ". '\(repositoryDirectory)/Scripts/lib/machine.bash'; how_to_enable '\(directory)'"
            var child = try ChildProcess.spawn(
                ChildCommand(program: "/bin/bash", arguments: ["-c", script]))
            child.closeInput()
            guard let output = child.takeOutput() else { throw Unexpected("no output") }
            let bytes = try output.readEverything("output", atMost: 1 << 16)
            _ = isReady(child.endDescriptor.number, for: POLLIN, within: patienceMilliseconds)
            _ = child.reap()
            return String(decoding: bytes, as: UTF8.self).split(separator: "\n")
        }
        let found: [Substring] = [
            "systemctl daemon-reload",
            "systemctl enable --now workerd.socket workerd.service",
        ]
        #expect(try lines("/usr/lib/systemd/system") == found)
        #expect(try lines("/usr/local/lib/systemd/system") == found)
        let elsewhere = "/srv/jobs/lib/systemd/system"
        #expect(
            try lines(elsewhere) == [
                "ln -sfn '\(elsewhere)/workerd.service.d' /etc/systemd/system/workerd.service.d",
                "systemctl daemon-reload",
                "systemctl enable --now '\(elsewhere)/workerd.socket' "
                    + "'\(elsewhere)/workerd.service'",
            ])
    }

    @Test(
        .timeLimit(.minutes(2)),
        arguments: [
            ("threads: { images: { count: 0 } }", "threads.images.count: must be 1…1024, is 0"),
            ("treads: { images: {} }", "treads: unknown key, did you mean \"threads\"?"),
            ("threads: { a: {}, a: {} }", "threads.a: is given twice"),
            ("threads: { images: { count: \"4\" } }", "threads.images.count:"),
            (
                "threads: { a: {} }, selectors: { go: { program: [\"/no/such\"] } }",
                "selectors.go.program[0]: \"/no/such\" does not exist"
            ),
            ("threads: { a: {} }, selectors: { go: {} }", "selectors.go.program: is missing"),
            ("threads: { a: {} }, log: { level: \"loud\" }", "log.level:"),
            ("threads: { a: {} } } }", "workerd.json5: line 1, column"),
        ])
    func `a fault of the configuration is named with its path, status 78`(
        text: String, fault: String
    ) throws {
        let scratch = try Scratch()
        let socket = "\"\(scratch.file("s"))\""
        try scratch.write("{ listen: { unix: \(socket) }, \(text) }", to: "workerd.json5")
        for extra in [[], ["--check"]] {
            let ended = try run(["--config", scratch.file("workerd.json5")] + extra, in: scratch)
            #expect(ended.status == "exit status 78")
            #expect(ended.errors.contains(fault), "\(ended.errors)")
            #expect(ended.output.isEmpty)
        }
        #expect(!scratch.has("s"))
    }

    @Test(.timeLimit(.minutes(2)))
    func `a configuration that is not there is named, status 78`() throws {
        let scratch = try Scratch()
        let ended = try run(["--config", scratch.file("nowhere.json5")], in: scratch)
        #expect(ended.status == "exit status 78")
        #expect(ended.errors.contains("nowhere.json5"))
        #expect(ended.errors.contains("No such file or directory"))
    }

    @Test(.timeLimit(.minutes(2)))
    func `a socket path that is too long is a fault, one that just fits works`() throws {
        let scratch = try Scratch()
        let room = 107 - scratch.path.utf8.count - 1
        let fits = scratch.file(String(repeating: "s", count: room))
        for (path, isFine) in [(fits, true), (fits + "s", false)] {
            let text = "{ listen: { unix: \"\(path)\" }, threads: { images: {} } }"
            try scratch.write(text, to: "workerd.json5")
            let daemon = try TestDaemon(
                arguments: ["--config", scratch.file("workerd.json5")], in: scratch)
            defer { daemon.kill() }
            if isFine {
                try eventually("it listens") { daemon.log.contains("listening on \(path)\n") }
                let client = try TestClient(.unix(UnixAddress(path)))
                #expect(try client.call("PING") == .simpleString("PONG"))
            } else {
                #expect(try daemon.end() == "exit status 78")
                #expect(daemon.log.contains("listen.unix:"))
                #expect(daemon.log.contains("107"))
            }
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `a second daemon at the same socket refuses, status 69, and the first goes on`() throws {
        try withDaemon(Setup(store: Setup.memory)) { daemon in
            let client = try daemon.connect()
            let second = try TestDaemon(
                arguments: ["--config", daemon.configurationFile], in: daemon.scratch,
                logName: "log2")
            defer { second.kill() }
            #expect(try second.end() == "exit status 69")
            #expect(second.log.contains("\(daemon.socket): a server is listening there already"))
            #expect(try client.call("PERFORM", "images", "echo", "WAIT", "x").text == "x")
            #expect(try daemon.connect().call("PING") == .simpleString("PONG"))
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `a file that is no socket is left as it is, status 69`() throws {
        let scratch = try Scratch()
        try scratch.write("precious", to: "s")
        try scratch.write(Setup().text(directory: scratch.path), to: "workerd.json5")
        let ended = try run(["--config", scratch.file("workerd.json5")], in: scratch)
        #expect(ended.status == "exit status 69")
        #expect(ended.errors.contains("exists and is no socket"))
        #expect(scratch.read("s") == "precious")
    }

    @Test(.timeLimit(.minutes(2)), arguments: [("0600", UInt32(0o600)), ("0666", 0o666)])
    func `the socket has the configured permissions`(text: String, mode: UInt32) throws {
        try withDaemon(Setup(listen: "unixMode: \"\(text)\"")) { daemon in
            let found = try File.mode(of: daemon.socket)
            #expect(found == mode)
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `the log's level leaves out what is below it`() throws {
        let scratch = try Scratch()
        let setup = Setup(log: "level: \"error\"")
        try scratch.write(setup.text(directory: scratch.path), to: "workerd.json5")
        let daemon = try TestDaemon(
            arguments: ["--config", scratch.file("workerd.json5")], in: scratch)
        defer { daemon.kill() }
        try eventually("it listens") { scratch.has("s") }
        try daemon.send(.terminate)
        #expect(try daemon.end() == "exit status 0")
        #expect(daemon.log.isEmpty)
    }

    @Test(
        .timeLimit(.minutes(2)),
        arguments: [
            ("ulimit -v 200000", "the limit of address space is 195 MB", "ulimit -v"),
            ("ulimit -n 30", "the limit of open files is 30", "ulimit -n"),
        ])
    func `a limit that is too small is named`(
        _ order: String, _ fault: String, _ advice: String
    ) throws {
        let scratch = try Scratch()
        let setup = Setup(
            threads: "images: { count: 8 }", selectors: "cat: { program: [\"cat\"] },")
        try scratch.write(setup.text(directory: scratch.path), to: "workerd.json5")
        let program = "\(try productsDirectory())/workerd"
        let configuration = scratch.file("workerd.json5")
        try scratch.writeProgram(
            "#!/bin/sh\n\(order)\nexec '\(program)' --config '\(configuration)'\n", to: "limited")
        let daemon = try TestDaemon(arguments: [], in: scratch, path: scratch.file("limited"))
        defer { daemon.kill() }
        #expect(try daemon.end() == "exit status 71")
        #expect(daemon.log.contains(fault), "\(daemon.log)")
        #expect(daemon.log.contains(advice), "\(daemon.log)")
    }
}
