// Cuts the power of a whole daemon while it accepts and runs durable jobs: each number that a
// client was given is a job that has run or runs after the next start.
//
// Each file comes back as its latest sync has left it, or as it was written; a power cut may keep
// any unsynced write. A few cuts; with FAULTS in the environment hundreds (Scripts/fault-test).

import Kernel
import RESP
import Support
import Testing

@Suite struct DaemonPowerCutTests {
    /// The last seed: each takes a second or so.
    private static let seedMax = 60
    /// The number of lives of one store: each ends with a power cut.
    private static let lifeCount = 4
    /// The number of submits that a life may see answered.
    private static let jobCountMax = 400

    @Test(.timeLimit(.minutes(60)))
    func `a power cut loses no job that was accepted`() throws {
        var cutCount = 0
        for seed in faultNumbers(orElse: [1]) {
            if seed > Self.seedMax { break }
            let scratch = try Scratch()
            do {
                try run(seed: UInt64(seed), scratch)
                cutCount += Self.lifeCount
            } catch {
                Issue.record("seed \(seed): \(error)\n\(scratch.read("log2"))")
            }
        }
        tellFaultCases(cutCount, "power cuts of a daemon")
    }

    private func run(seed: UInt64, _ scratch: Scratch) throws {
        var random = SeededRandom(seed: seed)
        var given: Set<Int> = []
        for life in 0..<Self.lifeCount {
            let synced = scratch.file("synced\(life)")
            let daemon = try TestDaemon(in: scratch, logName: "life\(life)", syncingTo: synced)
            defer { daemon.kill() }
            try submit(to: daemon, &given, &random)
            try cutPower(scratch, synced, &random)
        }
        let daemon = try TestDaemon(afterFaultsIn: scratch)
        defer { daemon.kill() }
        let client = try daemon.connect()
        _ = try client.call("RESUME", "images")
        let last = try client.perform("images", "note", "the last")
        #expect(given.insert(last).inserted, "seed \(seed): a number is given once")
        try eventually("seed \(seed): all of \(given.count) ran") {
            let lines = scratch.read("ledger").split(separator: "\n")
            return Set(lines.compactMap { Int($0.split(separator: " ")[1]) }).isSuperset(of: given)
        }
        #expect(daemon.log.contains("error") == false, "seed \(seed): \(daemon.log)")
    }

    /// Submits jobs by several clients until the daemon is killed, at any moment.
    private func submit(
        to daemon: TestDaemon, _ given: inout Set<Int>, _ random: inout SeededRandom
    ) throws {
        let clients = try (0..<3).map { _ in try daemon.connect() }
        // Some lives run their jobs, some only keep them.
        if random.chance(50) { _ = try clients[0].call("PAUSE", "images") }
        let count = 1 + random.below(Self.jobCountMax)
        var answered = 0
        while answered < count {
            let client = clients[random.below(clients.count)]
            let batch = 1 + random.below(20)
            for _ in 0..<batch {
                let payload = String(repeating: "p", count: random.below(2_000))
                try client.send("PERFORM", "images", "note", .text(payload))
            }
            // Later commands are not read: the daemon dies in the midst of them.
            if answered + batch >= count { break }
            for _ in 0..<batch { try note(try client.reply(), &given) }
            answered += batch
        }
        try daemon.crash()
        // Answers that were on their way count: a client may have read them.
        for client in clients {
            for reply in try client.repliesUntilClosed() { try note(reply, &given) }
        }
    }

    private func note(_ reply: RESPValue, _ given: inout Set<Int>) throws {
        guard let id = reply.integer else {
            throw Unexpected("a submit was answered \(reply)")
        }
        #expect(given.insert(id).inserted, "\(id) is given once")
    }

    /// Brings each file back as it was synced, or leaves it as it was written.
    private func cutPower(_ scratch: Scratch, _ synced: String, _ random: inout SeededRandom) throws
    {
        let files = try Directory.names(in: synced).filter { !$0.hasSuffix(".next") }
        #expect(files.contains("jobs.sqlite-wal"), "\(files)")
        // SQLite syncs the directory when it has removed a file.
        for file in files.sorted() where scratch.has(file) && random.chance(75) {
            let bytes = try File.read(Directory.path(of: file, in: synced), atMost: 64 << 20)
            try File.write(bytes, to: scratch.file(file))
        }
    }
}
