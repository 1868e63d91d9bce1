// A secret in every part of jobs: no answer of an observing command shows it to a user without the
// right `payloads`.

import Kernel
import RESP
import Support
import Testing
import WorkerDaemon

@Suite struct `The right payloads` {
    private static let secret = "xyzzy-17"
    private static let blind = TestUser("blind", ["observe"], payloads: false)
    private static let seeing = TestUser("seeing", ["observe"], payloads: true)
    private static let setup = Setup(
        threads: "images: {}, mail: {}, slow: {}",
        selectors: """
            tells: { program: ["$DIR/tells"] },
            reports: { program: ["$DIR/reports"] }
            """,
        store: "\"$DIR/jobs.sqlite\"")
    private static let programs = ["reports": reports, "tells": tells]
    private static let tells = """
        #!/bin/sh
        echo xyzzy-17 out
        echo xyzzy-17 err >&2
        cat

        """
    private static let reports = """
        #!/bin/sh
        echo "50% xyzzy-17 progress" >&3
        touch "$0.began"
        while [ ! -e "$0.go" ]; do sleep 0.05; done

        """

    /// All texts of a reply.
    private func text(_ value: RESPValue) -> String {
        switch value {
        case .bulk(let bytes), .verbatim(_, let bytes): String(decoding: bytes, as: UTF8.self)
        case .simpleString(let text), .error(let text), .bigNumber(let text): text
        case .array(let values), .set(let values), .push(let values):
            values.map(text).joined(separator: " ")
        case .map(let entries):
            entries.map { text($0.key) + "=" + text($0.value) }.joined(separator: " ")
        case .integer, .double, .boolean, .null: "\(value)"
        }
    }

    /// Jobs with the secret in every place.
    private func plant(_ daemon: TestDaemon) throws -> [Int] {
        let client = try daemon.connect()
        let secret = CommandArgument.text(Self.secret)
        let done = try client.perform("images", "tells", "LABEL", secret, "KEY", secret, secret)
        let failed = try client.perform("images", "fail", "LABEL", secret, secret)
        let delayed = try client.perform(
            "mail", "echo", "DELAY", 3_600_000, "LABEL", secret, "KEY", secret, secret)
        // Tried again after an hour: its latest failure is shown.
        let tried = try client.perform("mail", "fail", "RETRY", 3, secret)
        let running = try client.perform("slow", "reports", secret)
        try client.waitUntil(done, is: "done")
        try client.waitUntil(failed, is: "failed")
        try eventually("its program reports") { daemon.scratch.has("reports.began") }
        return [done, failed, delayed, tried, running]
    }

    @Test(.timeLimit(.minutes(2))) func `covers what is in jobs, wherever they are shown`() throws {
        try withUsers([Self.blind, Self.seeing], Self.setup, programs: Self.programs) {
            doors in
            let ids = try plant(doors.daemon)
            var commands: [[CommandArgument]] = [
                ["JOBS"], ["JOBS", "FAILURES"], ["JOBS", "OLDEST", "LIMIT", 1000, "FAILURES"],
                ["JOBS", "running"], ["JOBS", "delayed"], ["JOBS", "failed", "FAILURES"],
                ["JOBS", "stuck"], ["JOBS", "KEY", .text(Self.secret)], ["THREADS"],
                ["THREAD", "images"], ["THREAD", "slow"], ["SELECTORS"], ["SCHEDULES"],
                ["WORKERS"], ["INFO"], ["FAILURES"], ["FAILURES", "REASON", .text(Self.secret)],
                ["FAILURES", "KEY", .text(Self.secret)], ["JOBS", "REASON", .text(Self.secret)],
                ["CONFIG", "GET", "*"], ["NODES"],
            ]
            for id in ids {
                for name: CommandArgument in ["JOB", "PAYLOAD", "RESULT", "OUTPUT"] {
                    commands.append([name, .integer(id)])
                }
            }
            let (blind, seeing) = (
                try doors.connect(as: Self.blind), try doors.connect(as: Self.seeing)
            )
            // Nothing is left out of the list above that an observer may send.
            let observing = try blind.call("ACL", "CAT", "observe").elements?.compactMap(\.text)
            let named = commands.map(\.first)
            for name in observing ?? [] where !["observe", "unobserve", "events"].contains(name) {
                #expect(named.contains(.text(name.uppercased())), "\(name)")
            }
            var shownCount = 0
            for command in commands {
                try blind.send(TestClient.bytes(command))
                let answer = text(try blind.reply())
                #expect(!answer.contains(Self.secret), "\(command): \(answer)")
                try seeing.send(TestClient.bytes(command))
                if text(try seeing.reply()).contains(Self.secret) { shownCount += 1 }
            }
            // The test sees the secret where it is.
            #expect(shownCount >= 12)
            try doors.daemon.scratch.write("", to: "reports.go")
        }
    }

    @Test(.timeLimit(.minutes(2))) func `covers pushes of changes`() throws {
        try withUsers([Self.blind, Self.seeing], Self.setup, programs: Self.programs) {
            doors in
            let ids = try plant(doors.daemon)
            for (user, isShown) in [(Self.blind, false), (Self.seeing, true)] {
                let client = try doors.connect(as: user)
                _ = try client.call("HELLO", 3)
                var all = ""
                try client.send(TestClient.bytes(["OBSERVE"] + ids.map { .integer($0) }))
                for _ in 0...ids.count { all += text(try client.reply()) + "\n" }
                #expect(all.contains("done") && all.contains("running"))
                #expect(all.contains(Self.secret) == isShown, "\(all)")
            }
            try doors.daemon.scratch.write("", to: "reports.go")
        }
    }

    @Test(.timeLimit(.minutes(2))) func `covers events`() throws {
        try withUsers([Self.blind, Self.seeing], Self.setup, programs: Self.programs) {
            doors in
            let readers = try [(Self.blind, false), (Self.seeing, true)].map { user, isShown in
                let client = try doors.connect(as: user)
                _ = try client.call("HELLO", 3)
                _ = try client.call("EVENTS")
                return (client, isShown)
            }
            _ = try plant(doors.daemon)
            for (client, isShown) in readers {
                // Five jobs come, four begin, three of these come to an end.
                var all = ""
                for _ in 0..<12 { all += text(try client.reply()) + "\n" }
                #expect(all.contains("accepted") && all.contains("failed"))
                #expect(all.contains(Self.secret) == isShown, "\(all)")
            }
            try doors.daemon.scratch.write("", to: "reports.go")
        }
    }

    @Test(.timeLimit(.minutes(2))) func `covers the paths of HTTP`() throws {
        try withUsers([Self.blind, Self.seeing], Self.setup, programs: Self.programs) {
            doors in
            let ids = try plant(doors.daemon)
            // Streams have no end, and a test of their own.
            var paths = WebPaths.all.filter { $0.hasPrefix("GET ") && !$0.contains("{") }
                .map { String($0.dropFirst(4)) }
                .filter { !["/api/events", "/api/live"].contains($0) }
            paths += ["/api/jobs?failures=true", "/api/jobs?key=\(Self.secret)"]
            for id in ids {
                let all = WebPaths.all.filter { $0.hasPrefix("GET /api/jobs/{id}") }
                paths += all.map { String($0.dropFirst(4)).replacing("{id}", with: "\(id)") }
            }
            let (blind, seeing) = (
                try doors.connectHTTP(as: Self.blind), try doors.connectHTTP(as: Self.seeing)
            )
            var shownCount = 0
            for path in paths {
                let answer = try blind.get(path)
                #expect(!answer.text.contains(Self.secret), "\(path): \(answer.text)")
                if try seeing.get(path).text.contains(Self.secret) { shownCount += 1 }
            }
            #expect(shownCount >= 10)
            let job = try blind.get("/api/jobs/\(ids[1])").json()
            #expect(job["state"] == .string("failed"))
            #expect(job["failure"] == .null)
            try doors.daemon.scratch.write("", to: "reports.go")
        }
    }
}
