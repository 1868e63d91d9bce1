// Proves how schedules are configured, and that each fault is named by its path.

import Jobs
import Testing
import WorkerDaemon

@Suite struct `Configured schedules` {
    private func schedule(_ inside: String) -> String {
        configured(
            "schedules: { nightly: { \(inside) } }", threads: "ledger: {}, mail: { count: 2 }")
    }

    @Test func `have what is given, and defaults`() throws {
        let cron = try configuration(
            schedule(
                "cron: '30 3 * * *', thread: 'ledger', selector: 'close', payload: 'x', "
                    + "missed: 'all', priority: 'low', timeout: '5s', retries: 2"))
        let first = try #require(cron.schedules.first)
        #expect(first.name == "nightly" && first.cron?.text == "30 3 * * *" && first.every == nil)
        #expect(first.zone.name == "UTC" && first.missed == .all && first.priority == .low)
        #expect(first.timeout == .seconds(5) && first.retries == 2 && first.payload == "x")
        let every = try configuration(schedule("every: '10s', thread: 'mail/2', selector: 'echo'"))
        let second = try #require(every.schedules.first)
        #expect(second.every == .seconds(10) && second.cron == nil && second.missed == .once)
        #expect(second.timeout == nil && second.retries == nil && second.payload == "")
        #expect(try configuration(configured("")).schedules == [])
    }

    @Test(arguments: [
        ("", "schedules.nightly.cron: give either cron"),
        ("cron: '@daily', every: '1s', ", "schedules.nightly.cron: give either cron"),
        ("cron: '0 24 * * *', ", "schedules.nightly.cron: \"0 24 * * *\": hour field: '24' at"),
        ("cron: '0 0 31 NOV *', ", "never due"),
        ("every: '5ms', ", "schedules.nightly.every: must be 10ms…876000h, is \"5ms\""),
        ("every: 10, ", "schedules.nightly.every: must be a string such as \"30s\""),
        ("every: '1s', zone: 'UTC', ", "schedules.nightly.zone: is of no use without cron"),
        (
            "cron: '@daily', zone: 'Europe/Berln', ",
            "schedules.nightly.zone: there is no time zone 'Europe/Berln'"
        ),
        ("cron: '@daily', zone: '/etc/passwd', ", "schedules.nightly.zone: there is no time zone"),
        ("every: '1s', missed: 'never', ", "schedules.nightly.missed: must be one of"),
        ("every: '1s', overlap: 'two', ", "schedules.nightly.overlap: must be one of"),
        (
            "every: '1s', missed: 'all', overlap: 'one', ",
            "schedules.nightly.overlap: must be \"queue\" with missed: all makes a job for each"
        ),
        ("every: '1s', uniqueAgain: true, ", "schedules.nightly.uniqueAgain: is of no use without"),
        ("every: '1s', priority: 'urgent', ", "schedules.nightly.priority: must be"),
        ("every: '1s', crom: 1, ", "schedules.nightly.crom: unknown key, did you mean \"cron\"?"),
    ])
    func `are refused by path`(inside: String, sentence: String) {
        let found = sentences(schedule("\(inside) thread: 'ledger', selector: 'echo'"))
        #expect(found.contains { $0.contains(sentence) }, "\(found)")
    }

    @Test func `give arguments and variables that their selector allows`() throws {
        func text(_ inside: String, selector: String = "it") -> String {
            """
            {
              listen: { unix: '/tmp/w' }, threads: { ledger: {} },
              selectors: {
                it: {
                  program: ['tr', 'a', 'A'], jobArguments: { '--size': 'joined' },
                  jobEnvironment: ['A', 'B'],
                },
              },
              schedules: {
                s: { every: '1s', thread: 'ledger', selector: '\(selector)', \(inside) },
              },
            }
            """
        }
        let read = try configuration(
            text("arguments: ['--size=1', '--size=2'], environment: { B: '2', A: '1=1' }"))
        #expect(read.schedules.first?.arguments == ["--size=1", "--size=2"])
        #expect(read.schedules.first?.environment == ["A": "1=1", "B": "2"])
        let many = Array(repeating: "'--size=1'", count: 17).joined(separator: ", ")
        for (inside, sentence) in [
            ("arguments: '--size=1'", "arguments: must be a list such as [\"--size=40\"]"),
            ("arguments: [1]", "arguments[0]: must be a string such as \"--size=40\""),
            ("arguments: ['-x']", "arguments: selector 'it' lets jobs set no argument '-x'"),
            ("arguments: [\(many)]", "arguments: has at most 16 words of 1024 bytes together"),
            ("environment: { C: '' }", "environment: selector 'it' lets jobs set no variable 'C'"),
        ] {
            let found = sentences(text(inside))
            #expect(found.contains { $0.hasPrefix("schedules.s.\(sentence)") }, "\(found)")
        }
    }

    // The selectors of workerd are all known when its configuration is read.
    @Test func `are for a selector that is there, told beside other faults`() {
        let text = """
            {
              listen: { unix: '/tmp/w' }, threads: { a: {} },
              selectors: { shout: { program: ['tr', 'a', 'A'] } },
              schedules: {
                one: { every: '1s', thread: 'a', selector: 'shuot' },
                two: { every: '1ms', thread: 'b', selector: 'nothing' },
                three: { every: '1s', thread: 'a', selector: 'shout' },
                four: { every: '1s', thread: 'a', selector: 'echo' },
              },
            }
            """
        let reader = ConfigurationReader(files: .table, builtInSelectors: ["echo"])
        let error = #expect(throws: ConfigurationError.self) {
            try reader.parse(text: text, fileName: "w.json5")
        }
        #expect(
            error?.description == """
                w.json5: schedules.one.selector: there is no selector "shuot", \
                did you mean "shout"? (line 5, column 48)
                w.json5: schedules.two.every: must be 10ms…876000h, is "1ms" (line 6, column 19)
                w.json5: schedules.two.thread: there is no thread "b" under threads \
                (line 6, column 34)
                w.json5: schedules.two.selector: there is no selector "nothing" (line 6, column 49)
                """)
    }

    @Test func `have a payload of a file, and what else a job has`() throws {
        let found = try configuration(
            schedule(
                "every: '1s', thread: 'ledger', selector: 'echo', "
                    + "payloadFile: '/etc/workerd/empty', "
                    + "key: 'alice', label: 'l', retry: 'block', retries: 1"))
        let first = try #require(found.schedules.first)
        #expect(first.payloadFile == Array("\r\nsecond line\n".utf8))
        #expect(first.key == "alice" && first.label == "l" && first.retry == .block)
        let more = "every: '1s', thread: 'ledger', selector: 'echo', payloadFile: "
        #expect(
            sentences(schedule("\(more) '/etc/endless'")) == [
                "schedules.nightly.payloadFile: \"/etc/endless\" has more than 65536 bytes"
            ])
        #expect(
            sentences(schedule("\(more) '/etc/none'")) == [
                "schedules.nightly.payloadFile: \"/etc/none\" cannot be read: "
                    + "No such file or directory"
            ])
        #expect(
            sentences(schedule("\(more) '/etc/workerd/empty', payload: 'x'")) == [
                "schedules.nightly.payloadFile: give either payload or payloadFile"
            ])
    }

    @Test func `are for a thread that is there`() {
        #expect(
            sentences(schedule("every: '1s', thread: 'mail/3', selector: 'echo'")) == [
                "schedules.nightly.thread: there is no thread \"mail/3\" under threads"
            ])
        let missing = sentences(schedule("every: '1s'"))
        #expect(missing.count == 2 && missing.allSatisfy { $0.contains("is missing") })
    }
}
