// Late, repeated, foreign and made-up tokens at random, between the right ones: a wrong one changes
// nothing, and is counted. ROUNDS in the environment says how many, SEED which.

import Kernel
import RESP
import Support
import Testing

@Suite struct `Tokens of workers` {
    private static let roundCount = askedNumber("ROUNDS") ?? 600
    private static let seed = UInt64(askedNumber("SEED") ?? Int.random(in: 1...1_000_000))

    /// A way to end an attempt, or to report its progress.
    private enum Word: CaseIterable {
        case done, fail, giveBack, report

        func command(_ id: CommandArgument, _ token: CommandArgument, _ variant: Int)
            -> [CommandArgument]
        {
            switch self {
            case .done: ["DONE", id, token, .text("r\(variant)")]
            case .fail: ["FAIL", id, token, "FINAL", .text("r\(variant)")]
            case .giveBack: ["GIVEBACK", id, token, "AFTER", .integer(variant)]
            case .report: ["REPORT", id, token, .integer(variant), "x"]
            }
        }
    }

    /// A delivery, and how its worker has ended it.
    private struct Delivery {
        let id: Int
        let token: String
        var end: (word: Word, variant: Int)?
    }

    /// The clients, and what they know.
    private struct Game {
        var random = SeededRandom(seed: seed)
        let client: TestClient
        let workers: [TestClient]
        var deliveries: [Delivery] = []
        /// The results of jobs that have ended.
        var results: [Int: (word: Word, variant: Int)] = [:]
        var staleCount = 0

        var live: [Int] { deliveries.indices.filter { deliveries[$0].end == nil } }
        var over: [Int] { deliveries.indices.filter { deliveries[$0].end != nil } }

        mutating func call(_ command: [CommandArgument]) throws -> RESPValue {
            let worker = workers[random.below(workers.count)]
            try worker.send(TestClient.bytes(command))
            return try worker.reply()
        }

        /// A token that no delivery has.
        mutating func madeUp() -> CommandArgument {
            let real = deliveries.randomElement(using: &random)?.token ?? ""
            switch random.below(8) {
            case 0: return ""
            case 1: return .bytes(random.bytes(32))
            case 2: return .text(real.uppercased() == real ? "x" : real.uppercased())
            case 3: return .text(String(real.dropLast()))
            case 4: return .text(real + "0")
            case 5: return .text(" " + real)
            case 6: return .bytes(random.bytes(random.below(5_000)))
            default:
                let digits = (0..<32).map { _ in String(random.below(16), radix: 16) }
                return .text(digits.joined())
            }
        }

        /// Sends a command with a token that does not count.
        mutating func refuse(
            _ word: Word, _ id: CommandArgument, _ token: CommandArgument
        ) throws {
            var command = word.command(id, token, 1_000 + random.below(50))
            if word == .report { command[3] = 7 }
            if word == .done, random.chance(50) {
                command.insert(contentsOf: ["THEN", "TAKE", "FROM", "resize"], at: 3)
            }
            let reply = try call(command)
            try #require(reply.errorWord == "STALE", "\(command): \(reply), seed \(seed)")
            staleCount += 1
        }

        mutating func take() throws {
            let reply = try call(["TAKE", "FROM", "resize"])
            if reply != .null { try note(reply) }
        }

        mutating func note(_ reply: RESPValue) throws {
            let job = try Taken(reply)
            let isHeld = live.contains { deliveries[$0].id == job.id }
            try #require(!isHeld && results[job.id] == nil, "job \(job.id) twice, seed \(seed)")
            deliveries.append(Delivery(id: job.id, token: job.token))
        }

        /// Ends a delivery with its own token.
        mutating func end(_ index: Int) throws {
            let (delivery, variant) = (deliveries[index], random.below(50))
            let word = Word.allCases[random.below(4)]
            let reply = try call(
                word.command(.integer(delivery.id), .text(delivery.token), variant))
            if word == .report { return #expect(reply.text == "go") }
            try #require(reply.text == "OK", "\(word): \(reply), seed \(seed)")
            deliveries[index].end = (word, variant)
            if word != .giveBack { results[delivery.id] = (word, variant) }
        }

        /// Says an end again, or another one under the same token.
        mutating func endAgain(_ index: Int) throws {
            let delivery = deliveries[index]
            guard let end = delivery.end else { return }
            let (id, token) = (CommandArgument.integer(delivery.id), delivery.token)
            if random.chance(50) {
                let reply = try call(end.word.command(id, .text(token), end.variant))
                try #require(reply.text == "OK", "again: \(reply), seed \(seed)")
            } else {
                try refuse(Word.allCases[random.below(4)], id, .text(token))
            }
        }

        mutating func step() throws {
            let word = Word.allCases[random.below(4)]
            switch random.below(12) {
            case 0, 1: _ = try call(["PERFORM", random.chance(50) ? "one" : "pool", "resize", "x"])
            case 2, 3, 4: try take()
            case 5, 6: if let index = live.randomElement(using: &random) { try end(index) }
            case 7, 8: if let index = over.randomElement(using: &random) { try endAgain(index) }
            case 9:
                // The token of another job.
                guard let one = deliveries.randomElement(using: &random),
                    let other = deliveries.randomElement(using: &random), one.id != other.id
                else { return }
                try refuse(word, .integer(one.id), .text(other.token))
            case 10:
                // No job has this number.
                guard let one = deliveries.randomElement(using: &random) else { return }
                try refuse(word, .integer(1_000_000 + random.below(1_000)), .text(one.token))
            default:
                let id = deliveries.randomElement(using: &random)?.id ?? 1
                try refuse(word, .integer(id), madeUp())
            }
        }

        /// Compares what the daemon has with what was said under valid tokens.
        func check() throws {
            #expect(try client.figure("total_stale_tokens") == staleCount)
            #expect(try client.figure("jobs_held_by_workers") == live.count)
            for index in live {
                let id = deliveries[index].id
                #expect(try client.job(id, "state").text == "running", "seed \(seed)")
            }
            for (id, end) in results {
                let reply = try client.call("RESULT", .integer(id))
                let expected = "r\(end.variant)"
                if end.word == .done {
                    #expect(reply.text == expected, "seed \(seed)")
                } else {
                    #expect(reply.errorMessage == "job \(id): \(expected)", "seed \(seed)")
                }
            }
        }
    }

    @Test(.timeLimit(.minutes(2)), arguments: [Setup.memory, Setup.durable.store])
    func `count only for their own delivery, and end it once`(store: String) throws {
        let setup = Setup(
            threads: "one: {}, pool: { count: 3 }", selectors: "resize: { worker: true }",
            limits: "retainedResults: 1000000", store: store)
        try withDaemon(setup) { daemon in
            var game = Game(
                client: try daemon.connect(),
                workers: try (0..<4).map { _ in try daemon.connect() })
            for _ in 0..<Self.roundCount { try game.step() }
            try game.check()
        }
    }
}
