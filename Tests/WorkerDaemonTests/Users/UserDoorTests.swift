// The user of a client at each door, and users files that are refused.

import Kernel
import RESP
import Support
import Testing
import WorkerDaemon

@Suite struct `The user of a client` {
    private static let ann = TestUser("ann", ["observe"], secrets: ["old secret", "new secret"])
    private static let bob = TestUser("bob", ["submit"])

    @Test(.timeLimit(.minutes(2))) func `is the one that it names, by either of two secrets`()
        throws
    {
        try withUsers([Self.ann, Self.bob]) { doors in
            let client = try doors.daemon.connect()
            #expect(try client.call("ACL", "WHOAMI").text == "default")
            for secret in Self.ann.secrets {
                #expect(try client.call("AUTH", "ann", .text(secret)) == .simpleString("OK"))
                #expect(try client.call("ACL", "WHOAMI").text == "ann")
                #expect(try client.call("RESET") == .simpleString("RESET"))
                #expect(try client.call("ACL", "WHOAMI").text == "default")
            }
            let hello = try client.call("HELLO", 3, "AUTH", "bob", .text(Self.bob.secret))
            #expect(hello["proto"] == .integer(3))
            #expect(try client.call("ACL", "WHOAMI").text == "bob")
            #expect(try client.call("CLIENT", "INFO").text?.contains(" user=bob ") == true)
        }
    }

    @Test(
        .timeLimit(.minutes(2)),
        arguments: [
            ("ann", "the secret of bob"), ("bob", "old secret"), ("ann", ""), ("", "old secret"),
            ("default", "old secret"), ("Ann", "old secret"), ("nobody", "old secret"),
        ])
    func `is no other one`(name: String, secret: String) throws {
        try withUsers([Self.ann, Self.bob]) { doors in
            let client = try doors.connect(as: Self.bob)
            let answer = try client.call("AUTH", .text(name), .text(secret))
            #expect(answer.errorWord == "WRONGPASS")
            #expect(try client.call("ACL", "WHOAMI").text == "bob")
            #expect(doors.daemon.log.contains("a wrong password"))
        }
    }

    @Test(.timeLimit(.minutes(2))) func `has to be told over TCP, and may be the default one`()
        throws
    {
        let scratch = try Scratch()
        let (text, address) = try freeLoopbackAddress()
        var setup = Setup()
        setup.listen = try scratch.passwordDoor(at: text, password: "open sesame")
        setup.more = "users: \"$DIR/users\","
        try scratch.writeUsers([Self.ann])
        let daemon = try TestDaemon(setup, in: scratch)
        defer { daemon.kill() }
        let client = try TestClient(address)
        #expect(try client.call("PING").errorWord == "NOAUTH")
        #expect(try client.call("AUTH", "ann", "old secret") == .simpleString("OK"))
        #expect(try client.call("PAUSE", "images").errorWord == "NOPERM")
        #expect(try client.call("AUTH", "open sesame") == .simpleString("OK"))
        #expect(try client.call("PAUSE", "images") == .simpleString("OK"))
        #expect(try client.call("RESET") == .simpleString("RESET"))
        #expect(try client.call("ACL", "WHOAMI").errorWord == "NOAUTH")
    }

    @Test(.timeLimit(.minutes(2))) func `is the one of the key in each request`() throws {
        try withUsers([Self.ann, Self.bob]) { doors in
            let client = try HTTPTestClient(doors.address)
            #expect(try client.get("/api/threads").status == 401)
            for secret in Self.ann.secrets {
                client.key = secret
                #expect(try client.get("/api/threads").status == 200)
                let session = try client.get("/api/session").json()
                #expect(session["user"] == .string("ann"))
            }
            client.key = Self.bob.secret
            #expect(try client.get("/api/threads").status == 403)
            client.key = nil
            #expect(try client.get("/api/threads").status == 401)
            // The owner of the socket may be another user.
            let own = try doors.daemon.connectHTTP()
            #expect(try own.get("/api/session").json()["user"] == .string("default"))
            own.key = Self.bob.secret
            #expect(try own.get("/api/session").json()["user"] == .string("bob"))
            own.key = nil
            #expect(try own.get("/api/session").json()["user"] == .string("default"))
        }
    }

    @Test(.timeLimit(.minutes(2))) func `is one at a time on a connection`() throws {
        try withUsers([Self.ann, TestUser("all", Roles.allNames)]) { doors in
            let client = try HTTPTestClient(doors.address, key: "the secret of all")
            let job = #"{"thread":"images","selector":"sleep","payload":"200","wait":true}"#
            var text = client.request("POST", "/api/jobs", job)
            client.key = Self.ann.secret
            text += client.request("GET", "/api/threads")
            try client.raw.send(text: text)
            #expect(try client.response().status == 200)
            #expect(try client.response().status == 400)
            // Once all is answered it may be another one.
            #expect(try client.get("/api/threads").status == 200)
        }
    }

    @Test(.timeLimit(.minutes(2)), .enabled(if: maySwitchUser))
    func `is what peers says of the processes of another system user`() throws {
        for (peers, isIn) in [("", false), ("peers: { \"65534\": \"ann\" },", true)] {
            var setup = Setup()
            setup.listen = "\(peers) unixMode: \"0666\""
            try withUsers([Self.ann, Self.bob], setup) { doors in
                try File.setMode(0o755, of: doors.daemon.scratch.path)
                func call(_ words: [String]) throws -> String {
                    try ProgramRun(
                        "/usr/bin/setpriv",
                        ["--reuid=65534", "--clear-groups", "redis-cli", "-s", doors.daemon.socket]
                            + words
                    ).output
                }
                let who = try call(["ACL", "WHOAMI"])
                #expect(isIn ? who == "ann\n" : who.hasPrefix("NOAUTH "))
                #expect(try call(["PAUSE", "images"]).hasPrefix(isIn ? "NOPERM " : "NOAUTH "))
                let secret = ["--no-auth-warning", "--user", "bob", "--pass", Self.bob.secret]
                #expect(try call(secret + ["ACL", "WHOAMI"]) == "bob\n")
                let web = try ProgramRun(
                    "/usr/bin/setpriv",
                    [
                        "--reuid=65534", "--clear-groups", "curl", "-s", "--unix-socket",
                        doors.daemon.scratch.file("http"), "localhost/api/session",
                    ]
                ).output
                #expect(web.contains(isIn ? "\"user\":\"ann\"" : "NOAUTH"))
            }
        }
    }

    @Test(.timeLimit(.minutes(2)), .enabled(if: hasRedisTools))
    func `is given by redis-cli`() throws {
        try withUsers([Self.ann, Self.bob]) { doors in
            for version in [[], ["-3"]] {
                let run = try ProgramRun(
                    "/usr/bin/redis-cli",
                    version + [
                        "-s", doors.daemon.socket, "--no-auth-warning", "--user", "bob", "--pass",
                        Self.bob.secret, "ACL", "WHOAMI",
                    ])
                #expect(run.output == "bob\n")
            }
        }
    }

    // MARK: - The file

    @Test(
        .timeLimit(.minutes(2)),
        arguments: [
            (0o620, "has mode 0620"), (0o602, "has mode 0602"), (0o604, "has mode 0604"),
            (0o644, "chmod 640"),
        ])
    func `is of no file that others may change or read`(mode: Int, expected: String) throws {
        let scratch = try Scratch()
        try scratch.writeUsers([Self.ann], mode: UInt32(mode))
        #expect(try refusal(in: scratch).contains(expected))
    }

    @Test(.timeLimit(.minutes(2)), arguments: [0o600, 0o640, 0o440, 0o400])
    func `is of a file that its group may read`(mode: Int) throws {
        let scratch = try Scratch()
        try scratch.writeUsers([Self.ann], mode: UInt32(mode))
        let daemon = try TestDaemon(Setup(more: "users: \"$DIR/users\","), in: scratch)
        defer { daemon.kill() }
        #expect(try daemon.connect().call("ACL", "USERS").elements?.count == 2)
    }

    @Test(.timeLimit(.minutes(2))) func `is of a credential of systemd`() throws {
        let scratch = try Scratch()
        try scratch.writeUsers([Self.ann], mode: 0o440)
        let setup = Setup(more: "users: \"$CREDENTIALS_DIRECTORY/users\",")
        try scratch.write(setup.text(directory: scratch.path), to: "workerd.json5")
        let arguments = ["--config", scratch.file("workerd.json5")]
        let without = try TestDaemon(arguments: arguments, in: scratch)
        #expect(try without.end() == "exit status 78")
        #expect(without.log.contains("LoadCredential=users:FILE"))
        let daemon = try TestDaemon(
            arguments: arguments, in: scratch, logName: "second",
            environment: ["CREDENTIALS_DIRECTORY": scratch.path])
        defer { daemon.kill() }
        try daemon.waitUntilListening()
        #expect(try daemon.connect().call("ACL", "USERS").elements?.count == 2)
    }

    @Test(.timeLimit(.minutes(2))) func `is of a file without faults, told by their places`() throws
    {
        let scratch = try Scratch()
        try scratch.write("{ users: {\n  ann: { roles: [\"obsrve\"] } } }", to: "users")
        try File.setMode(0o600, of: scratch.file("users"))
        let text = try refusal(in: scratch)
        #expect(
            text.contains(
                "/users: users.ann.roles[0]: unknown role \"obsrve\", did you mean \"observe\"? "
                    + "(line 2, column 18)"))
        try scratch.write("{ users: {} }", to: "users")
        let peers = try refusal(in: scratch, listen: "peers: { root: \"ann\" }")
        #expect(peers.contains("listen.peers.root: the users file has no 'ann'"))
        let unknown = try refusal(in: scratch, listen: "peers: { \"no such user\": \"ann\" }")
        #expect(unknown.contains("must be the name or the number of a user"))
    }

    @Test(.timeLimit(.minutes(2))) func `is of peers without faults, told by their places`() throws
    {
        let scratch = try Scratch()
        try scratch.writeUsers([Self.ann], mode: 0o600)
        let peers = """
            peers: { "no-such": "ann",
            "65534": "ben",
            "0": "ann", root: "ann" }
            """
        let text = try refusal(in: scratch, listen: peers)
        for (index, fault) in [
            "no-such: this machine has no user 'no-such'", "65534: the users file has no 'ben'",
            "root: user id 0 is there twice",
        ].enumerated() {
            let line = "/workerd.json5: listen.peers.\(fault) (line \(2 + index), column "
            #expect(text.contains(line), "\(text)")
        }
    }

    /// The error of a daemon that does not start, which its check has too.
    private func refusal(in scratch: Scratch, listen: String = "") throws -> String {
        var setup = Setup(more: "users: \"$DIR/users\",")
        setup.listen = listen
        try scratch.write(setup.text(directory: scratch.path), to: "workerd.json5")
        let arguments = ["--config", scratch.file("workerd.json5")]
        let daemon = try TestDaemon(arguments: arguments, in: scratch)
        defer { daemon.kill() }
        #expect(try daemon.end() == "exit status 78")
        let check = try TestDaemon(
            arguments: arguments + ["--check"], in: scratch, logName: "check")
        defer { check.kill() }
        #expect(try check.end() == "exit status 78")
        return daemon.log
    }
}

/// Whether redis-cli is installed; `Scripts/test` installs it.
private let hasRedisTools = (try? File.kind(of: "/usr/bin/redis-cli")) != nil
