// Other effects of signals, and the traces of an end without one.

import Kernel
import RESP
import Support
import Testing

@Suite struct `Signals to the daemon` {
    @Test(.timeLimit(.minutes(2)))
    func `SIGUSR1 describes every thread's loop in the log, busy and paused ones too`() throws {
        let setup = Setup(threads: "images: {}, ledger: {}, mail: { count: 2 }")
        try withDaemon(setup) { daemon in
            let client = try daemon.connect()
            _ = try client.call("PAUSE", "ledger")
            let id = try client.perform("images", "sleep", "3600000")
            try client.waitUntil(id, is: "running")
            try daemon.send(.user1)
            // Described in any case; in which mode depends on how far each thread is.
            for name in ["main", "io", "images", "ledger", "mail/1", "mail/2"] {
                try eventually("\(name) is described") {
                    daemon.log.contains("thread \(name)\n")
                }
            }
            try eventually("modes are named") {
                try daemon.send(.user1)
                let log = daemon.log
                return log.contains("running: default, job") && log.contains("running: paused")
            }
            #expect(try client.call("PING") == .simpleString("PONG"))
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `a thread that was there before the daemon, and takes its signals, is told of`() throws {
        let warning =
            "threads that were started before the daemon do not block them: ProgramObedient\n"
        for (environment, isTold) in [(["OBEDIENT_EARLY_THREAD": "1"], true), ([:], false)] {
            let scratch = try Scratch()
            try scratch.write(Setup().text(directory: scratch.path), to: "workerd.json5")
            let daemon = try TestDaemon(
                arguments: ["--config", scratch.file("workerd.json5")], in: scratch,
                program: "ProgramObedient", environment: environment)
            defer { daemon.kill() }
            try daemon.waitUntilListening()
            #expect(daemon.log.contains(warning) == isTold)
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `after SIGKILL the next daemon replaces the socket that was left`() throws {
        try withDaemon { daemon in
            let client = try daemon.connect()
            #expect(try client.call("PING") == .simpleString("PONG"))
            try daemon.send(.kill)
            #expect(try daemon.end() == "killed by SIGKILL")
            #expect(daemon.scratch.has("s"))
            let next = try TestDaemon(Setup(), in: daemon.scratch, logName: "log2")
            defer { next.kill() }
            #expect(try next.connect().call("PERFORM", "images", "echo", "WAIT", "x").text == "x")
            try next.send(.terminate)
            #expect(try next.end() == "exit status 0")
            #expect(!daemon.scratch.has("s"))
        }
    }
}
