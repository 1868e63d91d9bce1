// Jobs of workers and of the daemon's own on one thread, mixed at random: never two at once, and in
// the order of their numbers. ROUNDS in the environment says how many jobs, SEED which.

import Glibc
import Kernel
import RESP
import Support
import Testing

private typealias Mixed = `Mixed jobs of one thread`

@Suite struct `Mixed jobs of one thread` {
    private static let jobCount = askedNumber("ROUNDS") ?? 150
    private static let seed = UInt64(askedNumber("SEED") ?? Int.random(in: 1...1_000_000))

    /// A line of the ledger, which has the beginnings and ends of all jobs in their order.
    private struct Line {
        let isBeginning: Bool
        let id: Int

        init?(_ text: Substring) {
            let words = text.split(separator: " ")
            guard words.count == 2, let id = Int(words[1]) else { return nil }
            self.id = id
            isBeginning = words[0] == "B"
        }
    }

    /// A worker that writes down its jobs.
    private final class Scribe {
        let worker: TestClient
        private let ledger: Descriptor
        private var job: Taken?
        private var isAsked = false

        init(_ worker: TestClient, ledger path: String) throws {
            self.worker = worker
            ledger = Descriptor(owning: unsafe open(path, O_WRONLY | O_APPEND | O_CLOEXEC))
        }

        private func note(_ word: String, _ id: Int) throws {
            try ledger.write(everything: Array("\(word) \(id)\n".utf8))
        }

        /// Goes one step on: asks for a job, begins it, or ends it in one of its ways.
        func step(_ random: inout SeededRandom) throws {
            if let job {
                try note("E", job.id)
                self.job = nil
                let end: [CommandArgument] = [.integer(job.id), .text(job.token)]
                switch random.below(10) {
                case 0:
                    let reply = try Mixed.call(worker, ["GIVEBACK"] + end + ["AFTER", 0])
                    #expect(reply.text == "OK")
                case 1, 2, 3:
                    #expect(try Mixed.call(worker, ["DONE"] + end + ["r"]).text == "OK")
                default:
                    try worker.send(
                        TestClient.bytes(
                            ["DONE"] + end + ["THEN", "TAKE", "WAIT", 1, "FROM", "resize", "r"]))
                    isAsked = true
                }
            } else if isAsked {
                let reply = try worker.reply()
                isAsked = false
                if reply == .null { return }
                let job = try Taken(reply)
                try note("B", job.id)
                self.job = job
            } else {
                try worker.send("TAKE", "WAIT", .integer(random.below(20)), "FROM", "resize")
                isAsked = true
            }
        }
    }

    fileprivate static func call(
        _ client: TestClient, _ command: [CommandArgument]
    ) throws -> RESPValue {
        try client.send(TestClient.bytes(command))
        return try client.reply()
    }

    @Test(.timeLimit(.minutes(2)), arguments: ["one: {}", "one: { count: 2 }"])
    func `never overlap, and keep their order`(threads: String) throws {
        var random = SeededRandom(seed: Self.seed)
        let isPool = threads.contains("count")
        var setup = Setup(threads: threads)
        setup.selectors = """
            resize: { worker: true },
            note: { program: ["sh", "-c",
              "echo B $WORKERD_JOB >> $DIR/ledger; echo E $WORKERD_JOB >> $DIR/ledger"] }
            """
        try withDaemon(setup) { daemon in
            let client = try daemon.connect()
            let path = daemon.scratch.file("ledger")
            try File.write([], to: path)
            let scribes = try (0..<3).map { _ in
                try Scribe(try daemon.connect(), ledger: path)
            }
            let key: [CommandArgument] = isPool ? ["KEY", "k"] : []
            var (given, remote, isPaused) = (0, [Int](), false)
            while given < Self.jobCount {
                switch random.below(20) {
                case 0...9:
                    // Runs of one kind, as a turn goes on with those.
                    let selector = random.chance(75) ? "resize" : "note"
                    for _ in 0...random.below(4) {
                        let reply = try Mixed.call(
                            client, ["PERFORM", "one", .text(selector)] + key + ["x"])
                        let id = try #require(reply.integer)
                        given += 1
                        if selector == "resize" { remote.append(id) }
                    }
                case 10:
                    isPaused.toggle()
                    #expect(try client.call(isPaused ? "PAUSE" : "RESUME", "one").text == "OK")
                case 11:
                    guard let id = remote.randomElement(using: &random) else { continue }
                    // Of one that has begun, the worker is not told, and ends it.
                    _ = try client.call("CANCEL", .integer(id))
                default:
                    let scribe = scribes[random.below(scribes.count)]
                    try scribe.step(&random)
                }
            }
            if isPaused { #expect(try client.call("RESUME", "one").text == "OK") }
            try eventually("all have ended (seed \(Self.seed))") {
                for scribe in scribes { try scribe.step(&random) }
                let counts = try ["waiting_jobs", "running_jobs"].map { try client.figure($0) }
                return counts == [0, 0]
            }
            try check(daemon.scratch.read("ledger"))
            #expect(try client.figure("total_stale_tokens") == 0)
        }
    }

    private func check(_ ledger: String) throws {
        var (running, last) = (Int?.none, 0)
        for (place, text) in ledger.split(separator: "\n").enumerated() {
            let line = try #require(Line(text), "\(text)")
            if line.isBeginning {
                // One that was given back begins again, and nothing in between.
                let fault = "line \(place), seed \(Self.seed)"
                try #require(running == nil, "\(line.id) began during \(running ?? 0), \(fault)")
                try #require(line.id >= last, "\(line.id) began after \(last), \(fault)")
                (running, last) = (line.id, line.id)
            } else {
                try #require(running == line.id, "\(line.id) ended, seed \(Self.seed)")
                running = nil
            }
        }
        #expect(last > 0)
    }
}
