// How far a job is, as its handler says: a Swift handler by a call, a program by lines on
// descriptor 3.

import Kernel
import RESP
import Support
import Testing

@Suite struct `Progress` {
    @Test(.timeLimit(.minutes(2)))
    func `of a Swift handler is shown while the job runs`() throws {
        try withObedient { daemon in
            let client = try daemon.connect()
            let orders = try Orders("orders", in: daemon.scratch)
            let id = try client.perform("images", "obey", orders.payload)
            try client.waitUntil(id, is: "running")
            #expect(try client.job(id, "progress") == .null)
            #expect(try client.job(id, "progress-text") == .null)
            try orders.give("progress 0.25")
            try eventually("a quarter") { try client.job(id, "progress").text == "0.25" }
            try orders.give("text resting\ta while")
            try eventually("a text") {
                try client.job(id, "progress-text").text == "resting a while"
            }
            #expect(try client.job(id, "progress") == .null)
            try orders.give("progress 7")
            try eventually("the end of the range") { try client.job(id, "progress").text == "1.0" }
            _ = try client.call("HELLO", 3)
            #expect(try client.job(id, "progress") == .double(1))
            try orders.give("return all")
            #expect(try client.call("RESULT", .integer(id), "WAIT").text == "all")
            #expect(try client.job(id, "progress") == .null)
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `of a program comes from descriptor 3, and junk is passed over`() throws {
        let script = """
            test \\"$WORKERD_PROGRESS_FD\\" = 3 || exit 9;
            echo 40% converting >&3; read line; echo 300 >&3; echo 1x >&3;
            echo \\"12.5 page 3\\" >&3; read line; echo sweeping >&3; read line; echo done
            """.split(separator: "\n").joined()
        let setup = Setup(
            selectors: """
                it: { program: ["sh", "-c", "exec <\\"$0\\"; \(script)", "$DIR/orders"] }
                """)
        try withDaemon(setup) { daemon in
            let client = try daemon.connect()
            let orders = try Orders("orders", in: daemon.scratch)
            let id = try client.perform("images", "it", "")
            try eventually("40 %") { try client.job(id, "progress").text == "0.4" }
            #expect(try client.job(id, "progress-text").text == "converting")
            try orders.give("go on")
            try eventually("12.5 %") { try client.job(id, "progress").text == "0.125" }
            #expect(try client.job(id, "progress-text").text == "page 3")
            try orders.give("go on")
            try eventually("a text") { try client.job(id, "progress-text").text == "sweeping" }
            try orders.give("go on")
            #expect(try client.call("RESULT", .integer(id), "WAIT").text == "done\n")
            let complaints = daemon.log.split(separator: "\n").count {
                $0.contains("lines to descriptor 3 that are no progress")
            }
            #expect(complaints == 1, "\(daemon.log)")
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `a program that keeps descriptor 3 open or closes it is not waited for`() throws {
        let setup = Setup(
            selectors: """
                closes: { program: ["sh", "-c", "exec 3>&-; echo x"] },
                leaves: { program: ["sh", "-c",
                            "setsid sleep 3600 >/dev/null 2>&1 & echo $! >pid; echo x"],
                          directory: "$DIR" },
                """)
        try withDaemon(setup) { daemon in
            let client = try daemon.connect()
            #expect(try client.call("PERFORM", "images", "closes", "WAIT", "").text == "x\n")
            #expect(try client.call("PERFORM", "images", "leaves", "WAIT", "").text == "x\n")
            let left = try daemon.scratch.processID(in: "pid")
            try Signal.kill.send(toProcess: left)
        }
    }
}

/// Runs a test with a daemon whose handlers do what they are told.
func withObedient(_ setup: Setup = Setup(), _ body: (TestDaemon) throws -> Void) throws {
    try withDaemon(setup, program: "ProgramObedient", body)
}
