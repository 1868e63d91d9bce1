// Input that is no command, or a wrong one: the error names the fault, and other clients go on.

import Kernel
import RESP
import Testing

@Suite struct `Bad input` {
    /// Does something bad while a healthy client is at work, before and after.
    private func beside(
        _ setup: Setup = Setup(), _ body: (TestDaemon, TestClient) throws -> Void
    ) throws {
        try withDaemon(setup) { daemon in
            let healthy = try daemon.connect()
            try healthy.send("PERFORM", "images", "echo", "DELAY", 50, "WAIT", "before")
            try body(daemon, healthy)
            #expect(try healthy.reply().text == "before")
            #expect(try healthy.call("PERFORM", "images", "echo", "WAIT", "after").text == "after")
        }
    }

    @Test(
        .timeLimit(.minutes(2)),
        arguments: [
            ("*1\r\n:4\r\nPING\r\n", "expected '$', got ':'"),
            ("*2\r\n$4\r\nPINGxx", "expected CRLF after a bulk of 4 bytes"),
            ("*1\r\n$1000000000\r\n", "1000000000"),
            ("*2\r\n$4\r\nECHO\r\n$1073741824\r\n", "1073741824"),
            ("*1000000\r\n", "1000000"),
            ("*99999999999999999999999\r\n", "invalid multibulk length"),
            ("*-1\r\n", "invalid multibulk length '-1'"),
            ("*1\r\n$-7\r\n", "invalid bulk length '-7'"),
            ("*01\r\n", "invalid multibulk length '01'"),
            ("*x\r\n", "invalid multibulk length 'x'"),
            ("*1\n$4\nPING\n", "CRLF"),
            ("PERFORM images echo \"open\r\n", "unbalanced quotes"),
            ("PI\0NG\r\n", "zero byte"),
            (String(repeating: "x", count: 70_000), "no line feed within 65536 bytes"),
        ])
    func `bytes that are no command are named and end their own connection`(
        bytes: String, fault: String
    ) throws {
        try beside { daemon, _ in
            let client = try daemon.connect()
            try client.send("PING")
            try client.send(text: bytes)
            let replies = try client.repliesUntilClosed()
            #expect(replies.count == 2)
            #expect(replies.first == .simpleString("PONG"))
            #expect(replies.last?.errorWord == "ERR")
            let message = replies.last?.errorMessage ?? ""
            #expect(message.hasPrefix("Protocol error: "))
            #expect(message.contains(fault), "\(message)")
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `a fault behind a job that runs does not cost the client its answer`() throws {
        try beside { daemon, _ in
            let client = try daemon.connect()
            _ = try daemon.connect().call("PAUSE", "images")
            try client.send("PERFORM", "images", "echo", "WAIT", "mine")
            try client.send(text: "*1\r\n!\r\n*1\r\n$4\r\nPING\r\n")
            #expect(try client.isSilent())
            _ = try daemon.connect().call("RESUME", "images")
            let replies = try client.repliesUntilClosed()
            #expect(replies.first?.text == "mine")
            #expect(replies.count == 2)
            #expect(replies.last?.errorMessage?.hasPrefix("Protocol error: ") == true)
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `names that are not there are named`() throws {
        try withDaemon { daemon in
            let client = try daemon.connect()
            let unknown = try client.call("FROBNICATE", "x")
            #expect(unknown.errorWord == "ERR")
            #expect(unknown.errorMessage?.contains("'frobnicate'") == true)
            for command: [CommandArgument] in [
                ["PERFORM", "nowhere", "echo", "x"], ["BUFFER", "nowhere", "echo", "x"],
                ["FIRE", "nowhere"], ["THREAD", "nowhere"], ["PAUSE", "nowhere"],
                ["RESUME", "nowhere"], ["STOP", "nowhere"], ["CANCEL", "nowhere", "echo"],
                ["JOBS", "nowhere"], ["PERFORM", "images/1", "echo", "x"],
            ] {
                try client.send(TestClient.bytes(command))
                let reply = try client.reply()
                #expect(reply.errorWord == "NOTHREAD", "\(command): \(reply)")
                #expect(reply.errorMessage?.contains("there is no thread '") == true)
            }
            for name: CommandArgument in ["PERFORM", "BUFFER"] {
                let reply = try client.call(name, "images", "paint", "x")
                #expect(reply.errorWord == "NOSELECTOR")
                #expect(reply.errorMessage?.contains("'paint'") == true)
            }
            for name: CommandArgument in ["JOB", "RESULT", "CANCEL"] {
                #expect(try client.call(name, "99").errorWord == "NOJOB")
            }
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `a name with line ends or of any length stays one error`() throws {
        try withDaemon { daemon in
            let client = try daemon.connect()
            #expect(try client.call("a\r\n+OK\r\n").errorWord == "ERR")
            #expect(try client.call("THREAD", "a\r\n-NO b").errorWord == "NOTHREAD")
            // One character, as Swift counts them, of a megabyte.
            let name = "e" + String(repeating: "\u{301}", count: 500_000)
            let reply = try client.call("THREAD", .text(name))
            #expect(reply.errorMessage?.utf8.count ?? .max < 1_000)
            #expect(try client.call("PING") == .simpleString("PONG"))
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `every command says so when it has too few or too many arguments`() throws {
        try withDaemon { daemon in
            let client = try daemon.connect()
            let commands = try client.call("COMMAND").elements ?? []
            #expect(commands.count >= 25)
            // They take words without end, and say what is wrong with these.
            let open: Set = [
                "hello", "client", "config", "command", "observe", "unobserve", "events", "take",
                "done", "link",
            ]
            for command in commands {
                let name = try #require(command.elements?.first?.text)
                let arity = try #require(command.elements?.dropFirst().first?.integer)
                if abs(arity) > 1 {
                    let few = Array(
                        repeating: CommandArgument.text("x"), count: abs(arity) - 2)
                    try client.send(TestClient.bytes([.text(name)] + few))
                    let reply = try client.reply()
                    #expect(reply.errorWord == "ERR")
                    #expect(
                        reply.errorMessage?.hasPrefix(
                            "wrong number of arguments for '\(name)' command") == true, "\(reply)")
                }
                let many = Array(repeating: CommandArgument.text("x"), count: 80)
                try client.send(TestClient.bytes([.text(name)] + many))
                let reply = try client.reply()
                if open.contains(name) {
                    #expect(["ERR", "NOPROTO"].contains(reply.errorWord), "\(reply)")
                } else {
                    #expect(
                        reply.errorMessage?.hasPrefix("wrong number of arguments for '\(name)'")
                            == true, "\(reply)")
                }
            }
        }
    }

    @Test(
        .timeLimit(.minutes(2)),
        arguments: [
            "\u{1B}[31m", "\u{7F}", "\u{9B}2J", "\u{202E}", "\u{2066}", "\u{200F}", "\u{2028}",
        ])
    func `a name with controls of a terminal is shown without them`(control: String) throws {
        try withDaemon { daemon in
            let client = try daemon.connect()
            let first = try #require(control.unicodeScalars.first)
            let name = CommandArgument.text("a\(control)b")
            for reply in [
                try client.call("PERFORM", name, "echo", "x"),
                try client.call("PERFORM", "images", name, "x"), try client.call(name),
                try client.call("PERFORM", "images", "fail", "WAIT", name),
            ] {
                let message = try #require(reply.errorMessage)
                #expect(!message.unicodeScalars.contains(first))
                #expect(message.contains(#"a\"#), "\(message)")
            }
            // Data stays as it is.
            #expect(try client.call("ECHO", name).text == "a\(control)b")
        }
    }
}
