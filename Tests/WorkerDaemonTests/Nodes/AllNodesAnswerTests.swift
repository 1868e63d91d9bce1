// Commands for all threads while a thread is on its way from one node to another one.

import Jobs
import Kernel
import RESP
import Support
import Testing

@testable import WorkerDaemon

@Suite struct `A command for all threads` {
    /// Three nodes, with failed jobs of threads of the first two, and a schedule of each.
    private func withFailedJobs(_ body: (LinkedNodes, TestClient) throws -> Void) throws {
        try withLinkedNodes(3) { nodes in
            let client = try nodes.connect(2)
            for thread: CommandArgument in ["one", "one", "two"] {
                let error = try client.call("PERFORM", thread, "fail", "WAIT", "x")
                #expect(error.errorWord == "FAILED")
            }
            for (name, thread): (CommandArgument, CommandArgument) in [("s", "one"), ("t", "two")] {
                let reply = try client.call(
                    "SCHEDULE", name, "EVERY", 3_600_000, thread, "echo", "x")
                #expect(reply.errorWord == nil)
            }
            try body(nodes, client)
        }
    }

    /// Lets time pass until a client has an answer.
    private func answer(_ client: TestClient, _ nodes: LinkedNodes) throws -> RESPValue {
        while try client.isSilent() { nodes.advance(by: .milliseconds(50)) }
        return try client.reply()
    }

    /// The nodes that have heard that a thread has moved from the first node to the second one.
    enum Hearing: CaseIterable {
        /// None of the two has the thread.
        case first, firstAndThird
        /// Both have it.
        case second, secondAndThird

        fileprivate var nodes: [Int] {
            switch self {
            case .first: [0]
            case .firstAndThird: [0, 2]
            case .second: [1]
            case .secondAndThird: [1, 2]
            }
        }
    }

    @Test(
        .timeLimit(.minutes(2)), arguments: Hearing.allCases,
        [["JOBS"], ["FAILURES"], ["SCHEDULES"], ["RETRY", "ALL", "fail"], ["UNSCHEDULE", "s"]])
    func `waits until each thread is of one node`(hearing: Hearing, words: [String]) throws {
        try withFailedJobs { nodes, client in
            try nodes.own(["one": 1], seenBy: hearing.nodes)
            try client.send(TestClient.bytes(words.map { .text($0) }))
            nodes.advance(by: .milliseconds(50))
            #expect(try client.isSilent())
            try nodes.own(["one": 1])
            let reply = try answer(client, nodes)
            switch words[0] {
            case "JOBS": #expect(reply.elements?.count == 3)
            case "FAILURES": #expect(reply.elements?.first?["count"]?.integer == 3)
            case "SCHEDULES": #expect(reply.elements?.count == 2)
            case "RETRY": #expect(reply == .integer(3))
            default: #expect(reply == .integer(1))
            }
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `is executed before the next command of the client`() throws {
        try withFailedJobs { nodes, client in
            try nodes.own(["one": 1], seenBy: [0])
            try client.send(
                TestClient.bytes(["UNSCHEDULE", "t"])
                    + TestClient.bytes(["SCHEDULE", "t", "EVERY", 3_600_000, "two", "echo", "x"])
                    + TestClient.bytes(["SCHEDULES"]))
            nodes.advance(by: .milliseconds(50))
            #expect(try client.isSilent())
            try nodes.own(["one": 1])
            #expect(try answer(client, nodes) == .integer(1))
            #expect(try client.reply().errorWord == nil)
            #expect(try client.reply().elements?.count == 2)
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `is executed before the next command for the client's own node`() throws {
        try withFailedJobs { nodes, _ in
            let client = try nodes.connect(0)
            try nodes.own(["one": 1], seenBy: [0])
            try client.send(
                TestClient.bytes(["DROP", "ALL", "fail"])
                    + TestClient.bytes(["PERFORM", "pool", "fail", "WAIT", "x"]))
            nodes.advance(by: .milliseconds(50))
            #expect(try client.isSilent())
            try nodes.own(["one": 1])
            #expect(try answer(client, nodes) == .integer(3))
            #expect(try client.reply().errorWord == "FAILED")
            #expect(try client.call("DROP", "ALL", "fail") == .integer(1))
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `is refused if a thread is on its way for five seconds`() throws {
        try withFailedJobs { nodes, client in
            try nodes.own(["one": 1], seenBy: [0])
            try client.send(TestClient.bytes(["DROP", "ALL", "fail"]) + TestClient.bytes(["PING"]))
            let reply = try answer(client, nodes)
            #expect(reply.errorWord == "BUSY")
            #expect(reply.errorMessage?.contains("on its way") == true)
            #expect(try client.reply().text == "PONG")
            // None was dropped.
            try nodes.own(["one": 1])
            #expect(try client.call("DROP", "ALL", "fail") == .integer(3))
        }
    }

    /// The time begins when it is executed, not when it has come.
    @Test(.timeLimit(.minutes(2)))
    func `is not refused because an earlier command has waited for long`() throws {
        try withFailedJobs { nodes, _ in
            let client = try nodes.connect(0)
            try client.send("PERFORM", "two", "hold", "WAIT", "x")
            try eventually("it has come") { try nodes.jobCount(1) == 2 }
            try client.send("JOBS")
            // The third node has two seconds for its part.
            try eventually("it is asked for, and the third node has answered") {
                try nodes.figure(0) { service in
                    service.sessions.values.count {
                        $0.pauses.contains(.allNodes)
                            && service.links(of: $0).open.last?.owesAnswers == false
                    }
                } == 1
            }
            nodes.advance(by: .seconds(10))
            try nodes.own(["one": 1], seenBy: [0])
            nodes.gate.open()
            #expect(try client.reply().text == "x")
            nodes.advance(by: .milliseconds(50))
            #expect(try client.isSilent())
            try nodes.own(["one": 1])
            #expect(try answer(client, nodes).elements?.count == 4)
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `asks again if a thread has moved while it was executed`() throws {
        try withFailedJobs { nodes, client in
            // The second node gets its part, which waits there while the pool has no owner.
            try nodes.own(["pool": nil], seenBy: [1])
            try client.send(TestClient.bytes(["DROP", "ALL", "fail"]))
            try eventually("the first node has dropped its jobs") {
                try nodes.figure(0) { $0.driver.scheduler.book.job(JobID(1)) == nil ? 1 : 0 } == 1
            }
            // Only a second try finds this one.
            _ = try nodes.connect(0).call("PERFORM", "one", "fail", "WAIT", "x")
            try nodes.own(["one": 1, "pool": 0])
            #expect(try answer(client, nodes) == .integer(4))
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `lists a pool once each of its slots is of one node`() throws {
        try withLinkedNodes { nodes in
            for index in 0..<2 { try nodes.describe(index) { $0.threads = ["pool", "pool#1"] } }
            try nodes.own(["pool": 0, "pool#1": 1])
            let client = try nodes.connect(0)
            _ = try client.perform("pool", "echo", "x")
            #expect(try client.call("JOBS", "pool").elements?.count == 1)
            // A thread of its own does not matter.
            try nodes.own(["two": 0], seenBy: [1])
            #expect(try client.call("JOBS", "pool").elements?.count == 1)
            try nodes.own(["pool#1": 0], seenBy: [1])
            try client.send("JOBS", "pool")
            nodes.advance(by: .milliseconds(50))
            #expect(try client.isSilent())
            try nodes.own(["pool#1": 0])
            #expect(try answer(client, nodes).elements?.count == 1)
        }
    }

    @Test func `has the same sum for the same threads`() {
        #expect(ThreadSum.of([]) == 0)
        // FNV-1a of "a", as others have it.
        #expect(ThreadSum.of(["a"]) == Int(truncatingIfNeeded: 0xaf63_dc4c_8601_ec8c as UInt64))
        #expect(ThreadSum.of(["a", "b", "c"]) == ThreadSum.of(["c", "a", "b"]))
        #expect(ThreadSum.of(["a", "b"]) != ThreadSum.of(["a", "b", "b"]))
        #expect(ThreadSum.of(["ab"]) != ThreadSum.of(["a", "b"]))
    }
}
