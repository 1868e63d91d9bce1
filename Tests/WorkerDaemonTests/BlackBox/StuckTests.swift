// Handlers that do not listen: a Swift handler that goes on after its time limit, or after it was
// asked to end. They wait for a test's next order, and for nothing else.

import Kernel
import RESP
import Support
import Testing

@Suite struct `A stuck thread` {
    private let reporting = Setup(threads: "images: { stuckAfter: \"50ms\" }")
    private let replacing = Setup(
        threads: "images: { stuckAfter: \"50ms\", whenStuck: \"replace\" }")

    @Test(.timeLimit(.minutes(2)))
    func `is told of wherever somebody looks, and goes on when it comes back`() throws {
        try withObedient(reporting) { daemon in
            let client = try daemon.connect()
            let watcher = try daemon.connect()
            let waits = try daemon.connect()
            let orders = try Orders("orders", in: daemon.scratch)
            let id = try client.perform("images", "obey", "TIMEOUT", 50, orders.payload)
            let line = "thread images is stuck: job \(id) (obey) runs since "
            try waits.send("PERFORM", "images", "echo", "WAIT", "next")
            try client.waitUntil(id, is: "stuck")
            _ = try watcher.call("HELLO", 3)
            #expect(try watcher.call("OBSERVE", .integer(id)) == .integer(1))
            #expect(try watcher.reply().elements?[2].text == "stuck")
            let thread = try client.call("THREAD", "images")
            #expect(thread["state"]?.text == "stuck")
            #expect(thread["job"]?.integer == id)
            let jobs = try client.call("JOBS", "running").elements
            #expect(jobs?.map { $0["state"]?.text } == ["stuck"])
            for filter: [CommandArgument] in [["stuck"], ["images", "STUCK", "LIMIT", 5]] {
                try client.send(TestClient.bytes(["JOBS"] + filter))
                let stuck = try client.reply().elements
                #expect(stuck?.map { $0["id"]?.integer } == [id])
                #expect(stuck?.map { $0["state"]?.text } == ["stuck"])
            }
            #expect(try client.call("JOBS", "stuck", "LIMIT", 0).elements == [])
            #expect(try client.figure("stuck_jobs") == 1)
            #expect(try client.call("INFO", "threads").text?.contains("stuck=1") == true)
            #expect(try client.call("CANCEL", .integer(id)).text == "stuck")
            try eventually("the log says so") { daemon.log.contains(line) }
            #expect(daemon.log.contains("is over its time limit and does not listen\n"))
            try eventually("and says it again when somebody cancels it later") {
                _ = try client.call("CANCEL", .integer(id))
                return daemon.log.split(separator: "\n").count { $0.contains(line) } > 1
            }
            try orders.give("return late")
            #expect(try client.call("RESULT", .integer(id), "WAIT").text == "late")
            #expect(try waits.reply().text == "next")
            #expect(try watcher.reply().elements?[2].text == "done")
            #expect(try client.figure("stuck_jobs") == 0)
            #expect(try client.call("THREAD", "images")["hangs-at"] == nil)
            #expect(try client.call("JOBS", "stuck").elements == [])
            #expect(daemon.log.contains("job \(id) (obey) is stuck no longer after"))
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `is told of with the place where it hangs`() throws {
        try withObedient(reporting) { daemon in
            let client = try daemon.connect()
            var number = 0
            // A thread that the machine holds up does not say where it is within a second, or is
            // not yet where it will hang: then another one does.
            // In an optimised build it reads without a function of the library's around.
            while !daemon.log.contains("readLine") && !daemon.log.contains("fgetc") {
                number += 1
                guard number <= 10 else { throw Unexpected("no log says where") }
                let orders = try Orders("orders\(number)", in: daemon.scratch)
                let id = try client.perform("images", "obey", orders.payload)
                try orders.give("progress 0.5")
                try eventually("it obeys") { try client.job(id, "progress").text == "0.5" }
                #expect(try client.call("CANCEL", .integer(id)).text == "requested")
                try eventually("the log says so") {
                    daemon.log.contains("stuck: job \(id) (obey) runs since ")
                }
                try isTold(client, asIn: daemon)
                try orders.give("return late")
                #expect(try client.call("RESULT", .integer(id), "WAIT").text == "late")
            }
        }
    }

    /// THREAD tells the same place as the log, as soon as the log has it.
    private func isTold(_ client: TestClient, asIn daemon: TestDaemon) throws {
        guard !daemon.log.contains("where it is, it does not say") else { return }
        try eventually("THREAD tells where it hangs") {
            let places = try client.call("THREAD", "images")["hangs-at"]?.elements ?? []
            return !places.isEmpty && places.allSatisfy { daemon.log.contains($0.text ?? "\n\n") }
        }
    }

    @Test(.timeLimit(.minutes(2)), arguments: ["obey", "obey-as-task"])
    func `is found by a cancel that is not listened to`(selector: String) throws {
        try withObedient(reporting) { daemon in
            let client = try daemon.connect()
            let orders = try Orders("orders", in: daemon.scratch)
            let id = try client.perform("images", .text(selector), orders.payload)
            try client.waitUntil(id, is: "running")
            #expect(try client.call("CANCEL", .integer(id)).text == "requested")
            try eventually("it is stuck") {
                try client.call("CANCEL", .integer(id)).text == "stuck"
            }
            #expect(try client.job(id, "state").text == "stuck")
            // It listens at last.
            try orders.give("check")
            #expect(try client.call("RESULT", .integer(id), "WAIT").errorWord == "CANCELLED")
            #expect(try client.call("CANCEL", .integer(id)).text == "toolate")
        }
    }

    @Test(.timeLimit(.minutes(2)), arguments: ["listen", "listen-as-task"])
    func `is none whose handler listens`(selector: String) throws {
        // Long enough for any machine: how soon a handler listens is its own affair.
        let patient = Setup(threads: "images: { stuckAfter: \"100s\", whenStuck: \"replace\" }")
        try withObedient(patient) { daemon in
            let client = try daemon.connect()
            let reply = try client.call(
                "PERFORM", "images", .text(selector), "TIMEOUT", 20, "WAIT", "x")
            #expect(reply == .error("TIMEOUT job 1 took longer than its time limit"))
            let id = try client.perform("images", .text(selector), "x")
            try client.waitUntil(id, is: "running")
            #expect(try client.call("CANCEL", .integer(id)).text == "requested")
            #expect(try client.call("RESULT", .integer(id), "WAIT").errorWord == "CANCELLED")
            #expect(try client.figure("replaced_threads") == 0)
            #expect(!daemon.log.contains("stuck"))
        }
    }

    @Test(.timeLimit(.minutes(2)), arguments: ["obey", "obey-as-task"])
    func `is replaced if so configured, and never touches the queue again`(
        selector: String
    ) throws {
        try withObedient(replacing) { daemon in
            let client = try daemon.connect()
            let orders = try Orders("orders", in: daemon.scratch)
            let name = CommandArgument.text(selector)
            #expect(try client.perform("images", name, "TIMEOUT", 50, orders.payload) == 1)
            let others = try daemon.connect()
            let second = try Orders("second", in: daemon.scratch)
            let waiting = try others.perform("images", "obey", second.payload)
            let last = try others.perform("images", "echo", "last")
            #expect(
                try client.call("RESULT", 1, "WAIT")
                    == .error("TIMEOUT job 1 took longer than its time limit"))
            #expect(try client.figure("replaced_threads") == 1)
            try others.waitUntil(waiting, is: "running")
            #expect(try others.job(waiting, "worker").text == "images")
            #expect(try others.call("THREAD", "images")["state"]?.text == "running")
            // The old one comes back, while the new one is at its work.
            try orders.give("return late")
            try eventually("the old thread is gone") {
                try threadCount(named: "images", of: daemon.processID) == 1
            }
            #expect(try others.job(last, "state").text == "waiting")
            #expect(try others.call("RESULT", 1).errorWord == "TIMEOUT")
            try second.give("return in time")
            #expect(try others.call("RESULT", .integer(waiting), "WAIT").text == "in time")
            #expect(try others.call("RESULT", .integer(last), "WAIT").text == "last")
            let thread = try others.call("THREAD", "images")
            #expect(thread["done"]?.integer == 2)
            #expect(thread["failed"]?.integer == 1)
            // Where the old one hung is looked up meanwhile.
            try eventually("the log says so") {
                daemon.log.contains("another thread takes its place")
            }
            #expect(!daemon.log.contains("too early or too late"))
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `that was cancelled and is replaced leaves a cancelled job`() throws {
        try withObedient(replacing) { daemon in
            let client = try daemon.connect()
            let orders = try Orders("orders", in: daemon.scratch)
            let id = try client.perform("images", "obey", orders.payload)
            try client.waitUntil(id, is: "running")
            #expect(try client.call("CANCEL", .integer(id)).text == "requested")
            #expect(try client.call("RESULT", .integer(id), "WAIT").errorWord == "CANCELLED")
            #expect(try client.call("PERFORM", "images", "echo", "WAIT", "x").text == "x")
            #expect(try client.call("CANCEL", .integer(id)).text == "toolate")
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `of a pool leaves the jobs for its name to its successor, in order`() throws {
        let setup = Setup(
            threads: "mail: { count: 2, stuckAfter: \"50ms\", whenStuck: \"replace\" }")
        try withObedient(setup) { daemon in
            let client = try daemon.connect()
            let watcher = try daemon.connect()
            let orders = try Orders("orders", in: daemon.scratch)
            let stuck = try client.perform("mail/1", "obey", "TIMEOUT", 1, orders.payload)
            let ids = try (0..<20).map { _ in try client.perform("mail/1", "echo", "x") }
            #expect(try watcher.call("RESULT", .integer(ids[19]), "WAIT").text == "x")
            for id in ids {
                #expect(try client.job(id, "worker").text == "mail/1")
                #expect(try client.job(id, "state").text == "done")
            }
            #expect(try client.job(stuck, "state").text == "failed")
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `does not keep the daemon from ending`() throws {
        try withObedient(replacing) { daemon in
            let client = try daemon.connect()
            let orders = try Orders("orders", in: daemon.scratch)
            let reply = try client.call(
                "PERFORM", "images", "obey", "TIMEOUT", 1, "WAIT", orders.payload)
            #expect(reply.errorWord == "TIMEOUT")
            #expect(try client.call("PERFORM", "images", "echo", "WAIT", "x").text == "x")
            try daemon.send(.terminate)
            #expect(try daemon.end() == "exit status 0")
            #expect(daemon.log.contains("that hang and were replaced are not waited for: images"))
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `leaves a durable job that has ended, after a restart too`() throws {
        let scratch = try Scratch()
        let setup = Setup(
            threads: "images: { stuckAfter: \"50ms\", whenStuck: \"replace\" }",
            store: "\"$DIR/jobs.sqlite\"")
        let before = try TestDaemon(setup, in: scratch, program: "ProgramObedient")
        defer { before.kill() }
        let orders = try Orders("orders", in: scratch)
        let client = try before.connect()
        let reply = try client.call(
            "PERFORM", "images", "obey", "TIMEOUT", 1, "WAIT", orders.payload)
        #expect(reply.errorWord == "TIMEOUT")
        // An end is recorded by the time that a later job is accepted.
        _ = try client.perform("images", "echo", "DELAY", 3_600_000, "later")
        try before.crash()
        let after = try TestDaemon(setup, in: scratch, logName: "log2", program: "ProgramObedient")
        defer { after.kill() }
        let again = try after.connect()
        #expect(try again.call("RESULT", 1, "WAIT").errorWord == "TIMEOUT")
        #expect(try again.job(1, "state").text == "failed")
        #expect(try again.job(1, "attempt") == .integer(1))
    }

    /// How many threads of a process have this name.
    private func threadCount(named name: String, of processID: Int) throws -> Int {
        try Directory.names(in: "/proc/\(processID)/task").count { thread in
            let path = "/proc/\(processID)/task/\(thread)/comm"
            let bytes = (try? File.read(path, atMost: 64)) ?? []
            return String(decoding: bytes, as: UTF8.self) == "\(name)\n"
        }
    }
}
