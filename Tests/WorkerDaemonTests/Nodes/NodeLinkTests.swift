// Commands for the threads and jobs of other nodes, as clients of any node send them.

import Jobs
import Kernel
import RESP
import Support
import Testing

@testable import WorkerDaemon

@Suite struct `A link` {
    private static let mark = [0] + Array("workerd relay/1".utf8)

    @Test(.timeLimit(.minutes(2)), arguments: [2, 3])
    func `passes a job on to the owner of its thread`(version: Int) throws {
        try withLinkedNodes { nodes in
            let client = try nodes.connect(0)
            if version == 3 { _ = try client.call("HELLO", 3) }
            #expect(try client.call("PERFORM", "two", "echo", "WAIT", "there").text == "there")
            #expect(try client.call("PERFORM", "one", "echo", "WAIT", "here").text == "here")
            #expect(try client.perform("two", "echo", "x") == 1_000_002)
            let error = try client.call("PERFORM", "two", "fail", "WAIT", "no paper")
            #expect(error.errorWord == "FAILED")
            #expect(error.errorMessage?.contains("no paper") == true)
            #expect(try nodes.jobCount(0) == 1)
            #expect(try nodes.jobCount(1) == 3)
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `follows a thread to its new owner`() throws {
        try withLinkedNodes { nodes in
            let client = try nodes.connect(0)
            #expect(try client.perform("one", "echo", "x") == 1)
            #expect(try client.perform("one", "echo", "x") == 2)
            try nodes.own(["one": 1])
            #expect(try client.perform("one", "echo", "x") == 1_000_001)
            try nodes.own(["one": 0])
            #expect(try client.perform("one", "echo", "x") == 3)
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `keeps the order of answers of a pipeline between two owners`() throws {
        try withLinkedNodes { nodes in
            let client = try nodes.connect(0)
            for count in [1, 2, 7, 100] {
                var bytes: [UInt8] = []
                for number in 0..<count {
                    let thread: CommandArgument = number % 3 == 0 ? "one" : "two"
                    bytes += TestClient.bytes(["PERFORM", thread, "echo", "WAIT", .integer(number)])
                }
                try client.send(bytes)
                for number in 0..<count { #expect(try client.reply().text == "\(number)") }
            }
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `finds a job by its number`() throws {
        try withLinkedNodes { nodes in
            let (client, other) = (try nodes.connect(0), try nodes.connect(1))
            _ = try other.call("PAUSE", "two")
            let id = try other.perform("two", "echo", "first")
            let second = try other.perform("two", "echo", "second")
            #expect(try client.job(id, "thread").text == "two")
            #expect(try client.call("CANCEL", .integer(second)).text == "cancelled")
            try client.send("RESULT", .integer(id), "WAIT")
            #expect(try client.isSilent())
            _ = try other.call("RESUME", "two")
            #expect(try client.reply().text == "first")
            #expect(try client.call("RESULT", .integer(second)).errorWord == "CANCELLED")
            #expect(try client.call("RESULT", 77).errorWord == "NOJOB")
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `steers the threads of another node`() throws {
        try withLinkedNodes { nodes in
            let (client, other) = (try nodes.connect(0), try nodes.connect(1))
            #expect(try client.call("PAUSE", "two").text == "OK")
            #expect(try other.call("THREAD", "two")["state"]?.text == "paused")
            #expect(try client.call("THREAD", "two")["state"]?.text == "paused")
            let id = try client.perform("two", "echo", "x")
            #expect(try client.call("CANCEL", "two", "echo") == .integer(1))
            #expect(try other.job(id, "state").text == "cancelled")
            #expect(try client.call("BUFFER", "two", "echo", "x").integer == id + 1)
            #expect(try client.call("RESUME", "two").text == "OK")
            #expect(try client.call("FIRE", "two") == .integer(1))
            #expect(try client.call("PERFORM", "nowhere", "echo", "x").errorWord == "NOTHREAD")
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `brings the pushes of watched jobs of both nodes`() throws {
        try withLinkedNodes { nodes in
            let client = try nodes.connect(0)
            _ = try client.call("HELLO", 3)
            let (own, other) = (
                try client.perform("one", "hold", "x"), try client.perform("two", "hold", "x")
            )
            #expect(try client.call("OBSERVE", .integer(own), .integer(other)) == .integer(2))
            nodes.gate.open()
            var states: [Int: String] = [:]
            while states[own] != "done" || states[other] != "done" {
                guard case .push(let words) = try client.reply(), words.first?.text == "job",
                    let id = words[1].integer
                else { throw Unexpected("no push") }
                states[id] = words[2].text
            }
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `watches a job once that is named twice`() throws {
        try withLinkedNodes { nodes in
            let client = try nodes.connect(0)
            _ = try client.call("HELLO", 3)
            let ids = try ["one", "two"].map { try client.perform(.text($0), "hold", "x") }
            for id in ids { try client.waitUntil(id, is: "running") }
            let (own, other) = (CommandArgument.integer(ids[0]), CommandArgument.integer(ids[1]))
            for jobs in [[own, other, own], [other, own, other], [own, other, own, other]] {
                try client.send(TestClient.bytes(["OBSERVE"] + jobs))
                #expect(try client.reply() == .integer(2))
                for _ in ids { guard case .push = try client.reply() else { throw Unexpected("") } }
                #expect(try client.call("UNOBSERVE") == .integer(2))
            }
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `brings no push before the answer of all nodes`() throws {
        try withLinkedNodes(3) { nodes in
            try nodes.own(["pool": 2])
            let client = try nodes.connect(0)
            _ = try client.call("HELLO", 3)
            let ids = try ["one", "two", "pool"].map { try client.perform(.text($0), "hold", "x") }
            for id in ids { try client.waitUntil(id, is: "running") }
            try client.send(TestClient.bytes(["OBSERVE"] + ids.map { .integer($0) }))
            #expect(try client.reply() == .integer(3))
            var pushed: Set<Int> = []
            for _ in ids {
                guard case .push(let words) = try client.reply(), let id = words[1].integer else {
                    throw Unexpected("no push")
                }
                pushed.insert(id)
            }
            #expect(pushed == Set(ids))
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `watches all jobs of a command or none`() throws {
        try withLinkedNodes(3) { nodes in
            try nodes.own(["pool": 2])
            let client = try nodes.connect(0)
            _ = try client.call("HELLO", 3)
            let ended = try client.perform("two", "echo", "x")
            try client.waitUntil(ended, is: "done")
            let ids = try ["one", "two", "pool"].map { try client.perform(.text($0), "hold", "x") }
            for id in ids { try client.waitUntil(id, is: "running") }
            // This node is to know of the first one, and node 2 of the second one.
            for missing in [4_000_000_000, 4_000_000_001] {
                try nodes.find(at: 0) { id in
                    switch Int(id.number) {
                    case ids[1], ended: .success("two")
                    case ids[2], 4_000_000_001: .success("pool")
                    default: .success(nil)
                    }
                }
                func observe(_ ids: [Int]) -> [UInt8] {
                    TestClient.bytes(["OBSERVE"] + ids.map { .integer($0) })
                }
                for some in [ids, Array(ids[1...]), [ids[0], ids[1]], [ids[1]]] {
                    try client.send(observe(some + [ended, missing]))
                    #expect(try client.reply().errorWord == "NOJOB")
                    // No push has come, either.
                    #expect(try client.call("PING").text == "PONG")
                    #expect(try client.call("UNOBSERVE") == .integer(0))
                }
                // Earlier watches stay, and so do those of the next command.
                #expect(try client.call("OBSERVE", .integer(ids[2])) == .integer(1))
                guard case .push = try client.reply() else { throw Unexpected("no push") }
                try client.send(observe(ids + [missing]) + observe([ids[1]]))
                var replies: [RESPValue] = []
                while replies.count < 2 {
                    let reply = try client.reply()
                    if case .push = reply { continue }
                    replies.append(reply)
                }
                #expect(replies[0].errorWord == "NOJOB")
                #expect(replies[1] == .integer(1))
                try client.send("UNOBSERVE")
                var count = try client.reply()
                while case .push = count { count = try client.reply() }
                #expect(count == .integer(2))
            }
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `stops watching`() throws {
        try withLinkedNodes { nodes in
            let client = try nodes.connect(0)
            _ = try client.call("HELLO", 3)
            let other = try client.perform("two", "hold", "x")
            try client.waitUntil(other, is: "running")
            #expect(try client.call("OBSERVE", .integer(other)) == .integer(1))
            guard case .push = try client.reply() else { throw Unexpected("no push") }
            #expect(try client.call("UNOBSERVE") == .integer(1))
            nodes.gate.open()
            #expect(try client.call("RESULT", .integer(other), "WAIT").text == "x")
            #expect(try client.call("PING").text == "PONG")
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `speaks the client's version of the protocol, also when that changes`() throws {
        try withLinkedNodes { nodes in
            let client = try nodes.connect(0)
            let id = try client.perform("two", "hold", "x")
            func isMap() throws -> Bool {
                if case .map = try client.call("JOB", .integer(id)) { true } else { false }
            }
            #expect(try !isMap())
            _ = try client.call("HELLO", 3)
            #expect(try isMap())
            try client.waitUntil(id, is: "running")
            #expect(try client.call("OBSERVE", .integer(id)) == .integer(1))
            guard case .push = try client.reply() else { throw Unexpected("no push") }
            _ = try client.call("HELLO", 2)
            #expect(try !isMap())
            // With the other version, the watch has ended.
            nodes.gate.open()
            #expect(try client.call("RESULT", .integer(id), "WAIT").text == "x")
            #expect(
                try nodes.figure(1) { $0.driver.scheduler.audience.watches.isEmpty ? 0 : 1 } == 0)
        }
    }

    @Test(.timeLimit(.minutes(2)), arguments: [0, 1])
    func `answers in the version of each command's place`(owner: Int) throws {
        try withLinkedNodes { nodes in
            let client = try nodes.connect(0)
            let thread: CommandArgument = owner == 0 ? "one" : "two"
            let id = try client.perform(thread, "hold", "x")
            try client.send(
                TestClient.bytes(["PERFORM", thread, "hold", "WAIT", "y"])
                    + TestClient.bytes(["JOB", .integer(id)])
                    + TestClient.bytes(["JOBS", thread])
                    + TestClient.bytes(["HELLO", 3]) + TestClient.bytes(["JOB", .integer(id)])
                    + TestClient.bytes(["JOBS", thread]))
            try eventually("HELLO has been executed") {
                try nodes.figure(owner) { $0.sessions.values.count { $0.version == .three } } == 1
            }
            nodes.gate.open()
            #expect(try client.reply().text == "y")
            func isMap(_ value: RESPValue?) -> Bool {
                if case .map? = value { true } else { false }
            }
            let before = (try client.reply(), try client.reply())
            #expect(before.0["id"]?.integer == id && !isMap(before.0))
            #expect(before.1.elements?.first?["id"] != nil && !isMap(before.1.elements?.first))
            for _ in 0..<2 { #expect(isMap(try client.reply())) }
            #expect(isMap(try client.reply().elements?.first))
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `asks the store once for the thread of a job`() throws {
        try withLinkedNodes { nodes in
            let id = try nodes.connect(1).perform("two", "echo", "x")
            let client = try nodes.connect(0)
            for _ in 0..<3 { #expect(try client.call("RESULT", .integer(id), "WAIT").text == "x") }
            #expect(try nodes.lookupCount(0) == 1)
            #expect(try client.call("JOB", 77).errorWord == "NOJOB")
            #expect(try client.call("JOB", 77).errorWord == "NOJOB")
            #expect(try nodes.lookupCount(0) == 3)
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `logs what an operator does at both nodes, with its answer`() throws {
        try withLinkedNodes { nodes in
            let client = try nodes.connect(0)
            #expect(try client.call("PAUSE", "two").text == "OK")
            for index in 0..<2 {
                let own = try nodes.connect(index).call("OPERATIONS", 1).elements?.first
                #expect(own?["command"]?.text == "PAUSE two", "\(own as Any)")
                #expect(own?["answer"]?.text == "OK", "\(own as Any)")
            }
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `is asked for with the secret of the node`() throws {
        try withLinkedNodes { nodes in
            let link = try TestClient(nodes.address(1))
            try link.send(Self.mark + TestClient.bytes(["LINK", "secret of 0", "default"]))
            #expect(try link.repliesUntilClosed().map(\.errorWord) == ["WRONGPASS"])
            // Without the mark, it is a client.
            let client = try TestClient(nodes.address(1))
            #expect(try client.call("LINK", "secret of 1", "default").errorWord == "NOAUTH")
            #expect(try client.call("JOBS").errorWord == "NOAUTH")
            let right = try TestClient(nodes.address(1))
            try right.send(Self.mark + TestClient.bytes(["LINK", "secret of 1", "default"]))
            #expect(try right.reply().integer != nil)
            #expect(try right.call("PERFORM", "two", "echo", "WAIT", "x").text == "x")
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `with a wrong secret is logged, unless the node has just started`() throws {
        try withLinkedNodes { nodes in
            for isNew in [true, false] {
                try nodes.setStarted(1, aMomentAgo: isNew)
                let link = try TestClient(nodes.address(1))
                try link.send(Self.mark + TestClient.bytes(["LINK", "of a run before", "default"]))
                #expect(try link.repliesUntilClosed().map(\.errorWord) == ["WRONGPASS"])
                let lines = nodes.log.lines(with: "a wrong secret of a node's link from ")
                #expect(lines.count == (isNew ? 0 : 1))
            }
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `with another secret leaves a command unanswered until its time is over`() throws {
        try withLinkedNodes { nodes in
            try nodes.describe(1) { $0.linkSecret = "of a run before" }
            let client = try nodes.connect(0)
            try client.send("PERFORM", "two", "echo", "x")
            try client.waitForBusy(nodes, "the secret of the node's links")
            #expect(try nodes.jobCount(1) == 0)
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `has the rights of the client's user`() throws {
        let few = User("few", [.observe, .submit], seesPayloads: true, scope: .all)
        let more = User("few", [.observe, .submit, .operate], seesPayloads: true, scope: .all)
        try withLinkedNodes(users: [[more], [few]]) { nodes in
            let client = try nodes.connect(0)
            _ = try client.call("PING")
            try nodes.become("few", 0)
            #expect(try client.call("PERFORM", "two", "echo", "WAIT", "x").text == "x")
            #expect(try client.call("PAUSE", "one").text == "OK")
            #expect(try client.call("PAUSE", "two").errorWord == "NOPERM")
        }
    }

    /// A client that waits for the job which it has submitted waits on where the job is.
    @Test(.timeLimit(.minutes(2)))
    func `asks for a result also for a user that only submits`() throws {
        let web = User("web", [.submit], seesPayloads: true, scope: .all)
        try withLinkedNodes(users: [[web], [web]]) { nodes in
            let client = try nodes.connect(1)
            let id = "\(try client.perform("two", "echo", "x"))"
            #expect(try client.call("RESULT", .text(id), "WAIT").text == "x")
            try nodes.become("web", 1)
            #expect(try client.call("RESULT", .text(id)).errorWord == "NOPERM")
            let link = try TestClient(nodes.address(1))
            try link.send(
                Self.mark + TestClient.bytes(["LINK", "secret of 1", "web"]))
            #expect(try link.reply().integer != nil)
            #expect(try link.call("RESULT", .text(id)).text == "x")
            #expect(try link.call("JOB", .text(id)).errorWord == "NOPERM")
        }
    }

    /// It would be answered when that command is.
    @Test(.timeLimit(.minutes(2)), arguments: [false, true])
    func `brings no wait that has moved behind a later command that waits`(waits: Bool) throws {
        try withLinkedNodes { nodes in
            let client = try nodes.connect(0)
            let ended = try client.perform("two", "echo", "x")
            let number = try nodes.figure(0) { service in
                Int(service.sessions.values.first { !$0.isLink }?.reserve().number ?? 0)
            }
            let more: [CommandArgument] = waits ? ["WAIT", "later"] : ["later"]
            try client.send(TestClient.bytes(["PERFORM", "two", "hold"] + more))
            try eventually("it has come") { try nodes.jobCount(1) == 2 }
            _ = try nodes.figure(0) { service in
                guard let session = service.sessions.values.first(where: { !$0.isLink }) else {
                    return 0
                }
                service.goOnWaiting(
                    for: JobID(UInt64(ended)), of: "two", for: nil, session,
                    ReplyToken(client: session.number, number: UInt64(number)))
                return 1
            }
            let reply = try client.reply()
            #expect(waits ? reply.errorWord == "BUSY" : reply.text == "x")
            nodes.gate.open()
            #expect(
                try client.reply() == (waits ? .bulk(Array("later".utf8)) : .integer(1_000_002)))
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `needs the client's user at the other node`() throws {
        let user = User("ann", .all, seesPayloads: true, scope: .all)
        try withLinkedNodes(users: [[user], []]) { nodes in
            let client = try nodes.connect(0)
            #expect(try client.call("PERFORM", "two", "echo", "WAIT", "x").text == "x")
            try nodes.become("ann", 0)
            let replies = try client.callTogether(
                ["PERFORM", "two", "echo", "WAIT", "x"], ["PERFORM", "one", "echo", "WAIT", "y"])
            #expect(replies[0].errorWord == "NOPERM")
            #expect(replies[0].errorMessage?.contains("node b knows no user 'ann'") == true)
            #expect(replies[1].text == "y")
            // A new link to it says the same.
            #expect(try client.call("PERFORM", "two", "echo", "x").errorWord == "NOPERM")
            #expect(try nodes.jobCount(1) == 1)
        }
    }
}

extension TestClient {
    /// Lets time pass until a held command is refused.
    func waitForBusy(_ nodes: LinkedNodes, _ reason: String) throws {
        var milliseconds = 0
        while try isSilent(forMilliseconds: 20) {
            nodes.advance(by: .milliseconds(100))
            milliseconds += 100
        }
        let reply = try reply()
        #expect(reply.errorWord == "BUSY")
        #expect(reply.errorMessage?.contains(reason) == true, "\(reply)")
        #expect(milliseconds >= 5_000)
    }
}
