// The TCP door: nothing goes without the password, and little before it.

import Kernel
import RESP
import Support
import Testing

@Suite struct `The TCP door` {
    private func withDoor(
        _ password: String = "open sesame", limits: String = "",
        _ body: (TestDaemon, SocketAddress) throws -> Void
    ) throws {
        let scratch = try Scratch()
        let (text, address) = try freeLoopbackAddress()
        let door = try scratch.passwordDoor(at: text, password: password)
        let daemon = try TestDaemon(Setup(limits: limits, listen: door), in: scratch)
        defer { daemon.kill() }
        try body(daemon, address)
    }

    @Test(.timeLimit(.minutes(2)))
    func `without the password every command but a few is NOAUTH`() throws {
        try withDoor { daemon, address in
            let client = try TestClient(address)
            let names =
                try daemon.connect().call("COMMAND", "LIST").elements?.compactMap(\.text) ?? []
            #expect(names.count >= 25)
            for name in names + ["nonsense"] {
                if ["auth", "hello", "quit", "reset", "link"].contains(name) { continue }
                try client.send(TestClient.bytes([.text(name), "images", "echo", "x"]))
                #expect(try client.reply().errorWord == "NOAUTH", "\(name)")
            }
            #expect(try client.call("HELLO", 3).errorWord == "NOAUTH")
            #expect(try client.call("RESET") == .simpleString("RESET"))
            try client.send("QUIT")
            #expect(try client.repliesUntilClosed() == [.simpleString("OK")])
            #expect(try daemon.connect().figure("total_jobs_accepted") == 0)
        }
    }

    @Test(.timeLimit(.minutes(2)), arguments: ["open sesame\r", "open sesame\r\nmore"])
    func `the line of the password may end as on other systems`(line: String) throws {
        try withDoor(line) { _, address in
            let client = try TestClient(address)
            #expect(try client.call("AUTH", "open sesame\r").errorWord == "WRONGPASS")
            #expect(try client.call("AUTH", "open sesame") == .simpleString("OK"))
        }
    }

    @Test(
        .timeLimit(.minutes(2)),
        arguments: [
            "", "open", "open sesam", "open sesame!", "OPEN SESAME", "open sesameopen sesame",
            "open sesame\0", "open sesame\n",
        ])
    func `AUTH takes the right password and no other`(wrong: String) throws {
        try withDoor { _, address in
            let client = try TestClient(address)
            #expect(try client.call("AUTH", .text(wrong)).errorWord == "WRONGPASS")
            #expect(try client.call("PING").errorWord == "NOAUTH")
            #expect(try client.call("AUTH", "open sesame") == .simpleString("OK"))
            #expect(try client.call("PING") == .simpleString("PONG"))
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `AUTH takes one user, and a wrong guess takes nothing away`() throws {
        try withDoor { _, address in
            let client = try TestClient(address)
            #expect(try client.call("AUTH", "root", "open sesame").errorWord == "WRONGPASS")
            #expect(try client.call("AUTH", "open sesame") == .simpleString("OK"))
            #expect(try client.call("PERFORM", "images", "echo", "WAIT", "x").text == "x")
            #expect(try client.call("AUTH", "wrong").errorWord == "WRONGPASS")
            #expect(try client.call("AUTH", "default", "open sesame") == .simpleString("OK"))
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `a client that guesses passwords is slowed down, then disconnected, and logged`() throws {
        try withDoor { daemon, address in
            let guesser = try TestClient(address)
            let guess = TestClient.bytes(["AUTH", "wrong"])
            try guesser.send([[UInt8]](repeating: guess, count: 1_000).flatMap { $0 })
            let replies = try guesser.repliesUntilClosed()
            #expect(replies.count == 5)
            #expect(replies.allSatisfy { $0.errorWord == "WRONGPASS" })
            #expect(daemon.log.contains("warning: a wrong password from 127.0.0.1"))
            #expect(daemon.log.split(separator: "\n").count { $0.contains("wrong password") } == 1)
            // A new connection of the address has to wait its turn; nothing else waits.
            let again = try TestClient(address)
            try again.send("HELLO", "3", "AUTH", "default", "open sesame")
            #expect(try again.isSilent(forMilliseconds: 100))
            #expect(try daemon.connect().call("PING") == .simpleString("PONG"))
            #expect(try again.reply()["proto"]?.integer == 3)
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `strangers leave places to clients that have given the password`() throws {
        try withDoor(limits: "connections: 40") { daemon, address in
            let clients = try (1...8).map { _ in
                let client = try TestClient(address)
                #expect(try client.call("AUTH", "open sesame") == .simpleString("OK"))
                return client
            }
            // They have given the password and take no stranger's place.
            let strangers = try (1...5).map { _ in try TestClient(address) }
            for stranger in strangers {
                #expect(try stranger.call("PING").errorWord == "NOAUTH")
            }
            let refusal = try TestClient(address).repliesUntilClosed()
            #expect(refusal.first?.errorMessage?.contains("have yet to give the password") == true)
            #expect(try clients[0].call("PING") == .simpleString("PONG"))
            // A client that gives the password makes room; one that resets is a stranger again.
            #expect(try strangers[0].call("AUTH", "open sesame") == .simpleString("OK"))
            #expect(try clients[1].call("RESET") == .simpleString("RESET"))
            #expect(try TestClient(address).repliesUntilClosed().count == 1)
            #expect(try strangers[1].call("AUTH", "open sesame") == .simpleString("OK"))
            #expect(try TestClient(address).call("PING").errorWord == "NOAUTH")
            #expect(try daemon.connect().figure("rejected_connections") == 2)
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `HELLO can bring the password along`() throws {
        try withDoor { _, address in
            let client = try TestClient(address)
            #expect(
                try client.call("HELLO", 3, "AUTH", "default", "wrong").errorWord == "WRONGPASS")
            #expect(try client.call("PING").errorWord == "NOAUTH")
            let hello = try client.call("HELLO", 3, "AUTH", "default", "open sesame")
            #expect(hello["proto"]?.integer == 3)
            #expect(try client.call("PING") == .simpleString("PONG"))
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `RESET asks for the password again`() throws {
        try withDoor { _, address in
            let client = try TestClient(address)
            #expect(try client.call("AUTH", "open sesame") == .simpleString("OK"))
            #expect(try client.call("RESET") == .simpleString("RESET"))
            #expect(try client.call("PING").errorWord == "NOAUTH")
            #expect(try client.call("AUTH", "open sesame") == .simpleString("OK"))
            #expect(try client.call("PING") == .simpleString("PONG"))
        }
    }

    @Test(
        .timeLimit(.minutes(2)),
        arguments: [
            "*11\r\n", "*2\r\n$4\r\nAUTH\r\n$16385\r\n", "*2\r\n$4\r\nAUTH\r\n$8000000\r\n",
        ])
    func `before the password little is accepted`(bytes: String) throws {
        try withDoor { _, address in
            let client = try TestClient(address)
            try client.send(text: bytes)
            let replies = try client.repliesUntilClosed()
            #expect(replies.count == 1)
            #expect(replies.first?.errorMessage?.hasPrefix("Protocol error") == true)
            let known = try TestClient(address)
            #expect(try known.call("AUTH", "open sesame") == .simpleString("OK"))
            let payload = [UInt8](repeating: 3, count: 5 << 20)
            let reply = try known.call("PERFORM", "images", "echo", "WAIT", .bytes(payload))
            #expect(reply.bytes == payload)
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `the Unix socket asks for no password`() throws {
        try withDoor { daemon, _ in
            let client = try daemon.connect()
            #expect(try client.call("PERFORM", "images", "echo", "WAIT", "x").text == "x")
            #expect(try client.call("AUTH", "open sesame") == .simpleString("OK"))
            #expect(try client.call("AUTH", "wrong").errorWord == "WRONGPASS")
            #expect(try client.call("PING") == .simpleString("PONG"))
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `clients without the password leave places to the Unix socket`() throws {
        try withDoor(limits: "connections: 6") { daemon, address in
            var strangers: [TestClient] = []
            for _ in 1...3 {
                let stranger = try TestClient(address)
                #expect(try stranger.call("PING").errorWord == "NOAUTH")
                strangers.append(stranger)
            }
            let full = RESPValue.error("ERR max number of clients reached")
            let refusal = try TestClient(address).repliesUntilClosed()
            #expect(refusal.first?.errorWord == "ERR")
            let clients = try (1...3).map { _ in try daemon.connect() }
            for client in clients { #expect(try client.call("PING") == .simpleString("PONG")) }
            #expect(try daemon.connect().repliesUntilClosed() == [full])
            #expect(try clients[0].figure("rejected_connections") == 2)
            #expect(try strangers[0].call("AUTH", "open sesame") == .simpleString("OK"))
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `an address that is taken is status 69 and leaves no socket behind`() throws {
        let scratch = try Scratch()
        try scratch.write("secret\n", to: "password")
        try File.setMode(0o644, of: scratch.file("password"))
        let listener = try Listener(at: .tcp(TCPAddress("127.0.0.1:0")))
        let setup = Setup(listen: "tcp: \"\(listener.address)\", passwordFile: \"$DIR/password\"")
        try scratch.write(setup.text(directory: scratch.path), to: "workerd.json5")
        let daemon = try TestDaemon(
            arguments: ["--config", scratch.file("workerd.json5")], in: scratch)
        defer { daemon.kill() }
        #expect(try daemon.end() == "exit status 69")
        #expect(daemon.log.contains("\(listener.address): a server is listening there already"))
        #expect(!scratch.has("s"))
        // A password that others can read is worth a word.
        #expect(daemon.log.contains("can be read by other users"))
    }

    @Test(.timeLimit(.minutes(2)), arguments: ["", "\n", "\nsecond line\n"])
    func `an empty password is status 78`(contents: String) throws {
        let scratch = try Scratch()
        try scratch.write(contents, to: "password")
        let setup = Setup(listen: "tcp: \"127.0.0.1:7711\", passwordFile: \"$DIR/password\"")
        try scratch.write(setup.text(directory: scratch.path), to: "workerd.json5")
        let daemon = try TestDaemon(
            arguments: ["--config", scratch.file("workerd.json5")], in: scratch)
        defer { daemon.kill() }
        #expect(try daemon.end() == "exit status 78")
        #expect(daemon.log.contains("has no password in its first line"))
        #expect(!scratch.has("s"))
    }
}
