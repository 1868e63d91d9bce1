// That every mistake in a configuration is found, and told with its path and its place.

internal import Testing
internal import WorkerDaemon

@Suite struct ConfigurationFaultTests {
    @Test func `all faults of a file are told at once, in its order, with path and place`() {
        let text = """
            {
              listen: { unix: "/tmp/w", http: "127.0.0.1:7712" },
              store: "/var/lib/workerd/jobs.sqlite",
              threads: {
                images: { cuont: 2 },
                mail: { count: 0, maxQueued: "many" },
                mail: {},
                "a/b": {},
              },
              log: { level: "verbose" }, log: {},
              colour: true,
            }
            """
        #expect(
            faults(text) == [
                "listen.http: must be a section { … }, is a string (line 2, column 35)",
                "store: there is no directory \"/var/lib/workerd\" for the file"
                    + " (line 3, column 10)",
                "threads.images.cuont: unknown key, did you mean \"count\"? (line 5, column 15)",
                "threads.mail.count: must be 1…1024, is 0 (line 6, column 20)",
                "threads.mail.maxQueued: must be a number, is a string (line 6, column 34)",
                "threads.mail: is given twice, first at line 6, column 5 (line 7, column 5)",
                "threads.\"a/b\": a name is 1…64 of the characters A-Z a-z 0-9 _ . -"
                    + " (line 8, column 5)",
                "log.level: must be one of \"debug\", \"info\", \"notice\", \"warning\", \"error\","
                    + " is \"verbose\" (line 10, column 17)",
                "log: is given twice, first at line 10, column 3 (line 10, column 30)",
                "colour: unknown key, known are \"users\", \"listen\", \"store\","
                    + " \"stateDirectory\", \"node\", \"backups\", \"threads\", \"selectors\","
                    + " \"schedules\", \"cgroup\", \"limits\", \"shutdown\", \"log\""
                    + " (line 11, column 3)",
            ])
    }

    @Test func `an error has one line for each fault, with the file's name, up to 100`() {
        let keys = (1...103).map { "k\($0): 1," }.joined(separator: "\n")
        let error = #expect(throws: ConfigurationError.self) { try configuration(configured(keys)) }
        let lines = error?.description.split(separator: "\n") ?? []
        #expect(error?.faults.count == 103)
        #expect(lines.count == 101)
        #expect(lines.first?.hasPrefix("w.json5: k1: unknown key, known are ") == true)
        #expect(lines.last == "w.json5: and 3 more faults")
    }

    @Test func `a text that is no JSON5 has the one fault`() {
        #expect(faults("{ listen: }") == ["line 1, column 11: expected a value, found \"}\""])
        #expect(faults("[]") == ["line 1, column 1: must be a section { … }, is a list"])
    }

    @Test func `what must be there is asked for with an example`() {
        #expect(
            sentences("{}") == [
                "listen: is missing: at least one door is needed,"
                    + " such as unix: \"/run/workerd/workerd.sock\"",
                "threads: is missing, such as threads: { images: {} }",
            ])
        #expect(
            sentences("{ listen: {}, threads: {} }") == [
                "listen.unix: is missing: at least one door is needed,"
                    + " such as unix: \"/run/workerd/workerd.sock\"",
                "threads: at least one thread is needed, such as threads: { images: {} }",
            ])
        #expect(
            sentences(configured("selectors: { z: {} }")) == [
                "selectors.z.program: is missing, such as program: [\"gzip\", \"-9c\"]"
            ])
    }

    @Test func `nothing of a file can break the lines of a log or flood it`() {
        let long = String(repeating: "k", count: 300)
        let paths = sentences(configured("'a\\nb\\u001b\\u202e': 1, \(long): 1")).map { sentence in
            sentence.split(separator: ": unknown key").first.map(String.init)
        }
        #expect(paths == [#""a\u{A}b\u{1B}\u{202E}""#, "\"\(long.prefix(64))…\""])
    }

    @Test(arguments: [
        ("cuont", "count"), ("count_", "count"), ("COUNT", "count"), ("maxqueued", "maxQueued"),
        ("maxQued", "maxQueued"), ("ocunt", "count"), ("whenful", "whenFull"),
    ])
    func `a slip of the pen is answered with the key that was meant`(slip: String, meant: String) {
        #expect(
            sentences(configured("", threads: "a: { '\(slip)': 1 }")) == [
                "threads.a.\(slip): unknown key, did you mean \"\(meant)\"?"
            ])
    }

    @Test func `each door has a path or an address of its own`() {
        let text = """
            {
              listen: {
                unix: "/tmp/w", tcp: "127.0.0.1:7711", passwordFile: "/etc/passwd",
                http: { unix: "/tmp/w", tcp: "127.0.0.1:7711" },
              },
              threads: { images: {} },
            }
            """
        let doors = faults(text).filter { $0.hasPrefix("listen.http: has") }
        #expect(
            doors == [
                "listen.http: has the path of listen.unix: give each door its own"
                    + " (line 4, column 11)",
                "listen.http: has the address of listen.tcp: give each door its own"
                    + " (line 4, column 11)",
            ])
    }

    @Test(arguments: ["x", "co", "threads", "priority"])
    func `a key that is near to none is answered with all of them`(key: String) {
        #expect(
            sentences(configured("", threads: "a: { \(key): 1 }")) == [
                "threads.a.\(key): unknown key, known are \"count\", \"slots\", \"maxQueued\", "
                    + "\"maxQueuedBytes\", \"whenFull\", \"whenStuck\", \"stuckAfter\""
            ])
        #expect(
            sentences(configured("", threads: "a: { whenStuck: 'kill', stuckAfter: '0s' }")) == [
                "threads.a.whenStuck: must be one of \"report\", \"replace\", is \"kill\"",
                "threads.a.stuckAfter: must be 1ms…24h, is \"0s\"",
            ])
    }

    @Test func `slots are for pools of nodes that share the threads`() {
        let pool = "a: { count: 2, slots: 2 }"
        let database = "store: 'postgresql:///jobs', stateDirectory: '/tmp',"
        let shares = "node: { sharesThreads: true },"
        #expect(sentences(configured(database + shares, threads: pool)) == [])
        #expect(
            sentences(configured(database, threads: pool)) == [
                "threads: a.slots is for nodes that share the threads: it needs node.sharesThreads"
            ])
        #expect(
            sentences(configured(database + shares, threads: "a: { slots: 2 }")) == [
                "threads: a.slots is for pools: it needs a count of at least 2"
            ])
        #expect(
            sentences(configured(database + shares, threads: "a: { count: 2, slots: 257 }")) == [
                "threads.a.slots: must be 1…256, is 257"
            ])
    }
}
