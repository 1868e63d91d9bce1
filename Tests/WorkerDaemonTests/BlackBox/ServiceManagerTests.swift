// Messages to the service manager.

import Glibc
import Kernel
import PostgreSQLServer
import RESP
import Support
import Testing

@Suite struct `The service manager` {
    /// The socket of one, which takes messages.
    private final class Manager {
        private let descriptor: CInt

        init(at path: String) throws {
            descriptor = socket(AF_UNIX, CInt(SOCK_DGRAM.rawValue), 0)
            var address = sockaddr_un()
            address.sun_family = sa_family_t(AF_UNIX)
            unsafe withUnsafeMutableBytes(of: &address.sun_path) {
                unsafe $0.copyBytes(from: path.utf8)
            }
            let result = unsafe withUnsafePointer(to: &address) {
                unsafe $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    unsafe bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
                }
            }
            guard result == 0 else { throw Unexpected("bind: \(errno)") }
        }

        deinit { close(descriptor) }

        /// The next message.
        func message() throws -> String {
            try waitUntilReady(descriptor)
            var bytes = [UInt8](repeating: 0, count: 4_096)
            let count = unsafe recv(descriptor, &bytes, bytes.count, 0)
            return String(decoding: bytes.prefix(max(0, count)), as: UTF8.self)
        }

        /// Takes the messages that have come so far.
        func drain() throws {
            while isReady(descriptor, within: 0) { _ = try message() }
        }

        var isSilent: Bool { !isReady(descriptor, within: 100) }
    }

    private func start(
        _ setup: Setup, _ scratch: Scratch, watchdog: [String: String] = [:]
    ) throws -> TestDaemon {
        try scratch.write(setup.text(directory: scratch.path), to: "workerd.json5")
        let environment = ["NOTIFY_SOCKET": scratch.file("notify")].merging(watchdog) { $1 }
        return try TestDaemon(
            arguments: ["--config", scratch.file("workerd.json5")], in: scratch,
            environment: environment)
    }

    @Test(
        .timeLimit(.minutes(2)),
        .enabled(if: PostgreSQLServer.isInstalled, .init(rawValue: PostgreSQLServer.excuse)))
    func `hears that a node is ready which passes its clients on`() throws {
        let database = try PostgreSQLServer.shared.get().makeDatabase()
        let first = try TestNode("a", in: database)
        defer { first.daemon.kill() }
        try first.daemon.waitUntilListening()
        let scratch = try Scratch()
        let manager = try Manager(at: scratch.file("notify"))
        let second = try TestNode(
            "b", in: database,
            environment: ["NOTIFY_SOCKET": scratch.file("notify"), "WATCHDOG_USEC": "2000000"])
        defer { second.daemon.kill() }
        var seen: Set<String> = []
        let (ready, alive) = (
            "READY=1\nSTATUS=passes its clients on to the daemon that has the store", "WATCHDOG=1"
        )
        while !seen.isSuperset(of: [ready, alive]) { seen.insert(try manager.message()) }
        // It is alive as long as it waits, without asking for more time to start.
        try manager.drain()
        #expect(try manager.message() == alive)
        try first.daemon.send(.kill)
        while try manager.message() != "READY=1\nSTATUS=serving 1 worker thread" {}
    }

    @Test(.timeLimit(.minutes(2)))
    func `hears when clients may come, and how long the end may take`() throws {
        let scratch = try Scratch()
        let manager = try Manager(at: scratch.file("notify"))
        var setup = Setup(threads: "images: {}, mail: { count: 2 }")
        setup.shutdown = "grace: \"90s\""
        setup.selectors =
            "variables: { program: [\"env\"] }, "
            + "slow: { program: [\"true\"], graceAfterTerm: \"20s\" },"
        let daemon = try start(setup, scratch)
        defer { daemon.kill() }
        #expect(try manager.message() == "READY=1\nSTATUS=serving 3 worker threads")
        let client = try daemon.connect()
        let variables = try client.call("PERFORM", "images", "variables", "WAIT", "").text ?? ""
        #expect(variables.contains("WORKERD_JOB=1\n"))
        #expect(!variables.contains("NOTIFY_SOCKET"))
        try daemon.send(.terminate)
        #expect(
            try manager.message()
                == "STOPPING=1\nEXTEND_TIMEOUT_USEC=115000000\nSTATUS=going down")
        #expect(try daemon.end() == "exit status 0")
    }

    @Test(.timeLimit(.minutes(2)))
    func `hears when a reload begins and when all of it is applied`() throws {
        let scratch = try Scratch()
        let manager = try Manager(at: scratch.file("notify"))
        let daemon = try start(Setup(), scratch)
        defer { daemon.kill() }
        #expect(try manager.message() == "READY=1\nSTATUS=serving 1 worker thread")
        let client = try daemon.connect()
        // Nothing is applied.
        #expect(try client.call("RELOAD", "DRY").errorWord == nil)
        let before = SystemClock().now().nanoseconds / 1_000
        #expect(try client.call("RELOAD").errorWord == nil)
        let begun = try manager.message()
        let match = begun.wholeMatch(of: /RELOADING=1\nMONOTONIC_USEC=([0-9]+)/)
        let moment = try #require(match.flatMap { Int64($0.1) }, "\(begun)")
        #expect(moment >= before && moment <= SystemClock().now().nanoseconds / 1_000)
        #expect(try manager.message() == "READY=1\nSTATUS=serving 1 worker thread")
        try daemon.scratch.write("{", to: "workerd.json5")
        #expect(try client.call("RELOAD").errorWord == "ERR")
        #expect(manager.isSilent)
    }

    @Test(.timeLimit(.minutes(2)))
    func `is not told of an end that may take hours, until it is asked for`() throws {
        let scratch = try Scratch()
        let manager = try Manager(at: scratch.file("notify"))
        let daemon = try start(Setup(), scratch)
        defer { daemon.kill() }
        #expect(try manager.message().hasPrefix("READY=1\n"))
        let client = try daemon.connect()
        let id = try client.perform("images", "sleep", 3_600_000)
        try client.waitUntil(id, is: "running")
        try client.send("SHUTDOWN", "DRAIN")
        #expect(
            try manager.message() == "STATUS=going down when all waiting jobs are done")
        try daemon.send(.terminate)
        #expect(try manager.message().hasPrefix("STOPPING=1\n"))
    }

    @Test(.timeLimit(.minutes(2)), arguments: [true, false])
    func `hears that the daemon is alive, if it wants to`(_ wants: Bool) throws {
        let scratch = try Scratch()
        let manager = try Manager(at: scratch.file("notify"))
        var watchdog = ["WATCHDOG_USEC": "20000"]
        // Of another process.
        if !wants { watchdog["WATCHDOG_PID"] = "1" }
        let daemon = try start(Setup(), scratch, watchdog: watchdog)
        defer { daemon.kill() }
        var messages: [String] = []
        try eventually("it is ready") {
            messages.append(try manager.message())
            return messages.last?.hasPrefix("READY=1\n") == true
        }
        if wants {
            for _ in 0..<3 { #expect(try manager.message() == "WATCHDOG=1") }
        } else {
            #expect(messages.count == 1)
            #expect(manager.isSilent)
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `hears that the daemon is alive, also while its disk is full`() throws {
        let scratch = try Scratch()
        let manager = try Manager(at: scratch.file("notify"))
        let daemon = try start(.durable, scratch, watchdog: ["WATCHDOG_USEC": "20000"])
        defer { daemon.kill() }
        try daemon.waitUntilListening()
        let client = try daemon.connect()
        try daemon.allowFiles(ofByteCount: 4_096)
        let payload = String(repeating: "x", count: 65_536)
        let refused = try client.call("PERFORM", "images", "echo", .text(payload))
        #expect(refused.errorWord == "BUSY")
        try manager.drain()
        for _ in 0..<5 { #expect(try manager.message() == "WATCHDOG=1") }
        try daemon.allowFilesOfAnySize()
        #expect(try client.call("PING").text == "PONG")
    }
}
