// Programs as handlers: what they are given, what becomes of what they give back.

import RESP
import Support
import Testing

@Suite struct `Programs` {
    /// A selector `it` that runs a shell script in the test's directory.
    private static func script(_ script: String, _ more: String = "") -> Setup {
        Setup(
            selectors: """
                it: { program: ["sh", "-c", '\(script)'], directory: "$DIR", \(more) }
                """)
    }

    @Test(.timeLimit(.minutes(2)))
    func `the payload is standard input, standard output is the result`() throws {
        try withDaemon(Self.script("cat; printf done")) { daemon in
            let client = try daemon.connect()
            for payload: [UInt8] in [[], [0, 13, 10, 255], Array(repeating: 7, count: 1 << 20)] {
                let reply = try client.call("PERFORM", "images", "it", "WAIT", .bytes(payload))
                #expect(reply.bytes == payload + Array("done".utf8))
            }
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `a program learns about its job, its directory and its environment`() throws {
        let setup = Self.script(
            "pwd; echo $COLOUR $WORKERD_JOB $WORKERD_SELECTOR $WORKERD_THREAD $WORKERD_ATTEMPT",
            "environment: { COLOUR: \"deep blue\" }")
        try withDaemon(setup) { daemon in
            let client = try daemon.connect()
            let reply = try client.call("PERFORM", "images", "it", "WAIT", "")
            #expect(reply.text == "\(daemon.scratch.path)\ndeep blue 1 it images 1\n")
        }
    }

    @Test(
        .timeLimit(.minutes(2)),
        arguments: [
            ("", "HOME LANG PATH TMPDIR"),
            ("passEnvironment: [\"TOKEN\", \"NOT_THERE\"]", "HOME LANG PATH TMPDIR TOKEN"),
            ("inheritEnvironment: true", "HOME LANG LOG PATH SECRET TMPDIR TOKEN"),
        ])
    func `a program gets no more of the daemon's environment than it is to`(
        _ setting: String, _ expected: String
    ) throws {
        let scratch = try Scratch()
        var setup = Self.script("env", setting)
        setup.log = "level: \"debug\""
        try scratch.write(setup.text(directory: scratch.path), to: "workerd.json5")
        let daemon = try TestDaemon(
            arguments: ["--config", scratch.file("workerd.json5")], in: scratch,
            environment: [
                "SECRET": "s", "TOKEN": "t", "LANG": "C.UTF-8", "HOME": "/", "TMPDIR": "/tmp",
            ])
        defer { daemon.kill() }
        try daemon.waitUntilListening()
        let reply = try daemon.connect().call("PERFORM", "images", "it", "WAIT", "")
        let names = (reply.text ?? "\(reply)").split(separator: "\n").compactMap {
            $0.split(separator: "=").first.map(String.init)
        }
        // The shell sets some of its own, and the test's runner may.
        let meant = ["HOME", "LANG", "LOG", "PATH", "SECRET", "TMPDIR", "TOKEN"]
        #expect(names.filter(meant.contains).sorted().joined(separator: " ") == expected)
        #expect(names.contains("WORKERD_JOB"))
    }

    @Test(.timeLimit(.minutes(2)))
    func `arguments are passed as they are, no shell reads them`() throws {
        let setup = Setup(
            selectors: """
                it: { program: ["printf", "%s|", "$HOME", "a b", "*", "; exit 3", "", "'\\""] }
                """)
        try withDaemon(setup) { daemon in
            let reply = try daemon.connect().call("PERFORM", "images", "it", "WAIT", "")
            #expect(reply.text == "$HOME|a b|*|; exit 3||'\"|")
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `a status that is not 0 fails the job with the last lines of standard error`() throws {
        let script = "echo out; for i in 1 2 3 4 5 6 7; do echo line $i >&2; done; exit 3"
        try withDaemon(Self.script(script)) { daemon in
            let client = try daemon.connect()
            let reply = try client.call("PERFORM", "images", "it", "WAIT", "")
            #expect(
                reply
                    == .error(
                        "FAILED job 1: exit status 3: line 3 / line 4 / line 5 / line 6 / line 7"))
            #expect(try client.job(1, "state").text == "failed")
            #expect(try client.job(1, "failure").text?.hasPrefix("exit status 3: line 3") == true)
        }
    }

    @Test(.timeLimit(.minutes(2)), arguments: ["SEGV", "KILL", "TERM"])
    func `a program that a signal ends fails with its name`(signal: String) throws {
        try withDaemon(Self.script("echo last words >&2; kill -\(signal) $$")) { daemon in
            let reply = try daemon.connect().call("PERFORM", "images", "it", "WAIT", "")
            #expect(reply.errorWord == "FAILED")
            let message = reply.errorMessage ?? ""
            #expect(message.hasPrefix("job 1: killed by SIG\(signal)"), "\(message)")
            #expect(message.hasSuffix("last words"))
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `a program need not read its input`() throws {
        try withDaemon(Self.script("exec true")) { daemon in
            let payload = [UInt8](repeating: 1, count: 8 << 20)
            let client = try daemon.connect()
            let reply = try client.call("PERFORM", "images", "it", "WAIT", .bytes(payload))
            #expect(reply.text == "")
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `a program may close its output and errors before it ends`() throws {
        let script = "echo result; exec >&- 2>&-; cat > seen"
        try withDaemon(Self.script(script)) { daemon in
            let client = try daemon.connect()
            let payload = String(repeating: "x", count: 1 << 20)
            let reply = try client.call("PERFORM", "images", "it", "WAIT", .text(payload))
            #expect(reply.text == "result\n")
            #expect(daemon.scratch.read("seen") == payload)
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `a program that is gone or cannot be started fails its job only`() throws {
        let setup = Setup(selectors: "it: { program: [\"$DIR/tool\"] }")
        let scratch = try Scratch()
        try scratch.writeProgram("#!/bin/sh\necho made\n", to: "tool")
        let daemon = try TestDaemon(setup, in: scratch)
        defer { daemon.kill() }
        let client = try daemon.connect()
        #expect(try client.call("PERFORM", "images", "it", "WAIT", "").text == "made\n")
        try scratch.writeProgram("#!/no/such/interpreter\n", to: "tool")
        for _ in 0..<2 {
            let reply = try client.call("PERFORM", "images", "it", "WAIT", "")
            #expect(reply.errorWord == "FAILED")
            #expect(reply.errorMessage?.contains("can't start \(scratch.file("tool"))") == true)
            #expect(reply.errorMessage?.contains("No such file or directory") == true)
        }
        #expect(try client.call("PERFORM", "images", "echo", "WAIT", "x").text == "x")
    }

    @Test(.timeLimit(.minutes(2)))
    func `programs of one thread take turns, those of a pool run together`() throws {
        // Each waits for the other's file: alone, none would ever end.
        let script =
            "read n; : > here$n; while [ ! -e here$((3 - n)) ]; do sleep 0.01; done; echo met"
        var setup = Self.script(script)
        setup.threads = "mail: { count: 2 }, images: {}"
        try withDaemon(setup) { daemon in
            let client = try daemon.connect()
            try client.send("PERFORM", "mail", "it", "WAIT", "1\n")
            try client.send("PERFORM", "mail", "it", "WAIT", "2\n")
            #expect(try client.reply().text == "met\n")
            #expect(try client.reply().text == "met\n")
            #expect(try client.figure("running_children") == 0)
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `while a program runs its thread answers, and the next job waits its turn`() throws {
        try withDaemon(Self.script("while [ ! -e go ]; do sleep 0.01; done; echo done")) { daemon in
            let client = try daemon.connect()
            let first = try client.perform("images", "it", "")
            try client.waitUntil(first, is: "running")
            let second = try client.perform("images", "echo", "second")
            let thread = try client.call("THREAD", "images")
            #expect(thread["job"]?.integer == first)
            #expect(thread["selector"]?.text == "it")
            try eventually("it is a child") { try client.figure("running_children") == 1 }
            #expect(try client.job(second, "state").text == "waiting")
            try daemon.scratch.write("", to: "go")
            #expect(try client.call("RESULT", .integer(second), "WAIT").text == "second")
            #expect(try client.call("RESULT", .integer(first)).text == "done\n")
        }
    }
}
