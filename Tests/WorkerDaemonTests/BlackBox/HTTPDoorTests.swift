// The doors of HTTP: which clients are let in, and which bytes are served.

import Kernel
import RESP
import Support
import Testing

@Suite struct `The HTTP door` {
    @Test(.timeLimit(.minutes(2))) func `asks for the key, but for the two words`() throws {
        try withHTTPDoors { _, address in
            let client = try HTTPTestClient(address)
            #expect(try client.get("/healthz").text == "ok\n")
            #expect(try client.get("/readyz").text == "ok\n")
            for path in ["/metrics", "/api/threads", "/api/jobs/1"] {
                let refused = try client.get(path)
                #expect(refused.status == 401)
                #expect(try refused.word() == "NOAUTH")
                #expect(refused.fields["www-authenticate"] == "Bearer realm=\"workerd\"")
            }
            #expect(try client.get("/nothing").status == 404)
            client.key = testKey
            #expect(try client.get("/api/threads").status == 200)
            // Each request has its own.
            client.key = nil
            #expect(try client.get("/api/threads").status == 401)
        }
    }

    @Test(
        .timeLimit(.minutes(2)),
        arguments: ["", "x", "0123456789abcdef0123456789abcde", testKey + "0", testKey + testKey])
    func `takes no other key`(guess: String) throws {
        try withHTTPDoors { daemon, address in
            let client = try HTTPTestClient(address, key: guess)
            #expect(try client.get("/api/threads").status == 401)
            let isLogged = daemon.log.contains("warning: a wrong password from 127.")
            #expect(isLogged == !guess.isEmpty)
        }
    }

    @Test(.timeLimit(.minutes(2))) func `lets guesses wait, and closes after a few`() throws {
        try withHTTPDoors { _, address in
            let client = try HTTPTestClient(address, key: "wrong")
            try client.raw.send(
                text: String(repeating: client.request("GET", "/api/threads"), count: 9))
            let text = try client.textUntilClosed()
            #expect(text.components(separatedBy: "HTTP/1.1 401").count == 6)
        }
    }

    @Test(.timeLimit(.minutes(2))) func `needs no key of its own user at the socket`() throws {
        try withHTTPDoors { daemon, _ in
            let client = try daemon.connectHTTP()
            #expect(try client.get("/api/threads").status == 200)
            // Any name will do there: no browser comes in.
            try client.raw.send(text: client.request("GET", "/api/threads", host: "anything"))
            #expect(try client.response().status == 200)
        }
    }

    @Test(.timeLimit(.minutes(2)), .enabled(if: maySwitchUser && hasCurl))
    func `needs the key of other users at the socket`() throws {
        try withHTTPDoors(more: "unixMode: \"0666\"") { daemon, _ in
            try File.setMode(0o755, of: daemon.scratch.path)
            let socket = daemon.scratch.file("http")
            func status(_ more: [String]) throws -> String {
                let curl = ["curl", "-s", "-o", "/dev/null", "-w", "%{http_code}"]
                return try ProgramRun(
                    "/usr/bin/setpriv",
                    ["--reuid=65534", "--clear-groups"] + curl + ["--unix-socket", socket] + more
                ).output
            }
            #expect(try status(["localhost/healthz"]) == "200")
            #expect(try status(["localhost/api/threads"]) == "401")
            let key = ["-H", "Authorization: Bearer \(testKey)"]
            #expect(try status(key + ["localhost/api/threads"]) == "200")
        }
    }

    @Test(.timeLimit(.minutes(2))) func `serves requests for its own names only`() throws {
        try withHTTPDoors(more: "names: [\"Jobs.lan\"]") { _, address in
            let client = try HTTPTestClient(address, key: testKey)
            let hosts = [
                ("localhost", 200), ("LOCALHOST:1", 200), ("127.0.0.1:80", 200), ("[::1]:80", 200),
                ("jobs.lan", 200), ("JOBS.lan:7780", 200), ("evil.example", 421),
                ("localhost.evil.example", 421), ("[::2]", 421), ("127.0.0.1.evil", 421),
            ]
            for (host, status) in hosts {
                try client.raw.send(text: client.request("GET", "/api/threads", host: host))
                #expect(try client.response().status == status, "\(host)")
            }
        }
    }

    @Test(.timeLimit(.minutes(2))) func `serves no page of another server`() throws {
        try withHTTPDoors { _, address in
            let client = try HTTPTestClient(address, key: testKey)
            let origins = [
                ("http://localhost", 200), ("https://LOCALHOST", 200), ("http://localhost:1", 403),
                ("http://evil.example", 403), ("null", 403), ("localhost", 403),
            ]
            for (origin, status) in origins {
                let response = try client.get("/api/threads", fields: ["Origin: \(origin)"])
                #expect(response.status == status, "\(origin)")
            }
        }
    }

    @Test(.timeLimit(.minutes(2)), arguments: ["text/plain", "application/x-www-form-urlencoded"])
    func `changes nothing by a form of any page`(kind: String) throws {
        try withDaemon(.http) { daemon in
            let client = try daemon.connectHTTP()
            let body = "{\"thread\":\"images\",\"selector\":\"echo\"}"
            let refused = try client.post("/api/jobs", body, fields: ["Content-Type: \(kind)"])
            #expect(refused.status == 415)
            #expect(try daemon.connect().figure("total_jobs_accepted") == 0)
            let fine = try daemon.connectHTTP().post(
                "/api/jobs", body, fields: ["Content-Type: Application/JSON; charset=utf-8"])
            #expect(fine.status == 202)
        }
    }

    @Test(.timeLimit(.minutes(2))) func `answers in the order of the requests`() throws {
        try withDaemon(.http) { daemon in
            let client = try daemon.connectHTTP()
            let job =
                "{\"thread\":\"images\",\"selector\":\"sleep\",\"payload\":\"50\",\"wait\":true}"
            try client.raw.send(
                text: client.request("POST", "/api/jobs", job) + client.request("GET", "/healthz")
                    + client.request("HEAD", "/readyz") + client.request("GET", "/nothing"))
            #expect(try client.response().text.hasPrefix("{\"result\":"))
            #expect(try client.response().text == "ok\n")
            let head = try client.response(hasBody: false)
            #expect(head.fields["content-length"] == "3")
            #expect(try client.response().status == 404)
        }
    }

    @Test(.timeLimit(.minutes(2))) func `says a word before a body that waits for it`() throws {
        try withDaemon(.http) { daemon in
            let client = try daemon.connectHTTP()
            let body =
                "{\"thread\":\"images\",\"selector\":\"echo\",\"payload\":\"x\",\"wait\":true}"
            let request = client.request(
                "POST", "/api/jobs", body, fields: ["Expect: 100-continue"])
            try client.raw.send(text: String(request.dropLast(body.count)))
            #expect(try client.response().status == 100)
            try client.raw.send(text: body)
            #expect(try client.response().text == "{\"result\":\"x\"}\n")
            // Not for a request that is refused by its head.
            try client.raw.send(
                text: String(
                    client.request("POST", "/nothing", body, fields: ["Expect: 100-continue"])
                        .dropLast(body.count)))
            #expect(try client.response().status == 404)
            #expect(try client.raw.bytes() == nil)
        }
    }

    @Test(.timeLimit(.minutes(2))) func `closes where the client wishes`() throws {
        try withDaemon(.http) { daemon in
            let client = try daemon.connectHTTP()
            let request = client.request("GET", "/healthz", fields: ["Connection: close"])
            try client.raw.send(text: request + client.request("GET", "/readyz"))
            let text = try client.textUntilClosed()
            #expect(text.contains("\r\nConnection: close\r\n"))
            #expect(text.components(separatedBy: "HTTP/1.1 ").count == 2)
            let old = try daemon.connectHTTP()
            try old.raw.send(text: old.request("GET", "/healthz", version: "HTTP/1.0"))
            #expect(try old.textUntilClosed().hasSuffix("\r\n\r\nok\n"))
        }
    }

    /// A submit behind another request, which must not be executed.
    private static let job = "{\"thread\":\"images\",\"selector\":\"echo\"}"
    private static let behind =
        "POST /api/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        + "Content-Length: \(job.utf8.count)\r\n\r\n\(job)"

    @Test(
        .timeLimit(.minutes(2)),
        arguments: [
            "POST /healthz HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
            "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\nTransfer-Encoding: x\r\n\r\n0\r\n",
            "POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\nContent-Length: 9\r\n\r\n",
            "POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 9999999\r\n\r\n",
            "POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc",
            "GET /a HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\n", "GET /a\r\n",
            "GET /a HTTP/1.1\nHost: a\n\n", "GET /a HTTP/1.1\r\nHost: a\r\n X: b\r\n\r\n",
            "GET /a HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", "\r\n", "\0", "*1\r\n$4\r\nPING\r\n",
        ])
    func `executes nothing behind a refused request`(request: String) throws {
        try withDaemon(Setup(limits: "payload: 1000", listen: Setup.http.listen)) { daemon in
            let client = try daemon.connectHTTP()
            try client.raw.send(text: request + Self.behind + Self.behind)
            let text = try client.textUntilClosed()
            #expect(text.components(separatedBy: "HTTP/1.1 ").count == 2, "\(text)")
            #expect(text.contains("\r\nConnection: close\r\n"))
            #expect(try daemon.connect().figure("total_jobs_accepted") == 0)
        }
    }

    @Test(.timeLimit(.minutes(2))) func `holds back a client that reads nothing`() throws {
        try withDaemon(.http) { daemon in
            let client = try daemon.connectHTTP()
            let request = client.request("GET", "/api/selectors").utf8
            let flood = Array(repeatElement(request, count: 100_000).joined())
            let sent = client.raw.sendUntilRefused(flood, quietMilliseconds: 200)
            #expect(sent < flood.count / 2)
            #expect(try daemon.connectHTTP().get("/healthz").status == 200)
        }
    }

    @Test(.timeLimit(.minutes(2))) func `shares the limit of connections`() throws {
        try withHTTPDoors(Setup(limits: "connections: 8")) { daemon, address in
            let strangers = try (0..<5).map { _ in try HTTPTestClient(address) }
            let text = try strangers[4].textUntilClosed()
            #expect(text.hasPrefix("HTTP/1.1 503 "))
            #expect(try strangers[0].get("/healthz").status == 200)
            #expect(try daemon.connectHTTP().get("/api/threads").status == 200)
        }
    }

    @Test(.timeLimit(.minutes(2)), arguments: ["short", "with a blank in it, and long enough"])
    func `takes no key that is easy to guess`(key: String) throws {
        let scratch = try Scratch()
        try scratch.write(key + "\n", to: "key")
        let setup = Setup(
            listen: "http: { tcp: \"127.0.0.1:1\", keyFile: \"$DIR/key\" }")
        try scratch.write(setup.text(directory: scratch.path), to: "workerd.json5")
        let daemon = try TestDaemon(
            arguments: ["--config", scratch.file("workerd.json5")], in: scratch)
        defer { daemon.kill() }
        #expect(try daemon.end() == "exit status 78")
        #expect(daemon.log.contains("listen.http.keyFile: the first line of"))
    }
}

/// Whether a test may run a program as another user.
let maySwitchUser = UserID.own == 0

/// Whether curl is installed; `Scripts/test` installs it.
let hasCurl = (try? File.kind(of: "/usr/bin/curl")) != nil

extension String {
    /// The parts between the places of another text.
    fileprivate func components(separatedBy other: String) -> [String] {
        split(separator: other, omittingEmptySubsequences: false).map(String.init)
    }
}
