// Jobs as clients see them: the built-in selectors, waiting for a result, payloads of any bytes.

import RESP
import Testing

@Suite struct `Jobs over the socket` {
    @Test(.timeLimit(.minutes(2)))
    func `the built-in selectors do what they say`() throws {
        try withDaemon { daemon in
            let client = try daemon.connect()
            #expect(try client.call("PERFORM", "images", "echo", "WAIT", "hello").text == "hello")
            #expect(
                try client.call("PERFORM", "images", "sha256", "WAIT", "abc").text
                    == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
            #expect(try client.call("PERFORM", "images", "sleep", "WAIT", "1").text == "1")
            let failure = try client.call("PERFORM", "images", "fail", "WAIT", "no\r\nluck")
            #expect(failure == .error("FAILED job 4: no  luck"))
            let reason = try client.call("PERFORM", "images", "sleep", "WAIT", "soon")
            #expect(reason.errorWord == "FAILED")
            #expect(reason.errorMessage?.contains("milliseconds") == true)
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `a failure is told at a length that clients take`() throws {
        try withDaemon { daemon in
            let client = try daemon.connect()
            let text = String(repeating: "é", count: 1 << 20)
            let failure = try client.call("PERFORM", "images", "fail", "WAIT", .text(text))
            #expect(failure.errorMessage?.hasPrefix("job 1: ééé") == true)
            #expect(failure.errorMessage?.utf8.count ?? .max < 16_384)
            #expect(try client.job(1, "failure").text?.utf8.count ?? .max < 16_384)
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `without WAIT the reply is the job's number, and numbers only grow`() throws {
        try withDaemon { daemon in
            let client = try daemon.connect()
            #expect(try client.perform("images", "echo", "a") == 1)
            #expect(try client.perform("images", "echo", "VOLATILE", "b") == 2)
            #expect(try client.call("RESULT", 2, "WAIT").text == "b")
            #expect(try client.call("RESULT", 1).text == "a")
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `a wait that is over answers TIMEOUT, and the job goes on`() throws {
        try withDaemon { daemon in
            let client = try daemon.connect()
            _ = try client.call("PAUSE", "images")
            let early = try client.call("PERFORM", "images", "echo", "WAIT", 1, "late")
            #expect(early.errorWord == "TIMEOUT")
            #expect(try client.call("RESULT", 1, "WAIT", 0).errorWord == "TIMEOUT")
            #expect(try client.call("RESULT", 1) == .null)
            try client.send("RESULT", 1, "WAIT")
            #expect(try daemon.connect().call("RESUME", "images") == .simpleString("OK"))
            #expect(try client.reply().text == "late")
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `several clients can wait for one job`() throws {
        try withDaemon { daemon in
            let clients = try (0..<20).map { _ in try daemon.connect() }
            _ = try clients[0].call("PAUSE", "images")
            let id = try clients[0].perform("images", "echo", "for all")
            // More than once each: clients that gave up are forgotten in between.
            for client in clients {
                #expect(
                    try client.call("RESULT", .integer(id), "WAIT", 0).errorWord == "TIMEOUT")
            }
            for client in clients { try client.send("RESULT", .integer(id), "WAIT") }
            // A PING behind it proves nothing: it waits as well. Another connection's order does.
            _ = try daemon.connect().call("RESUME", "images")
            for client in clients { #expect(try client.reply().text == "for all") }
        }
    }

    @Test(.timeLimit(.minutes(2)), arguments: [2, 3])
    func `a payload is bytes, whatever they are`(version: Int) throws {
        try withDaemon { daemon in
            let client = try daemon.connect()
            _ = try client.call("HELLO", .integer(version))
            let payloads: [[UInt8]] = [
                [], [0], Array("\r\n$5\r\n*1\r\n".utf8), Array(0...255), [0xff, 0xfe, 0x0d, 0x0a],
                Array(repeating: 0x0a, count: 100_000),
            ]
            for payload in payloads {
                let reply = try client.call("PERFORM", "images", "echo", "WAIT", .bytes(payload))
                #expect(reply == .bulk(payload))
            }
            // As redis-cli sends it for a person.
            try client.send(text: "PERFORM images echo WAIT \"two words\\x00\"\r\n")
            #expect(try client.reply() == .bulk(Array("two words\0".utf8)))
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `a payload of exactly the limit is taken, one byte more is refused`() throws {
        try withDaemon { daemon in
            let client = try daemon.connect()
            let limit = 8 << 20
            var payload = [UInt8](repeating: 7, count: limit)
            payload[limit - 1] = 8
            let reply = try client.call("PERFORM", "images", "echo", "WAIT", .bytes(payload))
            #expect(reply.bytes == payload)
            payload.append(9)
            let refusal = try client.call("PERFORM", "images", "echo", "WAIT", .bytes(payload))
            #expect(refusal.errorWord == "ERR")
            #expect(refusal.errorMessage?.contains("8388609") == true)
            #expect(refusal.errorMessage?.contains("8388608") == true)
            // The connection goes on behind it.
            #expect(try client.call("PING") == .simpleString("PONG"))
            #expect(try client.figure("total_jobs_accepted") == 1)
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `a result that is no longer kept is NOJOB, the waiting client still gets it`() throws {
        try withDaemon(Setup(limits: "retainedResults: 1", store: Setup.memory)) { daemon in
            let client = try daemon.connect()
            #expect(try client.call("PERFORM", "images", "echo", "WAIT", "1").text == "1")
            #expect(try client.call("PERFORM", "images", "echo", "WAIT", "2").text == "2")
            #expect(try client.call("RESULT", 1).errorWord == "NOJOB")
            #expect(try client.call("JOB", 1).errorWord == "NOJOB")
            #expect(try client.call("RESULT", 2).text == "2")
        }
    }
}
