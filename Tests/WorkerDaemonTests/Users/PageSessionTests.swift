// The way into the page: a ticket of the command PAGE for a key.

import Kernel
import RESP
import Support
import Testing
import WorkerDaemon

@Suite struct `A ticket for the page` {
    private static let users = [
        TestUser("ann", ["observe", "operate"], payloads: false),
        TestUser("bob", ["submit"]),
    ]

    private func open(_ ticket: String, at address: SocketAddress) throws -> HTTPTestResponse {
        try HTTPTestClient(address).post("/api/session", "{\"ticket\":\"\(ticket)\"}")
    }

    private func text(_ value: JSONValue?) -> String {
        if case .string(let text)? = value { text } else { "" }
    }

    @Test(.timeLimit(.minutes(2))) func `brings the rights of its user, once`() throws {
        try withUsers(Self.users) { doors in
            let page = try doors.connect(as: Self.users[0]).call("PAGE")
            let ticket = try #require(page["ticket"]?.text)
            #expect(ticket.utf8.count == 64)
            #expect(page["url"]?.text == "http://\(doors.address)/#ticket=\(ticket)")
            #expect(page["seconds"] == .integer(60))
            let session = try open(ticket, at: doors.address)
            #expect(session.status == 200)
            let key = text(try session.json()["key"])
            #expect(key.utf8.count == 64 && key != ticket)
            let rest =
                #"{"user":"ann","roles":["observe","operate"],"payloads":false,"version":"0.2.0"}"#
            #expect(session.text == "{\"key\":\"\(key)\"," + rest.dropFirst() + "\n")

            let client = try HTTPTestClient(doors.address, key: key)
            #expect(try client.get("/api/session").text == rest + "\n")
            #expect(try client.post("/api/threads/images/pause").status == 200)
            #expect(try client.get("/api/jobs/1/payload").status == 403)
            let refused = try client.post("/api/jobs", "{\"thread\":\"images\"}")
            #expect(refused.status == 400)
            let whole = #"{"thread":"images","selector":"echo"}"#
            #expect(try client.post("/api/jobs", whole).status == 403)

            let again = try open(ticket, at: doors.address)
            #expect(again.status == 401)
            #expect(try again.word() == "WRONGPASS")
            // The key is none for the Redis protocol, and a ticket is no key.
            let redis = try doors.daemon.connect()
            #expect(try redis.call("AUTH", "ann", .text(key)).errorWord == "WRONGPASS")
            let wrong = try HTTPTestClient(doors.address, key: ticket).get("/metrics")
            #expect(wrong.status == 401)
        }
    }

    @Test(.timeLimit(.minutes(2))) func `comes in a small body`() throws {
        try withUsers(Self.users) { doors in
            func status(_ byteCount: Int) throws -> Int {
                let client = try HTTPTestClient(doors.address)
                try client.raw.send(
                    text: "POST /api/session HTTP/1.1\r\nHost: localhost\r\n"
                        + "Content-Type: application/json\r\nContent-Length: \(byteCount)\r\n\r\n"
                        + (byteCount > 16 << 10 ? "" : String(repeating: " ", count: byteCount)))
                return try client.response().status
            }
            // The larger ones are refused before the body is there.
            for (byteCount, expected) in [(16_384, 400), (16_385, 413), (8_000_000, 413)] {
                let found = try status(byteCount)
                #expect(found == expected, "\(byteCount) bytes")
            }
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `and its key end with their user, and follow its rights, at a reload`() throws {
        let boss = TestUser("boss", ["operate"])
        try withUsers(Self.users + [boss]) { doors in
            let reload = { (users: [TestUser]) in
                try doors.daemon.scratch.writeUsers(users)
                #expect(try doors.connect(as: boss).call("RELOAD").errorWord == nil)
            }
            let ann = try doors.connect(as: Self.users[0])
            let ticket = try ann.call("PAGE")["ticket"]?.text ?? ""
            let unused = try ann.call("PAGE")["ticket"]?.text ?? ""
            let key = text(try open(ticket, at: doors.address).json()["key"])
            func status(_ path: String) throws -> Int {
                try HTTPTestClient(doors.address, key: key).post(path).status
            }
            #expect(try status("/api/threads/images/pause") == 200)
            try reload([TestUser("ann", ["observe"]), boss])
            #expect(try status("/api/threads/images/resume") == 403)
            try reload([boss])
            #expect(try status("/api/threads/images/resume") == 401)
            #expect(try open(unused, at: doors.address).status == 401)
        }
    }

    @Test(.timeLimit(.minutes(2))) func `is a guess like any other if it is wrong`() throws {
        try withUsers(Self.users) { doors in
            let client = try HTTPTestClient(doors.address)
            let body = "{\"ticket\":\"guess\"}"
            try client.raw.send(
                text: String(repeating: client.request("POST", "/api/session", body), count: 9))
            let answer = try client.textUntilClosed()
            #expect(answer.ranges(of: "HTTP/1.1 401").count == 5)
            #expect(doors.daemon.log.contains("wrong password"))
        }
    }

    @Test(
        .timeLimit(.minutes(2)),
        arguments: [
            ("{}", 400), ("", 400), ("[]", 400), (#"{"ticket":7}"#, 400),
            (#"{"ticket":"x","user":"ann"}"#, 400), (#"{"ticket":""}"#, 401),
        ])
    func `is a text, and alone`(body: String, status: Int) throws {
        try withUsers(Self.users) { doors in
            let answer = try HTTPTestClient(doors.address).post("/api/session", body)
            #expect(answer.status == status)
        }
    }

    @Test(.timeLimit(.minutes(2))) func `is taken from pages of this server only`() throws {
        try withUsers(Self.users) { doors in
            let ticket = try #require(
                try doors.connect(as: Self.users[1]).call("PAGE")["ticket"]?.text)
            let body = "{\"ticket\":\"\(ticket)\"}"
            let client = try HTTPTestClient(doors.address)
            try client.raw.send(
                text: client.request("POST", "/api/session", body, host: "evil.example"))
            #expect(try client.response().status == 421)
            let others: [([String], Int)] = [
                (["Origin: http://evil.example"], 403), (["Content-Type: text/plain"], 415),
            ]
            for (fields, status) in others {
                let client = try HTTPTestClient(doors.address)
                let answer = try client.post("/api/session", body, fields: fields)
                #expect(answer.status == status)
            }
            #expect(try open(ticket, at: doors.address).status == 200)
        }
    }

    @Test(.timeLimit(.minutes(2))) func `goes for a newer one when its user has eight`() throws {
        try withUsers(Self.users) { doors in
            let (ann, bob) = (
                try doors.connect(as: Self.users[0]), try doors.connect(as: Self.users[1])
            )
            let first = try bob.call("PAGE")["ticket"]?.text ?? ""
            let tickets = try (0..<9).map { _ in try ann.call("PAGE")["ticket"]?.text ?? "" }
            #expect(try open(tickets[0], at: doors.address).status == 401)
            #expect(try open(tickets[1], at: doors.address).status == 200)
            // Another user's is not touched.
            #expect(try open(first, at: doors.address).status == 200)
        }
    }

    @Test(.timeLimit(.minutes(2))) func `is made only where there is a page`() throws {
        try withDaemon(.http) { daemon in
            #expect(try daemon.connect().call("PAGE").errorWord == "ERR")
            let session = try daemon.connectHTTP().get("/api/session")
            #expect(
                session.text
                    == #"{"user":"default","roles":["observe","submit","work","operate"],"#
                    + #""payloads":true,"version":"0.2.0"}"# + "\n")
        }
    }

    @Test(.timeLimit(.minutes(2))) func `gives a key that goes for a newer one after sixteen`()
        throws
    {
        try withUsers(Self.users) { doors in
            let ann = try doors.connect(as: Self.users[0])
            var keys: [String] = []
            for _ in 0..<17 {
                let ticket = try ann.call("PAGE")["ticket"]?.text ?? ""
                keys.append(text(try open(ticket, at: doors.address).json()["key"]))
            }
            func status(_ key: String) throws -> Int {
                try HTTPTestClient(doors.address, key: key).get("/api/session").status
            }
            #expect(try status(keys[1]) == 200)
            #expect(try status(keys[16]) == 200)
            #expect(try status(keys[0]) == 401)
        }
    }
}
