// That a configuration says what its file says: defaults, every key, limits, the sample.

internal import Support
import Testing
internal import WorkerDaemon

@Suite struct ConfigurationTests {
    @Test func `the sample has no fault and says what the guide shows`() throws {
        let bytes = try repositoryFile("Config/workerd.json5")
        let sample = try ConfigurationReader(files: .table).parse(
            bytes: bytes, fileName: "workerd.json5")

        #expect(sample.listen.unix == "/run/workerd/workerd.sock")
        #expect(sample.threads.map(\.name) == ["images", "mail", "ledger"])
        #expect(sample.threads.map(\.count) == [1, 4, 1])
        #expect(sample.selectors.map(\.name) == ["gzip", "shout"])
        let gzip = try #require(sample.selectors.first)
        #expect(gzip.program.arguments == ["gzip", "-n", "-9c"])
        #expect(gzip.timeout == .seconds(30))
        // The sample writes the defaults out: they must be the real ones.
        var defaults = Configuration()
        defaults.listen.unix = sample.listen.unix
        #expect(sample.listen == defaults.listen)
        #expect(sample.limits == defaults.limits)
        #expect(sample.controlGroups == defaults.controlGroups)
        #expect(sample.shutdown == defaults.shutdown)
        #expect(sample.log == defaults.log)
        #expect(sample.threads.map(\.maxQueued) == [1_000_000, 1_000_000, 1_000_000])
    }

    @Test func `the lines of the sample that are commented out can be used`() throws {
        let text = String(decoding: try repositoryFile("Config/workerd.json5"), as: UTF8.self)
        let examples = [
            "tcp:", "passwordFile:", "plaintext:", "tls:", "maxMemory:", "environment:", "retries:",
            "memoryLimit:", "jobArguments:", "jobEnvironment:", "http:", "node:",
        ]
        var used = text
        for example in examples {
            #expect(text.contains("// \(example)"))
            used = used.replacing("// \(example)", with: example)
        }
        let sample = try configuration(used)
        #expect(sample.listen.tcp?.description == "127.0.0.1:7711")
        #expect(sample.listen.tls?.key == "/etc/workerd/key.pem")
        #expect(sample.listen.http.unix == "/run/workerd/http.sock")
        #expect(sample.node.name == "jobs-1")
        #expect(sample.selectors.first?.maxMemoryBytes == 512 << 20)
        #expect(sample.selectors.first?.memoryLimit == .auto)
        #expect(sample.selectors.first?.jobArguments == ["--rsyncable": .flag])
        #expect(sample.selectors.first?.jobVariables == ["TZ"])
        #expect(sample.selectors.first?.retryCountMax == 3)
        #expect(sample.selectors.first?.environment == ["LANG": "C.UTF-8"])
    }

    @Test func `what is left out has its default`() throws {
        let least = try configuration("{listen:{unix:'/tmp/w'},threads:{a:{}},selectors:{}}")
        var expected = Configuration()
        expected.listen.unix = "/tmp/w"
        expected.threads = [.init(name: "a")]
        #expect(least == expected)
        #expect(least.listen.unixMode == 0o600)
        #expect(least.store == .automatic)
        #expect(least.threads.first?.maxQueued == 1_000_000)
        #expect(least.threads.first?.whenFull == .refuse)
        #expect(least.threads.first?.whenStuck == .report)
        #expect(least.threads.first?.stuckAfter == .seconds(5))
        #expect(least.limits.payloadBytes == 8_388_608)
        #expect(least.limits.outputBacklogBytes == 67_108_864)
        #expect(least.limits.retainedFor == .seconds(3600))
        #expect(least.shutdown.grace == .seconds(25))
        #expect(least.log.level == .info)

        let gzip = try configuration(configured("selectors: { z: { program: ['gzip'] } }"))
        #expect(gzip.selectors.first?.timeout == .seconds(60))
        #expect(gzip.selectors.first?.graceAfterTerm == .seconds(5))
        #expect(gzip.selectors.first?.maxOutputBytes == 8_388_608)
        #expect(gzip.selectors.first?.maxMemoryBytes == nil)
        #expect(gzip.selectors.first?.directory == nil)
    }

    @Test func `a store is memory, a file, or what the service manager provides`() throws {
        func store(_ text: String) throws -> Configuration.Store {
            try configuration(configured("store: \(text)")).store
        }
        #expect(try store("'memory'") == .memory)
        #expect(try store("'/tmp/jobs.sqlite'") == .file("/tmp/jobs.sqlite"))
        let address = "postgresql:///jobs?host=/tmp"
        #expect(try store("'\(address)'") == .database(address))
    }

    @Test func `the place of jobs depends on the directory that the service manager provides`() {
        let environment = ["STATE_DIRECTORY": "/var/lib/workerd:/var/lib/other"]
        func place(
            _ store: Configuration.Store, in environment: [String: String], state: String? = nil
        ) -> Configuration.StorePlace? {
            var configuration = Configuration()
            configuration.store = store
            configuration.stateDirectory = state
            return configuration.storePlace(in: environment)
        }
        #expect(place(.memory, in: environment) == .memory)
        #expect(place(.file("/tmp/j"), in: environment) == .file("/tmp/j"))
        #expect(place(.automatic, in: environment) == .file("/var/lib/workerd/jobs.sqlite"))
        #expect(place(.automatic, in: [:]) == .memory)
        #expect(place(.database("d"), in: [:]) == nil)
        let provided = Configuration.StorePlace.database("d", attempts: "/var/lib/workerd/attempts")
        #expect(place(.database("d"), in: environment) == provided)
        let own = Configuration.StorePlace.database("d", attempts: "/s/attempts")
        #expect(place(.database("d"), in: environment, state: "/s") == own)
    }

    private static var everyKeyOfTLS: Configuration.TLS {
        var tls = Configuration.TLS()
        tls.certificate = "/etc/passwd"
        tls.key = "$CREDENTIALS_DIRECTORY/key"
        tls.clients = "/etc/passwd"
        tls.requireClient = true
        return tls
    }

    @Test func `every key can be given`() throws {
        let all = try configuration(
            """
            {
              listen: { unix: "/run/workerd/workerd.sock", unixMode: "0660", tcp: "10.0.0.1:7711",
                        tls: { certificate: "/etc/passwd", clients: "/etc/passwd",
                               key: "$CREDENTIALS_DIRECTORY/key", requireClient: true },
                        passwordFile: "/etc/workerd/password",
                        http: { tcp: "10.0.0.1:7712", plaintext: true, unixMode: "0660",
                                unix: "/run/workerd/http.sock", names: ["Jobs.LAN"],
                                keyFile: "/etc/workerd/password" } },
              store: "memory",
              stateDirectory: "/var/lib/images", node: { name: "b", address: "10.0.0.5:7379" },
              threads: {
                images: { count: 3, maxQueued: 7, maxQueuedBytes: "8KB", whenFull: "refuse" } },
              selectors: {
                z: { program: ["/usr/bin/gzip", "-9c"], timeout: "none", graceAfterTerm: "250ms",
                     maxOutput: "1KB", maxMemory: "1GB", directory: "/var/lib/images",
                     environment: { LANG: "C", EMPTY: "" } },
              },
              limits: { payload: 10, connections: 11, outputBacklog: "12KB", pipeline: 13,
                        waitingJobs: 18, waitingBytes: "19KB",
                        retainedResults: 14, retainedBytes: "15MB", retainedFor: "16m" },
              shutdown: { grace: "17s" },
              log: { level: "warning" },
            }
            """)
        var expected = Configuration()
        expected.listen.unix = "/run/workerd/workerd.sock"
        expected.listen.unixMode = 0o660
        expected.listen.tcp = Configuration.Address("10.0.0.1:7711")
        expected.listen.tls = Self.everyKeyOfTLS
        expected.listen.passwordFile = "/etc/workerd/password"
        expected.listen.http.tcp = Configuration.Address("10.0.0.1:7712")
        expected.listen.http.plaintext = true
        expected.listen.http.unix = "/run/workerd/http.sock"
        expected.listen.http.unixMode = 0o660
        expected.listen.http.keyFile = "/etc/workerd/password"
        expected.listen.http.names = ["jobs.lan"]
        var images = Configuration.Thread(name: "images")
        images.count = 3
        images.maxQueued = 7
        images.maxQueuedBytes = 8 << 10
        expected.store = .memory
        expected.stateDirectory = "/var/lib/images"
        (expected.node.name, expected.node.address) = ("b", .init("10.0.0.5:7379"))
        expected.threads = [images]
        var selector = Configuration.Selector(name: "z")
        selector.program = .init(
            executable: "/usr/bin/gzip", arguments: ["/usr/bin/gzip", "-9c"])
        selector.timeout = nil
        selector.graceAfterTerm = .milliseconds(250)
        selector.maxOutputBytes = 1024
        selector.maxMemoryBytes = 1 << 30
        selector.directory = "/var/lib/images"
        selector.environment = ["LANG": "C", "EMPTY": ""]
        expected.selectors = [selector]
        expected.limits.payloadBytes = 10
        expected.limits.waitingJobs = 18
        expected.limits.waitingBytes = 19 << 10
        expected.limits.connections = 11
        expected.limits.outputBacklogBytes = 12 << 10
        expected.limits.pipeline = 13
        expected.limits.retainedResults = 14
        expected.limits.retainedBytes = 15 << 20
        expected.limits.retainedFor = .seconds(16 * 60)
        expected.shutdown.grace = .seconds(17)
        expected.log.level = .warning
        #expect(all == expected)
    }

    @Test func `a program without a slash is the first one in an absolute directory of PATH`()
        throws
    {
        let shout = try configuration(configured("selectors: { s: { program: ['tr', 'a'] } }"))
        #expect(shout.selectors.first?.program.executable == "/usr/bin/tr")
        #expect(shout.selectors.first?.program.arguments == ["tr", "a"])
    }

    /// Every number, size and duration at its least and its most.
    @Test(arguments: [
        configured("", threads: "a: { count: 1, maxQueued: 1 }"),
        configured("", threads: "a: { count: 1024, maxQueued: 10000000 }"),
        configured("", threads: "a:{count:1024},b:{count:1024},c:{count:1024},d:{count:1024}"),
        configured("", threads: String(repeating: "n", count: 64) + ": {}"),
        configured("", threads: "'-': {}, '.': {}, _: {}, 'a.b-C_9': {}"),
        configured("", listen: "unix: '/tmp/" + String(repeating: "s", count: 102) + "'"),
        configured("", listen: "unix: '/w', unixMode: '0000'"),
        configured("", listen: "unix: '/w', unixMode: '777'"),
        configured("", listen: "tcp: '127.255.255.255:65535', passwordFile: '/etc/passwd'"),
        configured(
            "", listen: "tcp: '127.0.0.0:1', plaintext: false, passwordFile: '/etc/passwd'"),
        configured(
            "limits: { payload: 1, connections: 1, outputBacklog: '1KB', pipeline: 1,"
                + "retainedResults: 0, retainedBytes: 0, retainedFor: '0ms' }"),
        configured(
            "limits: { payload: '512MB', connections: 1e5, outputBacklog: '16GB',"
                + "pipeline: 0xF4240, retainedResults: 10000000, retainedBytes: '1024GB',"
                + "retainedFor: '8760h' }"),
        configured(
            "selectors: { z: { program: ['gzip'], timeout: '1ms', graceAfterTerm: '0s',"
                + "maxOutput: 1, maxMemory: '1MB' } }"),
        configured(
            "selectors: { z: { program: ['gzip'], timeout: '24h', graceAfterTerm: '60m',"
                + "maxOutput: '1GB', maxMemory: '1024GB' } }"),
        configured("shutdown: { grace: '0ms' }"), configured("shutdown: { grace: '1440m' }"),
    ])
    func `the limits themselves are allowed`(text: String) {
        #expect(faults(text) == [])
    }

    @Test func `a program may have 1024 arguments and one may have 129,024 bytes`() throws {
        let arguments =
            ["gzip", String(repeating: "x", count: 129_024)]
            + [String](repeating: "y", count: 1022)
        let list = arguments.map { "'\($0)'" }.joined(separator: ",")
        let selectors = try configuration(configured("selectors: { z: { program: [\(list)] } }"))
            .selectors
        #expect(selectors.first?.program.arguments == arguments)
    }

    @Test func `a file is loaded by its path`() {
        let reader = ConfigurationReader(files: .table)
        let faulty = #expect(throws: ConfigurationError.self) {
            try reader.load(path: "/etc/workerd.json5")
        }
        #expect(
            faulty?.description == """
                /etc/workerd.json5: threads: is missing, such as threads: { images: {} } \
                (line 1, column 1)
                /etc/workerd.json5: listen: must be a section { … }, is a number (line 1, column 11)
                """)
        let missing = #expect(throws: ConfigurationError.self) {
            try reader.load(path: "/etc/nothing")
        }
        #expect(
            missing?.description == "/etc/nothing: cannot be read: No such file or directory")
        let endless = #expect(throws: ConfigurationError.self) {
            try reader.load(path: "/etc/endless")
        }
        #expect(
            endless?.description == "/etc/endless: line 1, column 1: the file has 1,048,577 bytes,"
                + " at most 1,048,576 are read")
    }

    @Test func `the unit gives running jobs the grace of the sample and programs theirs`() throws {
        let unit = String(decoding: try repositoryFile("Config/workerd.service"), as: UTF8.self)
        let line = try #require(
            unit.split(separator: "\n").first { $0.hasPrefix("TimeoutStopSec=") })
        let stop = try #require(
            Duration(configured: String(line.dropFirst("TimeoutStopSec=".count))))
        let needed =
            Configuration.Shutdown().grace + Configuration.Selector(name: "z").graceAfterTerm
        #expect(stop == needed + .seconds(5))
    }
}
