// The files beside the store: what another store, or another person, has put in their places is
// neither believed nor written over.

import Glibc
import Jobs
import Kernel
import RESP
import Support
import Testing
import WorkerDaemon

@Suite struct `The files of a store` {
    /// Starts a daemon again, on what was put in the place of its files.
    private func restarted(
        _ scratch: Scratch, logName: String, _ body: (TestDaemon, TestClient) throws -> Void
    ) throws {
        let daemon = try TestDaemon(.durable, in: scratch, logName: logName)
        defer { daemon.kill() }
        do {
            try body(daemon, try daemon.connect())
        } catch {
            Issue.record("\(error)\n--- the log:\n\(daemon.log.suffix(4_000))")
        }
    }

    /// How a daemon ends that refuses its files.
    private func refusal(_ scratch: Scratch) throws -> (status: String, log: String) {
        let daemon = try TestDaemon(
            arguments: ["--config", scratch.file("workerd.json5")], in: scratch, logName: "refusal")
        defer { daemon.kill() }
        return (try daemon.end(), daemon.log)
    }

    private func bytes(_ name: String, of scratch: Scratch) throws -> [UInt8] {
        try File.read(scratch.file(name), atMost: 64 << 20)
    }

    /// A store in which 20 jobs wait, as BACKUP copies it.
    private func backupOfWaitingJobs() throws -> [UInt8] {
        let scratch = try Scratch()
        let daemon = try TestDaemon(.durable, in: scratch)
        defer { daemon.kill() }
        let client = try daemon.connect()
        _ = try client.call("PAUSE", "images")
        for id in 1...20 { #expect(try client.perform("images", "echo", "mine") == id) }
        #expect(try client.call("BACKUP", "a").text != nil)
        return try bytes("backups/a", of: scratch)
    }

    /// Runs jobs 1 to 20 and crashes.
    private func crashAfterJobs(_ scratch: Scratch) throws {
        let daemon = try TestDaemon(.durable, in: scratch)
        defer { daemon.kill() }
        let client = try daemon.connect()
        for _ in 1...20 {
            #expect(
                try client.call("PERFORM", "images", "echo", "WAIT", "foreign").text == "foreign")
        }
        try daemon.crash()
    }

    @Test(.timeLimit(.minutes(2)))
    func `another store's attempts are set aside, and its jobs run`() throws {
        let scratch = try Scratch()
        let copy = try backupOfWaitingJobs()
        try crashAfterJobs(scratch)
        let foreign = try bytes("jobs.sqlite-attempts", of: scratch)
        try File.remove(scratch.file("jobs.sqlite-wal"))
        try File.write(copy, to: scratch.file("jobs.sqlite"))
        try scratch.write("precious", to: "jobs.sqlite-attempts.foreign-1")
        try restarted(scratch, logName: "log2") { daemon, client in
            _ = try client.call("RESUME", "images")
            var results: [String: Int] = [:]
            for id in 1...20 {
                results[
                    try client.call("RESULT", .integer(id), "WAIT").text ?? "none", default: 0] += 1
                #expect(try client.job(id, "attempt") == .integer(1))
            }
            #expect(results == ["mine": 20])
            let line = daemon.log.split(separator: "\n").first {
                $0.contains("-attempts.foreign-2")
            }
            #expect(line?.contains("warning") == true, "\(daemon.log)")
            #expect(line?.contains("of another store") == true, "\(daemon.log)")
        }
        #expect(scratch.read("jobs.sqlite-attempts.foreign-1") == "precious")
        #expect(try bytes("jobs.sqlite-attempts.foreign-2", of: scratch) == foreign)
    }

    @Test(.timeLimit(.minutes(2)))
    func `attempts of later than an older copy of the same store are set aside`() throws {
        let scratch = try Scratch()
        var copies: [String: [UInt8]] = [:]
        do {
            let daemon = try TestDaemon(.durable, in: scratch)
            defer { daemon.kill() }
            let client = try daemon.connect()
            _ = try client.call("PAUSE", "images")
            #expect(try client.perform("images", "echo", "x") == 1)
            try daemon.crash()
        }
        for name in ["jobs.sqlite", "jobs.sqlite-wal"] {
            copies[name] = try bytes(name, of: scratch)
        }
        do {
            let daemon = try TestDaemon(.durable, in: scratch, logName: "log2")
            defer { daemon.kill() }
            let client = try daemon.connect()
            _ = try client.call("RESUME", "images")
            #expect(try client.call("RESULT", 1, "WAIT").text == "x")
            try daemon.crash()
        }
        for (name, bytes) in copies { try File.write(bytes, to: scratch.file(name)) }
        try restarted(scratch, logName: "log3") { daemon, client in
            #expect(try client.job(1, "state").text == "waiting")
            _ = try client.call("RESUME", "images")
            #expect(try client.call("RESULT", 1, "WAIT").text == "x")
            #expect(daemon.log.contains("-attempts.foreign-1"))
        }
        // An orderly end leaves none, and so nothing to be said.
        try restarted(scratch, logName: "log4") { daemon, client in
            let reply = try client.call("RESULT", 1)
            #expect(reply.text == "x")
            #expect(!daemon.log.contains("foreign"))
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `attempts that the store learnt before a crash of its start are not told again`() throws {
        let scratch = try Scratch()
        try crashAfterJobs(scratch)
        let learnt = try bytes("jobs.sqlite-attempts", of: scratch)
        do {
            let daemon = try TestDaemon(.durable, in: scratch, logName: "log2")
            defer { daemon.kill() }
            try daemon.crash()
        }
        // As if that start had ended between the store's commit and the new file.
        try File.write(learnt, to: scratch.file("jobs.sqlite-attempts"))
        var id = 0
        try restarted(scratch, logName: "log3") { daemon, client in
            #expect(try client.call("RESULT", 20).text == "foreign")
            #expect(!daemon.log.contains("foreign-1"))
            #expect(!scratch.has("jobs.sqlite-attempts.foreign-1"))
            id = try #require(client.call("PERFORM", "images", "sleep", "600000").integer)
            // A thread is shown as busy once the beginning is noted, a moment after the job is.
            try eventually("its thread is busy") {
                try client.call("THREADS").elements?.first?["state"]?.text == "running"
            }
            try daemon.crash()
        }
        // Later notes are not lost.
        try restarted(scratch, logName: "log4") { daemon, client in
            #expect(!daemon.log.contains("foreign-1"))
            try client.waitUntil(id, is: "running")
            #expect(try client.job(id, "attempt") == .integer(2))
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `a link, or a file of another kind, in the place of the attempts is refused untouched`()
        throws
    {
        let scratch = try Scratch()
        try scratch.write(Setup.durable.text(directory: scratch.path), to: "workerd.json5")
        let path = scratch.file("jobs.sqlite-attempts")
        try scratch.write("precious", to: "victim")
        func expectRefusal(_ what: String) throws {
            let end = try refusal(scratch)
            #expect(end.status == "exit status 78", "\(what)")
            #expect(end.log.contains("\(path): it is \(what)"), "\(end.log)")
            #expect(end.log.contains("move it away"), "\(end.log)")
        }
        try #require(unsafe symlink(scratch.file("victim"), path) == 0)
        try expectRefusal("a symbolic link")
        #expect(scratch.read("victim") == "precious")
        try File.remove(path)
        try Directory.create(path)
        try expectRefusal("no regular file")
        try Directory.remove(path)
        try #require(unsafe mkfifo(path, 0o600) == 0)
        try expectRefusal("no regular file")
        try File.remove(path)
        for text in ["a letter", String(repeating: "precious", count: 1 << 18)] {
            try scratch.write(text, to: "jobs.sqlite-attempts")
            try expectRefusal("a file of another program")
            #expect(scratch.read("jobs.sqlite-attempts") == text)
        }
        try scratch.write("", to: "jobs.sqlite-attempts")
        try restarted(scratch, logName: "log") { _, client in
            let reply = try client.call("PERFORM", "images", "echo", "WAIT", "x")
            #expect(reply.text == "x")
        }
    }

    @Test(.timeLimit(.minutes(2)), arguments: [true, false])
    func `a log without its store is refused untouched, with a word on what to do`(isEmpty: Bool)
        throws
    {
        let scratch = try Scratch()
        try crashAfterJobs(scratch)
        let store = try bytes("jobs.sqlite", of: scratch)
        let names = ["jobs.sqlite-wal", "jobs.sqlite-attempts"]
        let before = try names.map { try bytes($0, of: scratch) }
        try File.remove(scratch.file("jobs.sqlite"))
        if isEmpty { try scratch.write("", to: "jobs.sqlite") }
        let end = try refusal(scratch)
        #expect(end.status == "exit status 78")
        let log = scratch.file("jobs.sqlite-wal")
        #expect(
            end.log.contains("jobs.sqlite: it is missing or empty, but its log \(log)"),
            "\(end.log)")
        #expect(try names.map { try bytes($0, of: scratch) } == before)
        #expect(scratch.has("jobs.sqlite") == isEmpty)
        #expect(scratch.read("jobs.sqlite") == "")
        try File.write(store, to: scratch.file("jobs.sqlite"))
        try restarted(scratch, logName: "log2") { _, client in
            let reply = try client.call("RESULT", 20)
            #expect(reply.text == "foreign")
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `a damaged store beside its log is refused, and nothing is written into it`() throws {
        let scratch = try Scratch()
        do {
            let daemon = try TestDaemon(.durable, in: scratch)
            defer { daemon.kill() }
            let client = try daemon.connect()
            _ = try client.call("PAUSE", "images")
            let payload = CommandArgument.bytes([UInt8](repeating: 7, count: 100_000))
            for _ in 1...60 { #expect(try client.perform("images", "echo", payload) > 0) }
            try daemon.crash()
        }
        var damaged = try bytes("jobs.sqlite", of: scratch)
        try #require(damaged.count > 1 << 20)
        for place in 4_096..<damaged.count { damaged[place] = 0xA5 }
        try File.write(damaged, to: scratch.file("jobs.sqlite"))
        let log = try bytes("jobs.sqlite-wal", of: scratch)
        let end = try refusal(scratch)
        #expect(end.status == "exit status 78", "\(end.log)")
        #expect(end.log.contains("it is damaged"), "\(end.log)")
        #expect(try bytes("jobs.sqlite", of: scratch) == damaged)
        #expect(try bytes("jobs.sqlite-wal", of: scratch) == log)
    }

    @Test(.timeLimit(.minutes(2)))
    func `a damaged log is copied before it is written over, and the log says so`() throws {
        let scratch = try Scratch()
        try crashAfterJobs(scratch)
        var damaged = try bytes("jobs.sqlite-wal", of: scratch)
        damaged[damaged.count / 2] ^= 1
        try File.write(damaged, to: scratch.file("jobs.sqlite-wal"))
        try restarted(scratch, logName: "log2") { daemon, client in
            #expect(daemon.log.contains("error: "))
            #expect(daemon.log.contains("jobs.sqlite-wal.damaged-1"))
            #expect(try client.call("PERFORM", "images", "echo", "WAIT", "x").text == "x")
            #expect(try bytes("jobs.sqlite-wal.damaged-1", of: scratch) == damaged)
            try daemon.crash()
        }
        try restarted(scratch, logName: "log3") { daemon, _ in
            #expect(!daemon.log.contains("damaged"))
        }
    }
}
