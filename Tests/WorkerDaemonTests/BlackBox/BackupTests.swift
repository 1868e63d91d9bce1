// Backups of a daemon that goes on serving, and what a fresh one finds in them.

import Glibc
import Kernel
import RESP
import Support
import Synchronization
import Testing

@Suite struct `A backup` {
    private static let setup: Setup = {
        var setup = Setup.durable
        setup.threads = "images: {}, mail: {}"
        return setup
    }()

    /// Starts a daemon on a backup, in a directory of its own.
    private func restored(
        _ path: String, _ body: (TestClient) throws -> Void
    ) throws {
        let scratch = try Scratch()
        try File.write(try File.read(path, atMost: 64 << 20), to: scratch.file("jobs.sqlite"))
        let daemon = try TestDaemon(Self.setup, in: scratch)
        defer { daemon.kill() }
        do {
            try body(try daemon.connect())
        } catch {
            Issue.record("\(error)\n--- the log of the restored one:\n\(daemon.log.suffix(4_000))")
        }
    }

    /// Hands in jobs that wait, of 4 KB each.
    private func fill(_ client: TestClient, _ count: Int) throws {
        _ = try client.call("PAUSE", "mail")
        let payload = CommandArgument.bytes([UInt8](repeating: UInt8(ascii: "x"), count: 4_096))
        let command = TestClient.bytes(["PERFORM", "mail", "echo", payload])
        try client.send([[UInt8]](repeating: command, count: count).flatMap { $0 })
        for _ in 0..<count { #expect(try client.reply().integer != nil) }
    }

    private func files(_ daemon: TestDaemon) throws -> [String] {
        guard daemon.scratch.has("backups") else { return [] }
        return try Directory.names(in: daemon.scratch.file("backups")).sorted()
    }

    @Test(.timeLimit(.minutes(2)))
    func `has each job whose number was given before the command came`() throws {
        try withDaemon(Self.setup) { daemon in
            let client = try daemon.connect()
            try fill(client, 1_000)
            // Others hand in jobs all the while, to what has been copied and to what has not.
            let (goesOn, socket) = (Flag(), try UnixAddress(daemon.socket))
            let latest = Mutex(0)
            defer { goesOn.clear() }
            let others = try ["mail", "images"].map { thread in
                try TestThread(name: thread) {
                    guard let client = try? TestClient(.unix(socket)) else { return }
                    while goesOn.isSet {
                        let delay: [CommandArgument] = ["DELAY", .integer(3_600_000)]
                        let command = ["PERFORM", .text(thread), "echo"] + delay + ["later"]
                        guard (try? client.send(TestClient.bytes(command))) != nil,
                            let id = try? client.reply().integer
                        else { return }
                        latest.withLock { $0 = max($0, id) }
                    }
                }
            }
            for number in 1...5 {
                let given = latest.withLock { $0 }
                let name = "number\(number)"
                let path = try client.call("BACKUP", .text(name)).text
                #expect(path == daemon.scratch.file("backups/\(name)"))
                try restored(try #require(path)) { restored in
                    var lost: [Int] = []
                    // Not all at once: the daemon stops reading from a client that reads nothing.
                    for first in stride(from: 1, through: max(given, 1_000), by: 1_000) {
                        let ids = first...min(first + 999, max(given, 1_000))
                        try restored.send(
                            ids.flatMap { TestClient.bytes(["JOB", .integer($0)]) })
                        for id in ids where try restored.reply()["id"] != .integer(id) {
                            lost.append(id)
                        }
                    }
                    #expect(lost == [])
                    #expect(try restored.call("THREAD", "mail")["state"]?.text == "paused")
                    // Numbers that were kept back are not given again.
                    #expect(try restored.perform("images", "echo", "x") > given)
                }
            }
            goesOn.clear()
            others.forEach { $0.join() }
            #expect(latest.withLock { $0 } > 1_000)
            #expect(try files(daemon) == (1...5).map { "number\($0)" })
            #expect(try client.figure("total_backups_made") == 5)
            #expect(try client.figure("last_backup_bytes") > 4_096_000)
            #expect(try client.figure("last_backup_at") > 0)
            #expect(try client.figure("backup_in_progress") == 0)
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `knows what had ended and what had begun when the command came`() throws {
        try withDaemon(Self.setup) { daemon in
            let client = try daemon.connect()
            let replies = try client.callTogether(
                ["PERFORM", "images", "echo", "WAIT", "done"], ["BACKUP", "early"])
            #expect(replies.first?.text == "done")
            _ = try client.perform("images", "sleep", "600000")
            try client.waitUntil(2, is: "running")
            let path = try #require(try client.call("BACKUP", "late").text)
            try restored(path) { restored in
                #expect(try restored.call("RESULT", 1).text == "done")
                try restored.waitUntil(2, is: "running")
                #expect(try restored.job(2, "attempt") == .integer(2))
                #expect(try restored.job(1, "attempt") == .integer(1))
            }
            try client.send("SHUTDOWN", "NOW")
            _ = try daemon.end()
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `takes the place of another only if it is told to`() throws {
        try withDaemon(Self.setup) { daemon in
            let client = try daemon.connect()
            let path = try #require(try client.call("BACKUP", "monday.sqlite").text)
            let mode = try File.mode(of: path)
            #expect(mode == 0o600)
            try fill(client, 10)
            let refusal = try client.call("BACKUP", "monday.sqlite")
            #expect(refusal.errorMessage?.hasPrefix("\(path) is there: give another") == true)
            #expect(try client.call("BACKUP", "monday.sqlite", "REPLACE").text == path)
            try restored(path) { client in
                let state = try client.job(10, "state").text
                #expect(state == "waiting")
            }
            // The files that SQLite keeps beside an open file would be taken for the new one's.
            try daemon.scratch.write("", to: "backups/monday.sqlite-wal")
            let inUse = try client.call("BACKUP", "monday.sqlite", "REPLACE").errorMessage
            #expect(inUse?.contains("monday.sqlite-wal is there: somebody has") == true)
            try Directory.create(daemon.scratch.file("backups/tuesday"))
            let refused = try client.call("BACKUP", "tuesday", "REPLACE").errorMessage
            #expect(refused?.contains("tuesday is no file: give another name") == true)
            #expect(
                try files(daemon) == ["monday.sqlite", "monday.sqlite-wal", "tuesday"])
            #expect(try client.figure("total_backups_failed") == 3)
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `takes the place of no file that is none`() throws {
        try withDaemon(Self.setup) { daemon in
            let client = try daemon.connect()
            try Directory.create(daemon.scratch.file("backups"))
            let other = String(repeating: "precious words ", count: 10)
            let empty = "SQLite format 3\0" + String(repeating: "\0", count: 84)
            for text in ["", "short", other, empty] {
                try daemon.scratch.write(text, to: "backups/a")
                let error = try client.call("BACKUP", "a", "REPLACE").errorMessage
                let said = "backups/a is no backup of workerd: give another name"
                #expect(error?.hasSuffix(said) == true)
                #expect(daemon.scratch.read("backups/a") == text)
            }
            try File.remove(daemon.scratch.file("backups/a"))
            for _ in 0..<2 {
                #expect(try client.call("BACKUP", "a", "REPLACE").text != nil)
            }
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `has a name and no path`() throws {
        try withDaemon(Self.setup) { daemon in
            let client = try daemon.connect()
            let long = CommandArgument.text(String(repeating: "n", count: 65))
            for name in ["../x", "/tmp/x", ".", "..", ".x", "-x", "", "a b", "a\nb", long] {
                let error = try client.call("BACKUP", name).errorMessage
                #expect(error?.hasPrefix("the name of a backup is") == true, "\(name)")
            }
            for end in ["-wal", "-shm", "-journal", "-attempts", ".partial"] {
                let error = try client.call("BACKUP", .text("a\(end)")).errorMessage
                #expect(error?.hasPrefix("a backup's name does not end with \(end)") == true)
            }
            #expect(try client.call("BACKUP", "a", "OVER").errorMessage?.contains("OVER") == true)
            #expect(try client.call("BACKUP").errorWord == "ERR")
            #expect(try files(daemon) == [])
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `of what is in memory is refused`() throws {
        try withDaemon(Setup(store: Setup.memory)) { daemon in
            let error = try daemon.connect().call("BACKUP", "a").errorMessage
            #expect(error?.contains("in memory only, so there is nothing to back up") == true)
            #expect(try files(daemon) == [])
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `may lie beside the store, and never in its place`() throws {
        var setup = Self.setup
        setup.more = "backups: \"$DIR\","
        try withDaemon(setup) { daemon in
            let client = try daemon.connect()
            let error = try client.call("BACKUP", "jobs.sqlite", "REPLACE").errorMessage
            // No message says to remove it.
            #expect(
                error == "\(daemon.scratch.file("jobs.sqlite")) is where the jobs are kept: "
                    + "give another name")
            #expect(try client.call("BACKUP", "a").text == daemon.scratch.file("a"))
            #expect(try client.perform("images", "echo", "x") == 1)
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `lies where the configuration says`() throws {
        let scratch = try Scratch()
        try Directory.create(scratch.file("elsewhere"))
        var setup = Self.setup
        setup.more = "backups: \"$DIR/elsewhere\","
        let daemon = try TestDaemon(setup, in: scratch)
        defer { daemon.kill() }
        let client = try daemon.connect()
        #expect(try client.call("BACKUP", "a").text == scratch.file("elsewhere/a"))
        #expect(!scratch.has("backups"))
        // A disk that is not mounted any more, say: it is not made anew in its mount point.
        try Directory.remove(atPathWithFiles: scratch.file("elsewhere"))
        let error = try client.call("BACKUP", "b").errorMessage
        #expect(error?.contains("No such file or directory") == true)
        #expect(error?.contains("\(scratch.file("elsewhere")) must be a directory") == true)
        #expect(try client.perform("images", "echo", "x") == 1)
    }

    @Test(.timeLimit(.minutes(2)))
    func `is made one at a time`() throws {
        try withDaemon(Self.setup) { daemon in
            let client = try daemon.connect()
            let replies = try client.callTogether(["BACKUP", "a"], ["BACKUP", "b"])
            #expect(replies[0].text == daemon.scratch.file("backups/a"))
            let path = daemon.scratch.file("backups/a")
            #expect(replies[1].errorWord == "BUSY")
            #expect(replies[1].errorMessage == "\(path) is being made: try again when it is there")
            #expect(try client.call("BACKUP", "b").text != nil)
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `on a disk that is full leaves nothing, and the daemon goes on`() throws {
        let scratch = try Scratch()
        let daemon = try TestDaemon(Self.setup, in: scratch)
        defer { daemon.kill() }
        let client = try daemon.connect()
        try fill(client, 1_000)
        try daemon.allowFiles(ofByteCount: 1 << 20)
        let error = try client.call("BACKUP", "a").errorMessage
        #expect(error?.hasPrefix("no backup was made: ") == true)
        #expect(error?.contains("backups/a.partial: it can't be read or written") == true)
        #expect(try files(daemon) == [])
        try daemon.allowFilesOfAnySize()
        #expect(try client.call("BACKUP", "a").text != nil)
        #expect(try client.call("RESUME", "mail").text == "OK")
        #expect(try client.call("RESULT", 1_000, "WAIT").bytes?.count == 4_096)
    }

    @Test(.timeLimit(.minutes(2)))
    func `that was broken off is removed by the next, and nothing else is`() throws {
        let scratch = try Scratch()
        try Directory.create(scratch.file("backups"))
        try scratch.write("precious", to: "victim")
        try #require(unsafe symlink(scratch.file("victim"), scratch.file("backups/c.partial")) == 0)
        // Another process is making this one.
        let other = try File.makeNew(scratch.file("backups/locked.partial"), mode: 0o600)
        var isLocked = other.lock()
        try #require(isLocked)
        // And this is no backup's.
        try scratch.write("a letter", to: "backups/a letter.partial")
        let first = try TestDaemon(Self.setup, in: scratch)
        defer { first.kill() }
        let client = try first.connect()
        try fill(client, 1_000)
        #expect(try client.call("BACKUP", "a").text != nil)
        #expect(scratch.read("victim") == "precious")
        #expect(try files(first) == ["a", "a letter.partial", "c.partial", "locked.partial"])
        try client.send("BACKUP", "b")
        try first.crash()
        let second = try TestDaemon(Self.setup, in: scratch, logName: "log2")
        defer { second.kill() }
        let again = try second.connect()
        #expect(try again.job(1_000, "state").text == "waiting")
        let made = try again.call("BACKUP", "b", "REPLACE")
        let path = try #require(made.text, "\(made)")
        #expect(try files(second) == ["a", "a letter.partial", "b", "c.partial", "locked.partial"])
        isLocked = other.lock()
        #expect(isLocked)
        try restored(path) { client in
            let state = try client.job(1_000, "state").text
            #expect(state == "waiting")
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `takes the name of one that was broken off before its first byte`() throws {
        let scratch = try Scratch()
        try Directory.create(scratch.file("backups"))
        let daemon = try TestDaemon(Self.setup, in: scratch)
        defer { daemon.kill() }
        let client = try daemon.connect()
        // As a daemon leaves it that is killed between the making and the first write.
        try scratch.write("", to: "backups/b.partial")
        #expect(try client.call("BACKUP", "b").text == scratch.file("backups/b"))
        #expect(try files(daemon) == ["b"])
        // One that is in use is another daemon's.
        let other = try File.makeNew(scratch.file("backups/c.partial"), mode: 0o600)
        let isLocked = other.lock()
        try #require(isLocked)
        let error = try client.call("BACKUP", "c").errorMessage
        #expect(error?.contains("c.partial is there and not workerd's, or in use") == true)
        #expect(try files(daemon) == ["b", "c.partial"])
    }

    @Test(.timeLimit(.minutes(2)))
    func `removes what a killed daemon has left, and no file of others`() throws {
        let scratch = try Scratch()
        try Directory.create(scratch.file("backups"))
        let daemon = try TestDaemon(Self.setup, in: scratch)
        defer { daemon.kill() }
        let client = try daemon.connect()
        try fill(client, 100)
        let path = try #require(try client.call("BACKUP", "a").text)
        let copy = try File.read(path, atMost: 64 << 20)
        // A part of a copy: ours, and another user's, which only root can make.
        try File.write(copy, to: scratch.file("backups/ours.partial"))
        try File.write(copy, to: scratch.file("backups/ours.partial-wal"))
        let others: [String: [UInt8]] = [
            "letter.partial": Array("a letter".utf8), "empty.partial": [],
            "download.partial": [UInt8](repeating: 7, count: 10_000),
            "other.partial": Array("SQLite format 3\0".utf8) + [UInt8](repeating: 0, count: 84),
        ]
        for (name, bytes) in others { try File.write(bytes, to: scratch.file("backups/\(name)")) }
        try #require(unsafe symlink(path, scratch.file("backups/link.partial")) == 0)
        var left = others.keys + ["a", "link.partial"]
        if geteuid() == 0 {
            try File.write(copy, to: scratch.file("backups/theirs.partial"))
            try #require(unsafe chown(scratch.file("backups/theirs.partial"), 12_345, 12_345) == 0)
            left.append("theirs.partial")
        }
        #expect(try client.call("BACKUP", "b").text != nil)
        #expect(try files(daemon) == (left + ["b"]).sorted())
        for (name, bytes) in others {
            #expect(try File.read(scratch.file("backups/\(name)"), atMost: 1 << 20) == bytes)
        }
        let refusal = try client.call("BACKUP", "letter").errorMessage
        let partial = scratch.file("backups/letter.partial")
        #expect(refusal?.contains("\(partial) is there and not workerd's") == true)
    }

    @Test(.timeLimit(.minutes(2)), arguments: ["DRAIN", "", "NOW"])
    func `is finished or given up when the daemon goes down, and its client told which`(
        manner: String
    ) throws {
        try withDaemon(Self.setup) { daemon in
            let client = try daemon.connect()
            try fill(client, 2_000)
            _ = try client.call("CANCEL", "mail", "echo")
            let words = ["SHUTDOWN", manner].filter { !$0.isEmpty }.map(CommandArgument.text)
            try client.send(TestClient.bytes(["BACKUP", "a"]) + TestClient.bytes(words))
            let reply = try #require(try client.repliesUntilClosed().first)
            #expect(try daemon.end() == "exit status 0")
            if reply.errorWord == "SHUTTINGDOWN" {
                #expect(manner != "DRAIN")
                #expect(try files(daemon) == [])
            } else {
                #expect(reply.text == daemon.scratch.file("backups/a"))
                #expect(try files(daemon) == ["a"])
            }
        }
    }
}

extension Directory {
    /// Removes a directory with the files in it.
    fileprivate static func remove(atPathWithFiles path: String) throws {
        for name in try names(in: path) { try File.remove("\(path)/\(name)") }
        try remove(path)
    }
}
