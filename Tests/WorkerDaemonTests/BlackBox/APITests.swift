// Jobs by JSON: each path does what its command does, and answers as it is described.

import Kernel
import RESP
import Support
import Testing
import WorkerDaemon

@Suite struct `The paths of HTTP` {
    private static let setup = Setup(
        threads: "images: {}, mail: { count: 2 }",
        selectors:
            "turn: { worker: true }, say: { program: [\"sh\", \"-c\", \"cat; echo e >&2\"] }",
        limits: "payload: 1000",
        listen: Setup.http.listen, store: "\"$DIR/jobs.sqlite\"",
        more:
            "schedules: { nightly: { cron: \"0 3 * * *\", thread: \"mail\", selector: \"echo\" } },"
    )

    /// Calls operations and holds their answers against the description.
    private final class Caller {
        let client: HTTPTestClient
        let api: OpenAPI
        private(set) var called: Set<String> = []

        init(_ daemon: TestDaemon) throws {
            client = try daemon.connectHTTP()
            api = try OpenAPI()
        }

        /// - Parameter target: with values in place of the path's parameters.
        @discardableResult
        func call(
            _ operation: String, _ target: String? = nil, _ body: String = "{}", status: Int = 200
        ) throws -> JSONValue {
            called.insert(operation)
            let parts = operation.split(separator: " ").map(String.init)
            let isPost = parts[0] == "POST"
            let response =
                isPost
                ? try client.post(target ?? parts[1], body) : try client.get(target ?? parts[1])
            #expect(response.status == status, "\(operation): \(response.text)")
            let faults = try api.faults(operation, response)
            #expect(faults.isEmpty, "\(operation): \(response.text)")
            if isPost, status < 300 {
                #expect(try api.faults(operation, request: body) == [])
            }
            return (try? response.json()) ?? .null
        }
    }

    @Test func `are all described, and no others`() throws {
        #expect(try OpenAPI().operations == Set(WebPaths.all))
    }

    @Test(.timeLimit(.minutes(2))) func `answer as they are described`() throws {
        try withHTTPDoors(Self.setup) { daemon, _ in
            let caller = try Caller(daemon)
            let redis = try daemon.connect()
            for path in ["/healthz", "/readyz", "/metrics"] { try caller.call("GET \(path)") }
            try caller.call("GET /api/session")
            let ticket = try redis.call("PAGE")["ticket"]?.text ?? ""
            try caller.call("POST /api/session", nil, "{\"ticket\":\"\(ticket)\"}")
            let submit = "POST /api/jobs"
            let done = try caller.call(
                submit, nil,
                #"{"thread":"images","selector":"say","payload":"hi","label":"l","key":"k"}"#,
                status: 202)
            #expect(done["id"] == .number("1"))
            let result = try caller.call(
                "GET /api/jobs/{id}/result", "/api/jobs/1/result?wait=60000")
            #expect(result["result"] == .string("hi"))
            let job = try caller.call("GET /api/jobs/{id}", "/api/jobs/1")
            #expect(job["label"] == .string("l"))
            let output = try caller.call("GET /api/jobs/{id}/output", "/api/jobs/1/output")
            #expect(output["output"]?["errors"] == .string("e\n"))
            try caller.call("GET /api/jobs/{id}/output", "/api/jobs/1/output?attempt=7")

            try caller.call(
                submit, nil, #"{"thread":"mail","selector":"fail","payload":"no","wait":60000}"#,
                status: 422)
            let failures = try caller.call(
                "GET /api/jobs", "/api/jobs?state=failed&failures=true&limit=5&order=oldest")
            #expect(failures["jobs"] != .array([]))
            try caller.call("GET /api/jobs/{id}/payload", "/api/jobs/2/payload")
            #expect(
                try caller.call("POST /api/jobs/{id}/retry", "/api/jobs/2/retry")["count"]
                    == .number("1"))
            try eventually("it has failed again") {
                try redis.job(2, "state").text == "failed"
            }
            let groups = try caller.call("GET /api/failures", "/api/failures?thread=mail&reason=no")
            #expect(groups["groups"] != .array([]))
            let bulk = "POST /api/bulk"
            let dry = try caller.call(
                bulk, nil, #"{"action":"drop","selector":"fail","reason":"no","dry":true}"#)
            #expect(dry["count"] == .number("1") && dry["up-to"] == .number("2"))
            try caller.call(bulk, nil, #"{"action":"cancel","thread":"images","up-to":2}"#)
            try caller.call("GET /api/bulk")
            try caller.call("GET /api/bulk/{id}", "/api/bulk/1")
            try caller.call("POST /api/bulk/{id}/stop", "/api/bulk/1/stop")
            try caller.call("POST /api/jobs/{id}/drop", "/api/jobs/2/drop")
            try caller.call("POST /api/selectors/{name}/retry", "/api/selectors/fail/retry")
            try caller.call("POST /api/selectors/{name}/drop", "/api/selectors/fail/drop")

            try caller.call("POST /api/threads/{name}/pause", "/api/threads/mail/pause")
            let paused = try caller.call(
                submit, nil,
                #"{"thread":"mail","selector":"turn","unique":"u","payload":{"base64":"AP8="}}"#,
                status: 202)
            #expect(paused["new"] == .boolean(true))
            try caller.call("POST /api/threads/{name}/resume", "/api/threads/mail/resume")
            try redis.send("TAKE", "AS", "w", "FROM", "turn")
            _ = try redis.reply()
            try caller.call("GET /api/jobs/{id}", "/api/jobs/3")
            for path in ["threads", "selectors", "schedules", "workers", "nodes"] {
                try caller.call("GET /api/\(path)")
            }
            for name in ["images", "mail", "mail%2F1"] {
                try caller.call("GET /api/threads/{name}", "/api/threads/\(name)")
            }
            try caller.call("GET /api/jobs/{id}/result", "/api/jobs/3/result")
            try caller.call("POST /api/jobs/{id}/cancel", "/api/jobs/3/cancel")
            let steered = try caller.call("GET /api/operations", "/api/operations?count=5")
            #expect(steered["operations"] != .array([]))
            try caller.call("POST /api/reload", nil, #"{"dry": true}"#)
            #expect(caller.called.union(caller.api.streams) == caller.api.operations)
        }
    }

    @Test(.timeLimit(.minutes(2))) func `answer errors as they are described`() throws {
        try withDaemon(Self.setup) { daemon in
            let caller = try Caller(daemon)
            let submit = "POST /api/jobs"
            let job = #"{"thread":"images","selector":"echo""#
            for wrong in [
                #"{"action":"paint","thread":"mail"}"#, #"{"action":"drop"}"#, "{}",
                #"{"action":"drop","thread":"mail","up-to":"7"}"#,
                #"{"action":"drop","thread":"mail","state":"done"}"#,
            ] {
                try caller.call("POST /api/bulk", nil, wrong, status: 400)
            }
            try caller.call("GET /api/bulk/{id}", "/api/bulk/9", status: 404)
            let wrong = [
                ("", 400), ("[]", 400), ("{", 400), ("{}", 400), (#"{"thread":"images"}"#, 400),
                (job + #","colour":1}"#, 400), (job + #","thread":"x"}"#, 400),
                (job + #","payload":1}"#, 400), (job + #","payload":{"base64":"?"}}"#, 400),
                (job + #","delay":"1"}"#, 400), (job + #","delay":-1}"#, 400),
                (job + #","delay":1.5}"#, 400), (job + #","delay":1,"at":1}"#, 400),
                (job + #","timeout":0}"#, 400), (job + #","priority":"urgent"}"#, 400),
                (job + #","again":true}"#, 400), (job + #","retry-mode":"block"}"#, 400),
                (job + #","retry":1,"retry-mode":"ALL"}"#, 400), (job + #","args":"x"}"#, 400),
                (job + #","volatile":"yes"}"#, 400), (job + #","key":""}"#, 400),
                (#"{"thread":"nowhere","selector":"echo"}"#, 404),
                (#"{"thread":"images","selector":"nothing"}"#, 404),
                (job + ",\"payload\":\"" + String(repeating: "x", count: 1_001) + "\"}", 413),
            ]
            for (body, status) in wrong { try caller.call(submit, nil, body, status: status) }
            let get = "GET /api/jobs/{id}"
            for (id, status) in [("99", 404), ("x", 400), ("-1", 400), ("1%00", 400)] {
                let fresh = try Caller(daemon)
                try fresh.call(get, "/api/jobs/\(id)", status: status)
            }
            for query in [
                "state=LIMIT", "limit=x", "limit=99999", "order=up", "colour=red", "failures=1",
                "before=0x1", "limit=1&limit=2", "key=",
            ] {
                try caller.call("GET /api/jobs", "/api/jobs?\(query)", status: 400)
            }
            // A name is never taken for an option.
            try caller.call("GET /api/jobs", "/api/jobs?thread=OLDEST", status: 404)
            try caller.call("POST /api/jobs/{id}/cancel", "/api/jobs/1/cancel?x=1", status: 400)
            try caller.call(
                "POST /api/jobs/{id}/cancel", "/api/jobs/1/cancel", "{\"a\":1}", status: 400)
            #expect(try daemon.connect().figure("total_jobs_accepted") == 0)
            #expect(try caller.client.get("/api/jobs/1/cancel").status == 405)
            #expect(try caller.client.post("/api/threads").status == 405)
        }
    }

    @Test(.timeLimit(.minutes(2))) func `take every option of PERFORM`() throws {
        try withDaemon(Self.setup) { daemon in
            let caller = try Caller(daemon)
            try caller.call(
                "POST /api/jobs", nil,
                #"""
                {"thread":"images","selector":"echo","payload":"p","delay":3600000,"unique":"u",
                 "again":true,"for":60000,"priority":"high","key":"k","timeout":1000,"retry":2,
                 "retry-mode":"block","expire":7200000,"label":"l"}
                """#, status: 202)
            let redis = try daemon.connect()
            #expect(try redis.job(1, "state").text == "delayed")
            #expect(try redis.job(1, "priority").text == "high")
            #expect(try redis.job(1, "key").text == "k")
            #expect(try redis.job(1, "label").text == "l")
            #expect(try redis.call("PAYLOAD", 1).text == "p")
            let again = try caller.call(
                "POST /api/jobs", nil,
                #"{"thread":"images","selector":"echo","payload":"p","unique":"u"}"#, status: 202)
            #expect(again["new"] == .boolean(false))
            try caller.call(
                "POST /api/jobs", nil,
                #"{"thread":"images","selector":"echo","payload":"other","unique":"u"}"#,
                status: 409)
        }
    }

    @Test(.timeLimit(.minutes(2))) func `page through all jobs`() throws {
        try withDaemon(Self.setup) { daemon in
            let redis = try daemon.connect()
            for _ in 0..<7 { _ = try redis.perform("images", "echo", "DELAY", 600_000, "x") }
            let caller = try Caller(daemon)
            for (order, cursor) in [("newest", "before"), ("oldest", "after")] {
                var ids: [String] = []
                var target: String? = "/api/jobs?order=\(order)&limit=3"
                while let next = target {
                    let page = try caller.call("GET /api/jobs", next)
                    guard case .array(let jobs)? = page["jobs"] else { break }
                    for job in jobs { if case .number(let id)? = job["id"] { ids.append(id) } }
                    target = nil
                    if case .number(let last)? = page["next"] {
                        target = "/api/jobs?order=\(order)&limit=3&\(cursor)=\(last)"
                    }
                }
                let expected = (1...7).map { "\($0)" }
                #expect(ids == (order == "newest" ? expected.reversed() : expected))
            }
        }
    }

    @Test(.timeLimit(.minutes(2))) func `bring a large result in one piece`() throws {
        var setup = Self.setup
        setup.limits = ""
        try withDaemon(setup) { daemon in
            let client = try daemon.connectHTTP()
            let text = String(repeating: "0123456789\\n", count: 200_000)
            let body =
                #"{"thread":"images","selector":"echo","wait":true,"payload":""# + text + "\"}"
            let response = try client.post("/api/jobs", body)
            #expect(response.text == "{\"result\":\"\(text)\"}\n")
        }
    }
}
