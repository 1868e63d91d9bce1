// The texts of others on a terminal, and in a pipe.

import Kernel
import Support
import Testing

@Suite(.timeLimit(.minutes(2)))
struct `A terminal` {
    @Test func `gets a result without controls, and a pipe gets it as it is`() throws {
        let daemon = try TestDaemon()
        let result = "a\u{1B}[31mb\u{202E}c\n"
        let piped = try daemon.workerctl("perform", "images", "echo", result, "--wait")
        #expect(piped.text == result)
        // script(1) gives the program a terminal, and passes its output on.
        let program = try product("workerctl")
        var command = ChildCommand(
            program: "/usr/bin/script",
            arguments: [
                "-qec", "'\(program)' perform images echo \"$RESULT\" --wait", "/dev/null",
            ])
        command.environment = [
            "PATH": "/usr/bin:/bin", "SHELL": "/bin/sh", "WORKERD_SOCKET": daemon.socket,
            "RESULT": result,
        ]
        var child = try ChildProcess.spawn(command)
        child.closeInput()
        guard let output = child.takeOutput() else { throw Unexpected("no output") }
        let shown = String(
            decoding: try output.readEverything("output", atMost: 1 << 20), as: UTF8.self)
        try waitUntilReady(child.endDescriptor.number)
        _ = child.reap()
        #expect(shown.contains(#"a\x1b[31mb\u{202e}c"#), "\(shown)")
        #expect(!shown.unicodeScalars.contains("\u{1B}"))
        #expect(!shown.unicodeScalars.contains("\u{202E}"))
    }

    @Test(arguments: ["top.py", "batch.py"])
    func `is taken over by top, and given back as it was, and shows a bar`(script: String) throws {
        // The script says what it looks at, in the order in which a person would do it.
        let run = try ProgramRun(
            "/usr/bin/python3",
            [
                "\(repositoryDirectory)/Scripts/lib/terminal/\(script)", try product("workerctl"),
                try product("workerd"),
            ])
        #expect(run.status == .exited(0), "\(run.output)")
    }

    @Test func `is needed for top`() throws {
        let daemon = try TestDaemon()
        let run = try daemon.workerctl("top")
        #expect(run.status == 64)
        #expect(run.errors == "workerctl: top needs a terminal\n  try: workerctl threads\n")
    }
}
