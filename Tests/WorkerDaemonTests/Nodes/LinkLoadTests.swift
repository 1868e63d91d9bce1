// Much data over links, with clients and nodes that do not read, and random clients at any node.

import Jobs
import Kernel
import RESP
import Support
import Testing

@testable import WorkerDaemon

@Suite struct `Much data over links` {
    private static let byteCount = 256 << 10

    /// The largest unsent output of a client or link, in bytes.
    private func outputByteCount(_ nodes: LinkedNodes, _ index: Int) throws -> Int {
        try nodes.figure(index) { $0.sessions.values.map(\.outputByteCount).max() ?? 0 }
    }

    /// A submit that waits for its result, which is its payload of one letter.
    private func submit(_ number: Int, _ thread: CommandArgument = "two") -> [UInt8] {
        TestClient.bytes(["PERFORM", thread, "echo", "WAIT", .text(text(number))])
    }

    private func text(_ number: Int) -> String {
        let letter = Character(Unicode.Scalar(UInt8(ascii: "a") + UInt8(number % 26)))
        return String(repeating: letter, count: Self.byteCount)
    }

    /// Reads the answers to submits of a size, and sends the rest of them meanwhile.
    ///
    /// - Parameter bytes: the submits, of which some bytes were sent.
    private func finish(
        _ client: TestClient, _ bytes: [UInt8], from start: Int, count: Int
    ) throws {
        var sent = start
        for number in 0..<count {
            // All answers before were read, so the daemon takes this one.
            let end = bytes.count / count * (number + 1)
            if sent < end {
                try client.send(Array(bytes[sent..<end]))
                sent = end
            }
            #expect(try client.reply().text == text(number))
            sent += client.sendUntilRefused(Array(bytes[sent...]), quietMilliseconds: 0)
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `wait at the other node for a client that does not read`() throws {
        try withLinkedNodes { nodes in
            let client = try nodes.connect(0)
            let count = 150
            let bytes = (0..<count).flatMap { submit($0) }
            let sent = client.sendUntilRefused(bytes, quietMilliseconds: 500)
            #expect(sent < bytes.count)
            // Read no more, and one answer in flight. At the other node, the results of jobs that
            // ran meanwhile come on top, as for a client of its own.
            #expect(try outputByteCount(nodes, 0) <= (1 << 20) + 2 * Self.byteCount)
            #expect(try outputByteCount(nodes, 1) <= 16 << 20)
            try finish(client, bytes, from: sent, count: count)
            #expect(try nodes.jobCount(1) == count)
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `wait at the client for a node that does not read`() throws {
        try withLinkedNodes(limits: ["", "pipeline: 4"]) { nodes in
            let other = try nodes.connect(1)
            _ = try other.call("PAUSE", "two")
            let client = try nodes.connect(0)
            let count = 100
            let bytes = (0..<count).flatMap { submit($0) }
            let sent = client.sendUntilRefused(bytes, quietMilliseconds: 500)
            #expect(sent < bytes.count)
            #expect(try nodes.jobCount(1) == 4)
            #expect(try nodes.figure(0) { $0.sessions.values.count { $0.pauses == .links } } == 1)
            _ = try other.call("RESUME", "two")
            try finish(client, bytes, from: sent, count: count)
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `of one node does not keep the answer back that is due from the other`() throws {
        try withLinkedNodes(3) { nodes in
            try nodes.own(["pool": 2])
            let client = try nodes.connect(0)
            let count = 40
            try client.send("PERFORM", "two", "hold", "WAIT", "first")
            let bytes = (0..<count).flatMap { submit($0, "pool") }
            let sent = client.sendUntilRefused(bytes, quietMilliseconds: 500)
            nodes.gate.open()
            #expect(try client.reply().text == "first")
            try finish(client, bytes, from: sent, count: count)
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `of this node do not keep the first answer of a link back`() throws {
        try withLinkedNodes { nodes in
            let client = try nodes.connect(0)
            let ids = try (0..<6).map { try client.perform("one", "echo", .text(text($0))) }
            // The link tells the other node first that the client speaks RESP3.
            var bytes = TestClient.bytes(["HELLO", 3])
            bytes += TestClient.bytes(["PERFORM", "two", "echo", "WAIT", "first"])
            for id in ids { bytes += TestClient.bytes(["RESULT", .integer(id), "WAIT"]) }
            try client.send(bytes)
            _ = try client.reply()
            #expect(try client.reply().text == "first")
            for number in ids.indices { #expect(try client.reply().text == text(number)) }
        }
    }
}

@Suite struct `Clients at any node` {
    /// A command, and the answer that it should have.
    private struct Step {
        let bytes: [UInt8]
        let answer: String?
        let isSubmit: Bool
        let node: Int
    }

    private static let threads = ["one", "two", "pool"]

    private func step(_ random: inout SeededRandom, _ token: Int) -> Step {
        let choice = random.below(8)
        let node = random.below(3)
        let thread = Self.threads[node]
        switch choice {
        case 0:
            return Step(bytes: TestClient.bytes(["PING"]), answer: "PONG", isSubmit: false, node: 0)
        case 1:
            return Step(
                bytes: TestClient.bytes(["THREADS"]), answer: nil, isSubmit: false, node: 0)
        case 2:
            return Step(
                bytes: TestClient.bytes(["JOBS", "LIMIT", 3]), answer: nil, isSubmit: false, node: 0
            )
        case 3:
            return Step(
                bytes: TestClient.bytes(["RESUME", .text(thread)]), answer: "OK", isSubmit: false,
                node: node)
        default:
            return Step(
                bytes: TestClient.bytes(
                    ["PERFORM", .text(thread), "echo", "WAIT", .text("\(token)")]),
                answer: "\(token)", isSubmit: true, node: node)
        }
    }

    @Test(.timeLimit(.minutes(2)), arguments: 1...6)
    func `get each answer once and in order, whatever breaks`(seed: Int) throws {
        var random = SeededRandom(seed: UInt64(seed))
        try withLinkedNodes(3) { nodes in
            try nodes.own(["pool": 2])
            var (submitted, answered) = ([0, 0, 0], [0, 0, 0])
            for round in 0..<30 {
                let client = try nodes.connect(random.below(3))
                let steps = (0..<random.below(40) + 1).map { step(&random, 1_000 * round + $0) }
                try client.send(steps.flatMap(\.bytes))
                for step in steps where step.isSubmit { submitted[step.node] += 1 }
                let breaks = random.below(3) == 0
                if breaks { try nodes.breakLinks(to: random.below(3)) }
                try client.endSending()
                let replies = try client.repliesUntilClosed()
                #expect(breaks ? replies.count <= steps.count : replies.count == steps.count)
                for (step, reply) in zip(steps, replies) {
                    #expect(reply.errorWord == nil, "\(reply)")
                    if let answer = step.answer { #expect(reply.text == answer) }
                    if step.isSubmit { answered[step.node] += 1 }
                }
            }
            for node in 0..<3 {
                let count = try nodes.jobCount(node)
                #expect(answered[node] <= count && count <= submitted[node])
            }
        }
    }
}
