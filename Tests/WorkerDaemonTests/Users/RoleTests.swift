// Every command and every path as every role: exactly the permitted ones are executed.

import Kernel
import RESP
import Support
import Testing
import WorkerDaemon

@Suite struct `A role` {
    private static let observers = ["observe"]
    private static let submitters = ["submit"]
    private static let workers = ["work"]
    private static let operators = ["operate"]
    private static let everyone: [String] = []

    /// Each command with arguments, and the roles one of which it needs.
    ///
    /// None ends the daemon.
    private static let samples: [(command: [CommandArgument], roles: [String])] = [
        (["PERFORM", "images", "echo", "x"], submitters),
        (["PERFORM", "images", "echo", "WAIT", "x"], submitters),
        (["CANCEL", "1"], submitters + operators),
        (["CANCEL", "images", "echo"], submitters + operators),
        (["BUFFER", "images", "echo", "x"], submitters), (["FIRE", "images"], submitters),
        (["JOB", "1"], observers), (["PAYLOAD", "1"], observers), (["RESULT", "1"], observers),
        (["OUTPUT", "1"], observers), (["JOBS"], observers),
        (["RETRY", "1"], operators), (["DROP", "ALL", "fail"], operators),
        (["BULK", "DROP", "DRY", "images"], operators), (["BULK", "LIST"], operators),
        (["BULK", "STATUS", "9"], operators), (["BULK", "STOP", "9"], operators),
        (["FAILURES"], observers),
        (["TAKE", "FROM", "turn"], workers), (["DONE", "1", "token", "x"], workers),
        (["FAIL", "1", "token", "x"], workers), (["GIVEBACK", "1", "token"], workers),
        (["REPORT", "1", "token", "50", "x"], workers), (["WORKERS"], observers),
        (["OBSERVE", "1"], observers), (["UNOBSERVE"], observers), (["EVENTS"], observers),
        (["SCHEDULE", "s", "EVERY", "3600000", "images", "echo", "x"], submitters),
        (["UNSCHEDULE", "s"], submitters + operators), (["SCHEDULES"], observers),
        (["THREADS"], observers), (["THREADS", "LIVE"], observers),
        (["THREAD", "images"], observers),
        (["PAUSE", "images"], operators), (["RESUME", "images"], operators),
        (["STOP", "nowhere"], operators), (["SELECTORS"], observers),
        (["PING"], everyone), (["ECHO", "x"], everyone), (["HELLO"], everyone),
        (["AUTH", "all", "the secret of all"], everyone), (["SELECT", "0"], everyone),
        (["MULTI"], everyone), (["EXEC"], everyone), (["DISCARD"], everyone),
        (["RESET"], everyone), (["QUIT"], everyone), (["CLIENT", "LIST"], everyone),
        (["CLIENT", "KILL", "ID", "999"], operators),
        (["CLIENT", "UNBLOCK", "999"], workers + operators), (["ACL", "WHOAMI"], everyone),
        (["ACL", "CAT"], everyone), (["ACL", "USERS"], operators), (["ACL", "LIST"], operators),
        (["PAGE"], everyone), (["OPERATIONS"], operators), (["INFO"], observers),
        (["COMMAND", "COUNT"], everyone), (["CONFIG", "GET", "save"], observers),
        (["SHUTDOWN", "LATER"], operators), (["BACKUP", "not/a/name"], operators),
        (["RELOAD", "DRY"], operators), (["NODES"], observers),
        (["LINK", "secret", "all"], everyone),
    ]

    /// Each path with values for its parameters, and the roles one of which it needs.
    private static let paths: [(operation: String, target: String?, roles: [String])] = [
        ("GET /healthz", nil, everyone), ("GET /readyz", nil, everyone),
        ("GET /metrics", nil, observers), ("POST /api/session", nil, everyone),
        ("GET /api/session", nil, everyone), ("GET /api/operations", nil, operators),
        ("GET /api/jobs", nil, observers), ("POST /api/jobs", nil, submitters),
        ("GET /api/jobs/{id}", "/api/jobs/1", observers),
        ("GET /api/jobs/{id}/payload", "/api/jobs/1/payload", observers),
        ("GET /api/jobs/{id}/result", "/api/jobs/1/result", observers),
        ("GET /api/jobs/{id}/output", "/api/jobs/1/output", observers),
        ("POST /api/jobs/{id}/cancel", "/api/jobs/1/cancel", submitters + operators),
        ("POST /api/jobs/{id}/retry", "/api/jobs/1/retry", operators),
        ("POST /api/jobs/{id}/drop", "/api/jobs/1/drop", operators),
        ("POST /api/bulk", nil, operators), ("GET /api/bulk", nil, operators),
        ("GET /api/bulk/{id}", "/api/bulk/9", operators),
        ("POST /api/bulk/{id}/stop", "/api/bulk/9/stop", operators),
        ("GET /api/failures", nil, observers), ("GET /api/threads", nil, observers),
        ("GET /api/threads/{name}", "/api/threads/images", observers),
        ("POST /api/threads/{name}/pause", "/api/threads/images/pause", operators),
        ("POST /api/threads/{name}/resume", "/api/threads/images/resume", operators),
        ("GET /api/selectors", nil, observers),
        ("POST /api/selectors/{name}/retry", "/api/selectors/fail/retry", operators),
        ("POST /api/selectors/{name}/drop", "/api/selectors/fail/drop", operators),
        ("GET /api/schedules", nil, observers), ("GET /api/workers", nil, observers),
        ("GET /api/events", nil, observers), ("GET /api/live", nil, observers),
        ("GET /api/nodes", nil, observers), ("POST /api/reload", nil, operators),
    ]

    private static let bodies = [
        "/api/jobs": #"{"thread":"images","selector":"echo"}"#,
        "/api/bulk": #"{"action":"drop","dry":true,"thread":"images"}"#,
    ]

    private static let setup = Setup(selectors: "turn: { worker: true }")

    /// One user for each role, one without rights at payloads, and one for all.
    private static let users =
        Roles.allNames.map { TestUser($0, [$0]) }
        + [TestUser("blind", ["observe", "submit"], payloads: false)]
        + [TestUser("all", Roles.allNames)]

    private func name(_ command: [CommandArgument]) -> String {
        if case .text(let name)? = command.first { name.lowercased() } else { "" }
    }

    @Test(.timeLimit(.minutes(2))) func `lets exactly its commands through`() throws {
        try withUsers(Self.users, Self.setup) { doors in
            let table = try doors.daemon.connect().call("COMMAND", "LIST").elements ?? []
            let known = Set(table.compactMap(\.text))
            let sampled = Set(Self.samples.map { name($0.command) })
            #expect(known == sampled, "each command of the table has a sample here")
            for user in Self.users {
                for (command, roles) in Self.samples {
                    let client = try doors.connect(as: user)
                    try client.send(TestClient.bytes(command))
                    let error = try client.reply().errorWord
                    let isPermitted =
                        roles.isEmpty || !Set(roles).isDisjoint(with: user.roles)
                    let needsPayloads =
                        ["payload", "result", "output"].contains(name(command))
                        || command.contains("WAIT")
                    let isNeeded = needsPayloads && !user.seesPayloads
                    #expect(
                        (error == "NOPERM") == (!isPermitted || isNeeded),
                        "\(user.name): \(command): \(error ?? "no error")")
                }
            }
        }
    }

    @Test(.timeLimit(.minutes(2))) func `has the commands that ACL CAT names`() throws {
        try withUsers(Self.users, Self.setup) { doors in
            let client = try doors.connect(as: Self.users[0])
            let named = try client.call("ACL", "CAT").elements?.compactMap(\.text)
            #expect(named == Roles.allNames)
            for role in Roles.allNames {
                let found = try client.call("ACL", "CAT", .text(role)).elements ?? []
                let names = found.compactMap { $0.text?.split(separator: "|").first }
                let expected = Self.samples.filter { $0.roles.contains(role) }
                #expect(
                    Set(names.map(String.init)) == Set(expected.map { name($0.command) }), "\(role)"
                )
            }
        }
    }

    @Test(.timeLimit(.minutes(2))) func `lets exactly its paths through`() throws {
        #expect(Set(Self.paths.map(\.operation)) == Set(WebPaths.all))
        try withUsers(Self.users, Self.setup) { doors in
            for user in Self.users {
                for (operation, target, roles) in Self.paths {
                    let client = try doors.connectHTTP(as: user)
                    let parts = operation.split(separator: " ").map(String.init)
                    let path = target ?? parts[1]
                    let response =
                        parts[0] == "POST"
                        ? try client.post(path, Self.bodies[path] ?? "{}")
                        : try client.get(path)
                    let isPermitted =
                        roles.isEmpty || !Set(roles).isDisjoint(with: user.roles)
                    let needsPayloads = ["payload", "result", "output"].contains {
                        path.hasSuffix($0)
                    }
                    let isRefused = !isPermitted || needsPayloads && !user.seesPayloads
                    #expect(
                        (response.status == 403) == isRefused,
                        "\(user.name): \(operation): \(response.status)")
                    if isRefused { #expect(try response.word() == "NOPERM") }
                }
            }
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `ends a TAKE that waits when a reload takes it away`() throws {
        let (ann, boss) = (TestUser("ann", ["work"]), TestUser("boss", ["operate", "observe"]))
        try withUsers([ann, boss], Self.setup) { doors in
            let (worker, operator_) = (try doors.connect(as: ann), try doors.connect(as: boss))
            try worker.send("TAKE", "WAIT", 60_000, "FROM", "turn")
            try eventually("it waits") { try operator_.figure("waiting_takes") == 1 }
            try doors.daemon.scratch.writeUsers([ann, boss])
            #expect(try operator_.call("RELOAD").errorWord == nil)
            #expect(try worker.isSilent())
            try doors.daemon.scratch.writeUsers([TestUser("ann", ["submit"]), boss])
            #expect(try operator_.call("RELOAD").errorWord == nil)
            #expect(try worker.reply() == .null)
            #expect(try worker.call("TAKE", "FROM", "turn").errorWord == "NOPERM")
        }
    }

    @Test(.timeLimit(.minutes(2))) func `is named by the refusal`() throws {
        try withUsers(Self.users) { doors in
            let client = try doors.connect(as: Self.users[0])
            #expect(
                try client.call("CLIENT", "kill", "ID", "1")
                    == .error(
                        "NOPERM User observe has no permissions to run the 'client|kill' command: "
                            + "it needs the role operate"))
            #expect(
                try client.call("CANCEL", "1")
                    == .error(
                        "NOPERM User observe has no permissions to run the 'cancel' command: "
                            + "it needs the role submit or operate"))
            // A transaction is refused where it is begun, as Redis does.
            #expect(try client.call("MULTI") == .simpleString("OK"))
            #expect(try client.call("PAUSE", "images").errorWord == "NOPERM")
            #expect(try client.call("JOBS") == .simpleString("QUEUED"))
        }
    }

    @Test(.timeLimit(.minutes(2))) func `shows an operator alone the connections of others`() throws
    {
        try withUsers(Self.users) { doors in
            let (observer, other) = (
                try doors.connect(as: Self.users[0]), try doors.connect(as: Self.users[3])
            )
            let own = try observer.call("CLIENT", "LIST").text ?? ""
            #expect(own.contains(" user=observe ") && !own.contains(" user=operate "))
            let all = try other.call("CLIENT", "LIST").text ?? ""
            #expect(all.contains(" user=observe ") && all.contains(" user=operate "))
            #expect(try other.call("CLIENT", "INFO").text?.contains(" user=operate ") == true)
        }
    }
}
