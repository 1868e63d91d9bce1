// Commands whose node is not known or not reached, and links that break: nothing is sent twice, and
// no client waits without end.

import Jobs
import Kernel
import RESP
import RunLoopsTesting
import Support
import Testing

@testable import WorkerDaemon

@Suite struct `A held command` {
    @Test(.timeLimit(.minutes(2)))
    func `is refused after five seconds without an owner`() throws {
        try withLinkedNodes { nodes in
            try nodes.own(["two": nil])
            let client = try nodes.connect(0)
            try client.send("PERFORM", "two", "echo", "x")
            #expect(try client.isSilent())
            nodes.advance(by: .milliseconds(4_999))
            #expect(try client.isSilent())
            nodes.advance(by: .milliseconds(1))
            let reply = try client.reply()
            #expect(reply.errorWord == "BUSY")
            #expect(reply.errorMessage?.contains("no node has the thread two") == true)
            // Others behind it are not held again; other threads go on.
            #expect(try client.call("PERFORM", "two", "echo", "x").errorWord == "BUSY")
            #expect(try client.call("PERFORM", "one", "echo", "WAIT", "x").text == "x")
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `goes to the node that takes the thread, before the ones behind it`() throws {
        try withLinkedNodes(3) { nodes in
            try nodes.own(["two": nil])
            let client = try nodes.connect(0)
            try client.send(
                TestClient.bytes(["PERFORM", "two", "echo", "1"])
                    + TestClient.bytes(["PERFORM", "two", "echo", "2"])
                    + TestClient.bytes(["PERFORM", "one", "echo", "WAIT", "3"]))
            #expect(try client.isSilent())
            #expect(try nodes.jobCount(0) == 0)
            try nodes.own(["two": 2])
            #expect(try client.reply() == .integer(2_000_001))
            #expect(try client.reply() == .integer(2_000_002))
            #expect(try client.reply().text == "3")
        }
    }

    /// The node of the client has not looked since.
    @Test(.timeLimit(.minutes(2)))
    func `goes on to the node that was just given the thread`() throws {
        try withLinkedNodes(3) { nodes in
            try nodes.own(["two": 1])
            let client = try nodes.connect(0)
            #expect(try client.call("PERFORM", "two", "echo", "WAIT", "1").text == "1")
            try nodes.give("two", from: 1, to: 2, seenBy: [1, 2])
            #expect(try client.call("PERFORM", "two", "echo", "2") == .integer(2_000_001))
            #expect(try client.call("PERFORM", "two", "echo", "WAIT", "3").text == "3")
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `goes on also if only some of its jobs are of the given thread`() throws {
        try withLinkedNodes(3) { nodes in
            try nodes.own(["one": 1, "two": 2])
            let client = try nodes.connect(0)
            _ = try client.call("HELLO", 3)
            let ids = try ["one", "two"].map { try client.perform(.text($0), "hold", "x") }
            for id in ids { try client.waitUntil(id, is: "running") }
            // As if node 1 had just given the thread and its job.
            try nodes.give("two", from: 1, to: 2, seenBy: [1])
            try nodes.own(["two": 1], seenBy: [0])
            try client.send(TestClient.bytes(["OBSERVE"] + ids.map { .integer($0) }))
            #expect(try client.reply() == .integer(2))
            for _ in ids { guard case .push = try client.reply() else { throw Unexpected("") } }
            #expect(try client.call("UNOBSERVE") == .integer(2))
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `waits for the earlier ones of its client that may be on a longer way`() throws {
        try withLinkedNodes(3) { nodes in
            try nodes.own(["two": 1])
            let client = try nodes.connect(0)
            #expect(try client.call("PERFORM", "two", "echo", "x").integer != nil)
            // It is not answered until it is cancelled.
            try client.send("PERFORM", "two", "echo", "WAIT", "DELAY", 60_000, "late")
            try eventually("it is accepted") { try nodes.jobCount(1) == 2 }
            try nodes.give("two", from: 1, to: 2, seenBy: [0, 1, 2])
            try client.send("PERFORM", "two", "echo", "WAIT", "next")
            #expect(try client.isSilent())
            #expect(try nodes.jobCount(2) == 0)
            nodes.advance(by: .seconds(3))
            try eventually("it goes its way") { try nodes.jobCount(2) == 1 }
        }
    }

    @Test(.timeLimit(.minutes(2)), arguments: [["PAUSE", "pool"], ["CANCEL", "pool", "echo"]])
    func `for all slots of a pool is refused if one node is not reached`(_ words: [String]) throws {
        try withLinkedNodes(3) { nodes in
            try nodes.own(["pool": 0, "pool#1": 1, "pool#2": 2])
            try nodes.closeDoors(2)
            let client = try nodes.connect(0)
            try client.send(TestClient.bytes(words.map { .text($0) }))
            for _ in 0..<10 {
                #expect(try client.isSilent())
                nodes.advance(by: .milliseconds(500))
            }
            let reply = try client.reply()
            #expect(reply.errorWord == "BUSY")
            #expect(reply.errorMessage?.contains("node c is not reached") == true)
        }
    }

    @Test(
        .timeLimit(.minutes(2)),
        arguments: [["JOBS"], ["FAILURES"], ["SCHEDULES"], ["RETRY", "ALL", "echo"]])
    func `about the jobs of all threads waits for the owners of all`(_ words: [String]) throws {
        try withLinkedNodes { nodes in
            try nodes.own(["two": nil])
            let client = try nodes.connect(0)
            #expect(try client.call("THREADS").elements != nil)
            try client.send(TestClient.bytes(words.map { .text($0) }))
            #expect(try client.isSilent())
            try nodes.own(["two": 1])
            #expect(try client.reply().errorWord == nil)
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `is executed here if this node takes the thread`() throws {
        try withLinkedNodes { nodes in
            try nodes.own(["two": nil])
            let client = try nodes.connect(0)
            try client.send("PERFORM", "two", "echo", "WAIT", "x")
            #expect(try client.isSilent())
            try nodes.own(["two": 0])
            #expect(try client.reply().text == "x")
            #expect(try nodes.jobCount(0) == 1)
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `does not go round in a circle`() throws {
        try withLinkedNodes { nodes in
            try nodes.own(["two": 1], seenBy: [0])
            try nodes.own(["two": 0], seenBy: [1])
            let client = try nodes.connect(0)
            try client.send("PERFORM", "two", "echo", "x")
            try client.waitForBusy(nodes, "node a has the thread, not b")
            #expect(try nodes.jobCount(0) + nodes.jobCount(1) == 0)
            #expect(try nodes.sessionCount(0) == 1)
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `is refused with all that came with it, for any of several threads`() throws {
        try withLinkedNodes(3) { nodes in
            // A burst is on its way to a node that has given two threads away.
            try nodes.own(["one": 1, "two": 1, "pool": 1])
            try nodes.own(["one": 0, "two": 2], seenBy: [1])
            let client = try nodes.connect(0)
            let threads: [CommandArgument] = ["pool", "one", "pool", "two"]
            let burst = threads.flatMap { TestClient.bytes(["PERFORM", $0, "echo", "x"]) }
            try client.send((0..<10).flatMap { _ in burst })
            // Each of the two threads is waited for once.
            var replies: [RESPValue] = []
            for count in [1, 2] {
                try eventually("the next one is held") { try nodes.jobCount(1) == count }
                while replies.count < 2 * count - 1 { replies.append(try client.reply()) }
                #expect(try client.isSilent())
                nodes.advance(by: .seconds(5))
            }
            while replies.count < 40 { replies.append(try client.reply()) }
            #expect(replies.filter { $0.errorWord == "BUSY" }.count == 20)
            #expect(try nodes.jobCount(1) == 20)
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `waits at the other node until that has the thread`() throws {
        try withLinkedNodes { nodes in
            try nodes.own(["two": nil], seenBy: [1])
            let client = try nodes.connect(0)
            try client.send("PERFORM", "two", "echo", "WAIT", "x")
            try eventually("the link has come") { try nodes.sessionCount(1) == 1 }
            #expect(try client.isSilent())
            try nodes.own(["two": 1], seenBy: [1])
            #expect(try client.reply().text == "x")
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `is refused if the node is not reached`() throws {
        try withLinkedNodes { nodes in
            try nodes.closeDoors(1)
            let client = try nodes.connect(0)
            try client.send("PERFORM", "two", "echo", "x")
            try client.waitForBusy(nodes, "node b is not reached")
            try nodes.own(["two": 0])
            #expect(try client.call("PERFORM", "two", "echo", "WAIT", "x").text == "x")
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `goes to a node that is well behind one for a node that is not reached`() throws {
        try withLinkedNodes(3) { nodes in
            try nodes.own(["one": 2])
            try nodes.closeDoors(1)
            let client = try nodes.connect(0)
            try client.send("PERFORM", "two", "echo", "x")
            try client.waitForBusy(nodes, "node b is not reached")
            // There is no link to the third node yet.
            #expect(try client.call("PERFORM", "one", "echo", "WAIT", "x").text == "x")
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `is refused at once if the node has no address`() throws {
        try withLinkedNodes { nodes in
            let client = try nodes.connect(0)
            try nodes.describe(1) { $0.commands = nil }
            let refusal = try client.call("PERFORM", "two", "echo", "x")
            #expect(refusal.errorWord == "BUSY")
            #expect(refusal.errorMessage?.contains("node.address") == true)
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `of a job is refused if the store does not answer`() throws {
        try withLinkedNodes { nodes in
            let client = try nodes.connect(0)
            try nodes.find(at: 0) { _ in
                .failure(StoreFault(.away, path: "db", detail: "it is away"))
            }
            let refusal = try client.call("RESULT", 1_000_001)
            #expect(refusal.errorWord == "BUSY")
            #expect(refusal.errorMessage?.contains("it is away") == true)
            try nodes.find(at: 0) { _ in .success(nil) }
            #expect(try client.call("RESULT", 1_000_001).errorWord == "NOJOB")
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `ends with its client`() throws {
        try withLinkedNodes { nodes in
            try nodes.own(["two": nil])
            var client: TestClient? = try nodes.connect(0)
            try client?.send("PERFORM", "two", "echo", "x")
            try eventually("it is held") {
                try nodes.figure(0) { $0.sessions.values.count { $0.pauses == .held } } == 1
            }
            client = nil
            try eventually("the client has left") { try nodes.sessionCount(0) == 0 }
            try nodes.own(["two": 0])
            nodes.advance(by: .seconds(10))
            #expect(try nodes.jobCount(0) == 0)
        }
    }
}

@Suite struct `A command for a missing node` {
    /// Only that node has the pool in its configuration.
    @Test(.timeLimit(.minutes(2)), arguments: ["THREAD", "STOP"])
    func `waits for the owner of each slot`(name: String) throws {
        try withLinkedNodes(3) { nodes in
            try nodes.own(["wide": 1, "wide#1": 1])
            let client = try nodes.connect(0)
            try nodes.forget(1, isMissing: true)
            try nodes.own(["wide": nil, "wide#1": nil])
            try client.send(.text(name), "wide")
            try client.waitForBusy(nodes, "a slot of wide has no node")
            #expect(try client.call("PING").text == "PONG")
        }
    }

    /// At that moment, the node is alone.
    @Test(.timeLimit(.minutes(2)))
    func `ends if it is a TAKE, as soon as the node is there`() throws {
        try withLinkedNodes { nodes in
            try nodes.forget(1, isMissing: true)
            let worker = try nodes.connect(0)
            try worker.send("TAKE", "WAIT", 60_000, "FROM", "turn")
            try eventually("it waits") {
                try nodes.figure(0) { $0.driver.exchange.takers.count } == 1
            }
            try nodes.remember(1)
            #expect(try worker.reply() == .null)
        }
    }
}

@Suite struct `A broken link` {
    @Test(.timeLimit(.minutes(2)))
    func `of a client that has left brings its last commands`() throws {
        try withLinkedNodes { nodes in
            var client: TestClient? = try nodes.connect(0)
            _ = try client?.perform("two", "echo", "x")
            let payload = String(repeating: "x", count: 10_000)
            // Fewer bytes than are taken before a client has to wait.
            let bytes = (0..<20).flatMap { _ in
                TestClient.bytes(["PERFORM", "two", "echo", .text(payload)])
            }
            try client?.send(bytes)
            client = nil
            try eventually("all have come") { try nodes.jobCount(1) == 21 }
            try eventually("the link has ended") { try nodes.sessionCount(1) == 0 }
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `ends the client's connection, and nothing is repeated`() throws {
        try withLinkedNodes { nodes in
            let client = try nodes.connect(0)
            #expect(try client.perform("two", "echo", "x") == 1_000_001)
            var bytes = TestClient.bytes(["PERFORM", "one", "echo", "WAIT", "mine"])
            for _ in 0..<3 { bytes += TestClient.bytes(["PERFORM", "two", "hold", "WAIT", "x"]) }
            bytes += TestClient.bytes(["PERFORM", "one", "echo", "WAIT", "late"])
            try client.send(bytes)
            try eventually("all have come") { try nodes.jobCount(1) == 4 }
            #expect(try client.reply().text == "mine")
            try nodes.breakLinks(to: 1)
            #expect(try client.repliesUntilClosed().isEmpty)
            #expect(try nodes.jobCount(1) == 4)
            #expect(try nodes.sessionCount(1) == 0)
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `is replaced if nothing is owed`() throws {
        try withLinkedNodes { nodes in
            let client = try nodes.connect(0)
            #expect(try client.call("PERFORM", "two", "echo", "WAIT", "x").text == "x")
            try nodes.breakLinks(to: 1)
            // A command that is sent before that is noticed may be lost, and ends the client.
            try eventually("the node has noticed") {
                try nodes.figure(0) { service in
                    service.sessions.values.reduce(0) { $0 + ($1.links?.open.count ?? 0) }
                } == 0
            }
            #expect(try client.call("PERFORM", "two", "echo", "WAIT", "y").text == "y")
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `ends the connection of a client that watches a job there`() throws {
        try withLinkedNodes { nodes in
            let client = try nodes.connect(0)
            _ = try client.call("HELLO", 3)
            let id = try client.perform("two", "hold", "x")
            #expect(try client.call("OBSERVE", .integer(id)) == .integer(1))
            try nodes.breakLinks(to: 1)
            _ = try client.repliesUntilClosed()
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `is one to a node that works no longer`() throws {
        try withLinkedNodes { nodes in
            let client = try nodes.connect(0)
            try client.send("PERFORM", "two", "hold", "WAIT", "x")
            try eventually("it has come") { try nodes.jobCount(1) == 1 }
            try nodes.forget(1)
            #expect(try client.repliesUntilClosed().isEmpty)
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `is none to a node that is missing for a moment`() throws {
        try withLinkedNodes { nodes in
            let client = try nodes.connect(0)
            try client.send("PERFORM", "two", "hold", "WAIT", "x")
            try eventually("it has come") { try nodes.jobCount(1) == 1 }
            try nodes.forget(1, isMissing: true)
            try nodes.remember(1)
            nodes.gate.open()
            #expect(try client.reply().text == "x")
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `is one to a node that does not know the client's user, with watches there`() throws {
        let user = User("ann", .all, seesPayloads: true, scope: .all)
        try withLinkedNodes(users: [[user], []]) { nodes in
            let client = try nodes.connect(0)
            _ = try client.call("HELLO", 3)
            let id = try client.perform("two", "hold", "x")
            #expect(try client.call("OBSERVE", .integer(id)) == .integer(1))
            try nodes.become("ann", 0)
            try client.send("PERFORM", "two", "echo", "x")
            let replies = try client.repliesUntilClosed()
            #expect(replies.contains { $0.errorWord == "NOPERM" })
        }
    }
}

/// A moment at which all nodes but one have a session.
@Suite struct `A missing node` {
    private static func node(_ id: Int64) -> StoreNode {
        var node = StoreNode(
            id: id, name: "n\(id)", commands: nil, requests: nil, startedAt: 0, serves: true)
        node.seat = id
        return node
    }

    @Test func `is kept for three seconds`() {
        var missing = MissingNodes()
        let start = ManualClock().now()
        /// Whether others are missing than before.
        func look(_ nodes: [Int64], after earlier: [Int64], _ milliseconds: Int) -> Bool {
            missing.look(
                nodes.map(Self.node), after: earlier.map(Self.node),
                at: start.advanced(by: .milliseconds(milliseconds)))
        }
        #expect(!look([1, 2], after: [], 0))
        #expect(look([1], after: [1, 2], 500))
        #expect(missing.all.map(\.id) == [2])
        #expect(!look([1], after: [1], 3_499))
        #expect(look([1], after: [1], 3_500))
        #expect(missing.all.isEmpty)
        // One that comes back begins anew.
        #expect(look([1], after: [1, 2], 4_000))
        #expect(look([1, 2], after: [1], 4_500))
        #expect(missing.all.isEmpty)
    }
}
