// The difference of two configurations, as a reload tells it.

import Support
import Testing
import WorkerDaemon

@Suite struct `The difference of two configurations` {
    private static let files = FileChecks(
        kind: { path in
            if path == "/bin/gzip" { return .program }
            if path.hasPrefix("/pem/") { return .other }
            return ["/run/w", "/backups", "/var"].contains(path) ? .directory : .missing
        },
        contents: { _, _ throws(FileChecks.Unreadable) in Array("a secret of some bytes".utf8) },
        searchPath: ["/bin"])

    private static let door = "tcp: \"127.0.0.1:1\", passwordFile: \"/pem/p\""
    private static let web = "tcp: \"127.0.0.1:2\", keyFile: \"/pem/p\""
    private static let both =
        "{ certificate: \"/pem/a\", key: \"/pem/k\", clients: \"/pem/c\" }"
    private static let required =
        "{ certificate: \"/pem/a\", key: \"/pem/k\", clients: \"/pem/c\", "
        + "requireClient: true }"

    private static func configuration(_ text: String) throws -> Configuration {
        let reader = ConfigurationReader(files: files, builtInSelectors: ["echo"])
        let filled =
            text.contains("threads:") ? text : text + ", threads: { mail: { count: 2 } }"
        let listening =
            filled.contains("listen:") ? filled : filled + ", listen: { unix: \"/run/w/s\" }"
        return try reader.parse(text: "{ \(listening) }", fileName: "f")
    }

    private static func difference(
        _ before: String, _ after: String
    ) throws -> ConfigurationDifference {
        ConfigurationDifference(from: try configuration(before), to: try configuration(after))
    }

    @Test func `is empty for the same, wherever it is in the file`() throws {
        let schedule = "schedules: { a: { every: \"10s\", thread: \"mail\", selector: \"echo\" } }"
        let found = try Self.difference(
            "log: {}, \(schedule)", "\n\n   \(schedule), log: { level: \"info\" }")
        #expect(found.lines == [] && found.refusals == [] && found.schedules.isEmpty)
    }

    @Test func `tells other slots of a pool, which a reload refuses`() throws {
        let shared = """
            store: "postgresql:///jobs", stateDirectory: "/var", node: { sharesThreads: true }
            """
        let found = try Self.difference(
            "threads: { mail: { count: 2, slots: 4 } }, \(shared)",
            "threads: { mail: { count: 2, slots: 8 } }, \(shared)")
        #expect(found.lines == ["thread mail: slots 4 → 8"])
        #expect(found.refusals.count == 1)
    }

    @Test(arguments: [
        ("log: {}", "log: { level: \"debug\" }", "log.level: info → debug"),
        ("shutdown: { grace: \"90s\" }", "shutdown: {}", "shutdown.grace: 90s → 25s"),
        (
            "limits: { payload: \"64KB\" }", "limits: { payload: \"2MB\" }",
            "limits.payload: 64KB → 2MB"
        ),
        ("limits: {}", "limits: { waitingJobs: 20000 }", "limits.waitingJobs: 1,000,000 → 20,000"),
        ("log: {}", "backups: \"/backups\"", "backups: beside the store → /backups"),
        (
            "threads: { mail: { count: 2 } }", "threads: { mail: { count: 4 } }",
            "thread mail: count 2 → 4"
        ),
        (
            "threads: { mail: {} }", "threads: { mail: { stuckAfter: \"1m\" } }",
            "thread mail: stuckAfter 5s → 1m"
        ),
        (
            "selectors: { zip: { program: [\"gzip\"] } }",
            "selectors: { zip: { program: [\"gzip\", \"-9\"] } }",
            "selector zip: program /bin/gzip → /bin/gzip -9"
        ),
        (
            "selectors: { zip: { program: [\"gzip\"] } }",
            "selectors: { zip: { program: [\"gzip\"], timeout: \"none\" } }",
            "selector zip: timeout 1m → none"
        ),
        (
            "selectors: { zip: { program: [\"gzip\"], environment: { A: \"secret\" } } }",
            "selectors: { zip: { program: [\"gzip\"], environment: { A: \"other\" } } }",
            "selector zip: environment changed"
        ),
        (
            "schedules: { a: { every: \"10s\", thread: \"mail\", selector: \"echo\" } }",
            "schedules: { a: { every: \"1m\", thread: \"mail\", selector: \"echo\" } }",
            "schedule a: rhythm 10s → 1m"
        ),
        (
            "schedules: { a: { every: \"10s\", thread: \"mail\", selector: \"echo\" } }",
            "schedules: { a: { every: \"10s\", thread: \"mail\", selector: \"echo\", "
                + "payload: \"x\" } }",
            "schedule a: payload changed"
        ),
        (
            "listen: { unix: \"/run/w/s\" }", "listen: { unix: \"/run/w/t\" }",
            "listen.unix: /run/w/s → /run/w/t"
        ),
        (
            "listen: { \(door), tls: { certificate: \"/pem/a\", key: \"/pem/k\" } }",
            "listen: { \(door), tls: { certificate: \"/pem/b\", key: \"/pem/k\" } }",
            "listen.tls.certificate: /pem/a → /pem/b"
        ),
        (
            "listen: { \(door) }",
            "listen: { \(door), tls: { certificate: \"/pem/b\", key: \"/pem/k\" } }",
            "listen.tls: none → on"
        ),
        (
            "listen: { \(door) }", "listen: { \(door), plaintext: true }",
            "listen.plaintext: false → true"
        ),
        (
            "listen: { unix: \"/run/w/s\", http: { \(web), tls: \(both) } }",
            "listen: { unix: \"/run/w/s\", http: { \(web), tls: \(required) } }",
            "listen.http.tls.requireClient: false → true"
        ),
    ])
    func `names the key and both values`(before: String, after: String, line: String) throws {
        let found = try Self.difference(before, after)
        #expect(found.lines == [line])
    }

    @Test func `names sections that come and go, those that go first`() throws {
        let found = try Self.difference(
            "threads: { a: {}, b: {} }, selectors: { zip: { program: [\"gzip\"] } }",
            "threads: { c: { count: 3 }, a: {} }, selectors: { shrink: { program: [\"gzip\"] } }")
        #expect(
            found.lines == [
                "thread b: removed", "thread c: added, count 3",
                "selector zip: removed", "selector shrink: added",
            ])
    }

    @Test func `names what needs a restart`() throws {
        let found = try Self.difference(
            "store: \"memory\"",
            "store: \"/var/jobs\", stateDirectory: \"/var\", "
                + "node: { name: \"b\" }, cgroup: \"none\"")
        #expect(
            found.refusals == [
                "store can't change at a reload: restart workerd",
                "stateDirectory can't change at a reload: restart workerd",
                "node can't change at a reload: restart workerd",
                "cgroup can't change at a reload: restart workerd",
            ])
    }

    /// A key that is added to a section and forgotten in the comparison is told all the same.
    @Test func `tells a change of every limit`() throws {
        let before = Configuration.Limits()
        for child in Mirror(reflecting: before).children {
            let label = try #require(child.label)
            let found = try Self.difference("log: {}", "limits: { \(Self.key(of: label)) }")
            #expect((found.lines + found.refusals).count == 1, "limits.\(label)")
        }
    }

    private static func key(of property: String) -> String {
        let names = [
            "payloadBytes": "payload: 1000", "connections": "connections: 7",
            "outputBacklogBytes": "outputBacklog: \"1KB\"", "pipeline": "pipeline: 7",
            "waitingJobs": "waitingJobs: 7", "waitingBytes": "waitingBytes: 7",
            "retainedResults": "retainedResults: 7", "retainedBytes": "retainedBytes: 7",
            "retainedFor": "retainedFor: \"7s\"", "retainedOutputBytes": "retainedOutput: 7",
            "retainedFailures": "retainedFailures: 7", "failuresFor": "failuresFor: \"7s\"",
            "uniqueFor": "uniqueFor: \"7s\"", "events": "events: 7",
            "eventBytes": "eventBytes: \"1MB\"", "streams": "streams: 7",
        ]
        return names[property] ?? "unknown: \(property)"
    }
}
