// The threads and selectors that a user may touch: everything else is not there for it.

import Kernel
import RESP
import Support
import Testing
import WorkerDaemon

@Suite struct `A user of some threads` {
    private static let all = ["observe", "submit", "work", "operate"]
    private static let mailer = TestUser(
        "mailer", all, "threads: [\"mail*\"], selectors: [\"echo\", \"send-*\"]")
    private static let owner = TestUser("owner", all)
    private static let setup = Setup(
        threads: "images: {}, mail: { count: 2 }, mailbox: {}",
        selectors: "\"send-now\": { worker: true }, turn: { worker: true }",
        more: """
            schedules: {
                greet: { every: "1h", thread: "mail", selector: "echo" },
                draw: { every: "1h", thread: "images", selector: "echo" },
                hash: { every: "1h", thread: "mail", selector: "sha256" },
            },
            """)
    private static let durable = Setup(
        threads: setup.threads, selectors: setup.selectors, store: "\"$DIR/jobs.sqlite\"",
        more: setup.more)

    private func names(_ value: RESPValue, _ key: String) -> [String] {
        (value.elements ?? []).compactMap { $0[key]?.text }
    }

    @Test(.timeLimit(.minutes(2))) func `reads the events of its own jobs`() throws {
        try withUsers([Self.mailer, Self.owner], Self.setup) { doors in
            let (client, owner) = (
                try doors.connect(as: Self.mailer), try doors.connect(as: Self.owner)
            )
            _ = try client.call("HELLO", 3)
            #expect(try client.call("EVENTS", "images").errorWord == "NOPERM")
            _ = try client.call("EVENTS")
            for (thread, selector) in [("images", "echo"), ("mail", "sha256"), ("mail", "echo")] {
                _ = try owner.call("PERFORM", .text(thread), .text(selector), "WAIT", "x")
            }
            for change in ["accepted", "running", "done"] {
                guard case .push(let parts) = try client.reply() else {
                    throw Unexpected("no push")
                }
                #expect(parts[3]["job"] == .integer(3) && parts[3]["change"]?.text == change)
            }
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `is told nothing that its connection had asked for as another one`() throws {
        try withUsers([Self.mailer, Self.owner], Self.setup) { doors in
            let (client, owner) = (
                try doors.connect(as: Self.owner), try doors.connect(as: Self.owner)
            )
            _ = try client.call("HELLO", 3)
            let id = try owner.perform("images", "sleep", "3600000")
            try owner.waitUntil(id, is: "running")
            #expect(try client.call("OBSERVE", .integer(id)) == .integer(1))
            guard case .push = try client.reply() else { throw Unexpected("no push") }
            _ = try client.call("EVENTS")
            #expect(
                try client.call("AUTH", .text(Self.mailer.name), .text(Self.mailer.secret)).text
                    == "OK")
            _ = try owner.call("CANCEL", .integer(id))
            try owner.waitUntil(id, is: "cancelled")
            // The next thing that it hears is the answer.
            #expect(try client.call("PING").text == "PONG")
        }
    }

    @Test(.timeLimit(.minutes(2)), arguments: [false, true])
    func `reaches its own jobs, and finds no others`(isDurable: Bool) throws {
        try withUsers([Self.mailer, Self.owner], isDurable ? Self.durable : Self.setup) { doors in
            let (client, owner) = (
                try doors.connect(as: Self.mailer), try doors.connect(as: Self.owner)
            )
            let own = try client.perform("mail", "echo", "DELAY", 3_600_000, "x")
            let foreign = [
                try owner.perform("images", "echo", "DELAY", 3_600_000, "x"),
                try owner.perform("mail", "sha256", "DELAY", 3_600_000, "x"),
                try owner.perform("images", "fail", "x"),
                try owner.perform("images", "echo", "y"),
            ]
            try owner.waitUntil(foreign[2], is: "failed")
            try owner.waitUntil(foreign[3], is: "done")
            for id in foreign {
                for name: CommandArgument in [
                    "JOB", "PAYLOAD", "RESULT", "OUTPUT", "RETRY", "DROP", "CANCEL",
                ] {
                    let answer = try client.call(name, .integer(id))
                    #expect(
                        answer
                            == .error(
                                "NOJOB there is no job \(id), or it ended too long ago to be kept"),
                        "\(name)")
                }
                #expect(try client.call("RESULT", .integer(id), "WAIT", 10).errorWord == "NOJOB")
            }
            let listed = try client.call("JOBS").elements ?? []
            #expect(listed.map { $0["id"] } == [.integer(own)])
            #expect(try client.call("JOBS", "LIMIT", 1).elements?.count == 1)
            #expect(try client.call("JOBS", "failed").elements?.count == 0)
            _ = try client.call("HELLO", 3)
            let ids = [own, foreign[0]].map { CommandArgument.integer($0) }
            #expect(try client.call("OBSERVE", ids[0], ids[1]).errorWord == "NOJOB")
            #expect(try client.call("OBSERVE", ids[0]) == .integer(1))
            _ = try client.reply()
            #expect(try client.call("UNOBSERVE") == .integer(1))
            #expect(try client.call("CANCEL", ids[0]) == .simpleString("cancelled"))
            #expect(try owner.job(foreign[0], "state").text == "delayed")
            #expect(try owner.job(foreign[2], "state").text == "failed")
        }
    }

    @Test(.timeLimit(.minutes(2))) func `finds its jobs in a store that is larger than memory`()
        throws
    {
        try withUsers([Self.mailer, Self.owner], Self.durable) { doors in
            let (client, owner) = (
                try doors.connect(as: Self.mailer), try doors.connect(as: Self.owner)
            )
            var own: [Int] = []
            for number in 0..<600 {
                let thread: CommandArgument = number % 100 == 0 ? "mail" : "images"
                let id = try owner.perform(thread, "echo", "DELAY", 3_600_000, "x")
                if number % 100 == 0 { own.append(id) }
            }
            let listed = try client.call("JOBS", "OLDEST", "LIMIT", 4).elements ?? []
            #expect(listed.map { $0["id"] } == own.prefix(4).map { .integer($0) })
            let web = try doors.connectHTTP(as: Self.mailer)
            let page = try web.get("/api/jobs?limit=4").json()
            #expect(page["next"] == .number("\(own[2])"))
        }
    }

    @Test(.timeLimit(.minutes(2))) func `is refused others by name`() throws {
        try withUsers([Self.mailer, Self.owner], Self.setup) { doors in
            let client = try doors.connect(as: Self.mailer)
            let refused: [[CommandArgument]] = [
                ["PERFORM", "images", "echo", "x"], ["PERFORM", "mail", "sha256", "x"],
                ["PERFORM", "nowhere", "echo", "x"], ["BUFFER", "images", "echo", "x"],
                ["BUFFER", "mail", "fail", "x"], ["FIRE", "images"],
                ["CANCEL", "images", "echo"], ["CANCEL", "mail", "fail"],
                ["PAUSE", "images"], ["RESUME", "images"], ["STOP", "images"],
                ["THREAD", "images"], ["JOBS", "images"], ["JOBS", "SELECTOR", "fail"],
                ["SCHEDULE", "s", "EVERY", "60000", "images", "echo", "x"],
                ["SCHEDULE", "s", "EVERY", "60000", "mail", "fail", "x"],
                // The schedules of others keep their names.
                ["SCHEDULE", "draw", "EVERY", "60000", "mail", "echo", "x"],
                ["UNSCHEDULE", "draw"], ["TAKE", "FROM", "turn"],
                ["TAKE", "OWN", "images", "FROM", "send-now"], ["RETRY", "ALL", "echo"],
                ["DROP", "ALL", "echo"], ["SHUTDOWN", "NOW"], ["BACKUP", "b"],
                ["CLIENT", "KILL", "ID", 1], ["OPERATIONS"], ["ACL", "USERS", "x"],
            ]
            for command in refused.dropLast() {
                try client.send(TestClient.bytes(command))
                #expect(try client.reply().errorWord == "NOPERM", "\(command)")
            }
            let fine: [[CommandArgument]] = [
                ["PERFORM", "mail", "echo", "x"], ["PERFORM", "mail/1", "echo", "x"],
                ["PERFORM", "mailbox", "echo", "WAIT", "x"], ["BUFFER", "mail", "echo", "x"],
                ["FIRE", "mail"], ["CANCEL", "mail", "echo"], ["PAUSE", "mail"],
                ["RESUME", "mail/2"], ["RESUME", "mail"], ["THREAD", "mail/1"], ["JOBS", "mail"],
                ["SCHEDULE", "s", "EVERY", "3600000", "mail", "echo", "x"], ["UNSCHEDULE", "s"],
                ["TAKE", "FROM", "send-now"],
            ]
            for command in fine {
                try client.send(TestClient.bytes(command))
                let answer = try client.reply()
                #expect(answer.errorWord == nil, "\(command): \(answer)")
            }
            let web = try doors.connectHTTP(as: Self.mailer)
            for path in ["/metrics", "/api/operations"] {
                #expect(try web.get(path).status == 403)
            }
            #expect(try web.get("/api/threads/images").status == 403)
            #expect(try web.get("/api/threads/mail").status == 200)
        }
    }

    @Test(.timeLimit(.minutes(2))) func `sees its part of each list`() throws {
        try withUsers([Self.mailer, Self.owner], Self.setup) { doors in
            let (client, worker) = (
                try doors.connect(as: Self.mailer), try doors.connect(as: Self.owner)
            )
            #expect(names(try client.call("THREADS"), "name") == ["mail/1", "mail/2", "mailbox"])
            #expect(names(try client.call("SELECTORS"), "name") == ["echo", "send-now"])
            #expect(names(try client.call("SCHEDULES"), "name") == ["greet"])
            let information = try client.call("INFO", "threads").text ?? ""
            #expect(information.contains("mail/1:") && !information.contains("images:"))
            try worker.send("TAKE", "AS", "w", "WAIT", 60_000, "FROM", "turn")
            let observer = try doors.connect(as: Self.owner)
            try eventually("the worker waits") {
                names(try observer.call("WORKERS"), "name") == ["w"]
            }
            #expect(try client.call("WORKERS").elements?.count == 0)
            // Of a thread that is its own, the job of another selector is not shown.
            let id = try observer.perform("mailbox", "sleep", "100000")
            try eventually("its thread is busy") {
                try observer.call("THREAD", "mailbox")["job"] == .integer(id)
            }
            let thread = try client.call("THREAD", "mailbox")
            #expect(thread["state"]?.text == "running")
            #expect(thread["job"] == .null && thread["selector"] == .null)
            #expect(try observer.call("THREAD", "mailbox")["job"] == .integer(id))
            _ = try observer.call("CANCEL", .integer(id))
        }
    }

    @Test(.timeLimit(.minutes(2))) func `works on jobs of its threads only`() throws {
        let users = [
            Self.owner, TestUser("w1", ["work"], "threads: [\"mail\"]"),
            TestUser("w2", ["work"], "threads: [\"images\"]"),
        ]
        try withUsers(users, Self.setup) { doors in
            let owner = try doors.connect(as: users[0])
            let id = try owner.perform("images", "send-now", "x")
            try eventually("the thread holds it") {
                try owner.call("JOB", .integer(id))["waits-for"]?.text == "worker send-now"
            }
            let (first, second) = (
                try doors.connect(as: users[1]), try doors.connect(as: users[2])
            )
            #expect(try first.call("TAKE", "WAIT", 50, "FROM", "send-now") == .null)
            let taken = try second.call("TAKE", "AS", "w", "WAIT", 60_000, "FROM", "send-now")
            #expect(taken.elements?.first == .integer(id))
            // Nor does its name bring another user the job that it holds.
            let thief = try doors.connect(as: users[1])
            let answer = try thief.call("TAKE", "AS", "w", "FROM", "send-now")
            #expect(answer.errorWord == "INUSE")
        }
    }
}
