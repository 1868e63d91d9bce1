// Delayed and buffered durable jobs in such numbers that memory holds only some of them: they are
// told of, taken back, fired and run as if all were there.

import Kernel
import RESP
import Support
import Testing

@Suite struct HeldTests {
    private static let count = 13_000
    private static var setup: Setup {
        var setup = Setup.durable
        setup.limits = "retainedResults: 100000"
        return setup
    }

    /// Sends a command for each number and looks at the ids.
    private func send(
        _ numbers: Range<Int>, to client: TestClient, first: Int,
        _ command: (Int) -> [CommandArgument]
    ) throws {
        for start in stride(from: numbers.lowerBound, to: numbers.upperBound, by: 5_000) {
            let part = start..<min(start + 5_000, numbers.upperBound)
            try client.send(part.flatMap { TestClient.bytes(command($0)) })
            for number in part {
                #expect(try client.reply() == .integer(number - numbers.lowerBound + first))
            }
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `delayed jobs beyond what memory holds are told of, taken back, and run when due`() throws
    {
        let scratch = try Scratch()
        let first = try TestDaemon(Self.setup, in: scratch)
        defer { first.kill() }
        let client = try first.connect()
        // The last is due first, so that those of before have to make room.
        try send(0..<Self.count, to: client, first: 1) {
            ["PERFORM", "images", "echo", "DELAY", .integer(3_600_000 - $0 * 10), .integer($0)]
        }
        #expect(try client.figure("delayed_jobs") == Self.count)
        #expect(try client.job(1, "state").text == "delayed")
        #expect(try client.job(Self.count, "state").text == "delayed")
        let newest = try client.call("JOBS", "delayed", "LIMIT", 2).elements ?? []
        #expect(newest.compactMap { $0["id"]?.integer } == [Self.count, Self.count - 1])
        #expect(try client.call("CANCEL", 1).text == "cancelled")
        #expect(try client.call("CANCEL", 1).text == "toolate")
        #expect(try client.call("CANCEL", .integer(Self.count)).text == "cancelled")
        #expect(try client.call("CANCEL", "images", "echo", "5") == .integer(1))
        #expect(try client.call("CANCEL", "images", "echo", "12000") == .integer(1))
        #expect(try client.figure("delayed_jobs") == Self.count - 4)
        #expect(try client.call("RESULT", 1).errorWord == "CANCELLED")
        // These are due together, in the middle of all that waits.
        let soon = 9_000
        try send(0..<soon, to: client, first: Self.count + 1) {
            ["PERFORM", "images", "echo", "DELAY", 1_500, .integer($0)]
        }
        let waits = try first.connect()
        try waits.send("RESULT", .integer(Self.count + soon), "WAIT")
        #expect(try waits.reply().text == "\(soon - 1)")
        try eventually("all that was due has run") {
            try client.figure("total_jobs_done") == soon
        }
        #expect(try client.figure("delayed_jobs") == Self.count - 4)
        try first.crash()
        let second = try TestDaemon(Self.setup, in: scratch, logName: "log2")
        defer { second.kill() }
        let again = try second.connect()
        // Of those that had run an end may not have been recorded: they run again.
        try eventually("all are counted, and nothing else is left") {
            try again.figure("delayed_jobs") == Self.count - 4
                && again.figure("waiting_jobs") == 0 && again.figure("running_jobs") == 0
        }
        #expect(try again.call("CANCEL", "images", "echo") == .integer(Self.count - 4))
        #expect(try again.figure("delayed_jobs") == 0)
    }

    @Test(.timeLimit(.minutes(2)))
    func `buffered jobs are in no memory, and are fired in order, before and after a crash`() throws
    {
        let scratch = try Scratch()
        let first = try TestDaemon(Self.setup, in: scratch)
        defer { first.kill() }
        let client = try first.connect()
        try send(0..<Self.count, to: client, first: 1) {
            ["BUFFER", "images", "echo", .integer($0)]
        }
        #expect(try client.figure("buffered_jobs") == Self.count)
        #expect(try client.job(7, "state").text == "buffered")
        #expect(try client.call("CANCEL", 7).text == "cancelled")
        #expect(try client.call("CANCEL", "images", "echo", "8000") == .integer(1))
        try first.crash()
        let second = try TestDaemon(Self.setup, in: scratch, logName: "log2")
        defer { second.kill() }
        let again = try second.connect()
        try eventually("all are counted") {
            try again.figure("buffered_jobs") == Self.count - 2
        }
        #expect(try again.call("BUFFER", "images", "echo", "more").integer != nil)
        #expect(try again.call("FIRE", "images") == .integer(Self.count - 1))
        #expect(try again.call("PERFORM", "images", "echo", "WAIT", "behind").text == "behind")
        try eventually("all have run") {
            try again.figure("total_jobs_done") == Self.count
        }
        #expect(try again.figure("buffered_jobs") == 0)
        #expect(try again.figure("delayed_jobs") == 0)
        #expect(try again.figure("waiting_jobs") == 0)
        #expect(try again.call("FIRE", "images") == .integer(0))
    }

    @Test(.timeLimit(.minutes(2)))
    func `SIGTERM leaves delayed and buffered jobs where they are, parked or not`() throws {
        let scratch = try Scratch()
        let first = try TestDaemon(Self.setup, in: scratch)
        defer { first.kill() }
        let client = try first.connect()
        try send(0..<Self.count, to: client, first: 1) {
            ["PERFORM", "images", "echo", "DELAY", 3_600_000, .integer($0)]
        }
        try send(0..<10, to: client, first: Self.count + 1) {
            ["BUFFER", "images", "echo", .integer($0)]
        }
        try first.send(.terminate)
        #expect(try first.end() == "exit status 0")
        #expect(
            first.log.contains("\(Self.count + 10) kept in the journal"),
            "\(first.log.suffix(500))")
    }
}

@Suite struct WaitingLimitTests {
    @Test(.timeLimit(.minutes(2)))
    func `what waits is limited by number and size, parked too, and BUSY says when to come back`()
        throws
    {
        var setup = Setup.durable
        setup.threads = "images: { maxQueuedBytes: \"2KB\" }, mail: {}"
        setup.limits = "waitingJobs: 5, waitingBytes: \"4KB\""
        try withDaemon(setup) { daemon in
            let client = try daemon.connect()
            let payload = CommandArgument.bytes([UInt8](repeating: 7, count: 900))
            #expect(try client.call("BUFFER", "images", "echo", payload) == .integer(1))
            #expect(
                try client.call("PERFORM", "images", "echo", "DELAY", 3_600_000, payload)
                    == .integer(2))
            let bytes = try client.call("BUFFER", "images", "echo", payload)
            #expect(
                bytes.errorMessage
                    == "thread images holds 1800 bytes of waiting jobs, its limit; "
                    + "try again in 60 s")
            #expect(try client.call("BUFFER", "mail", "echo", payload) == .integer(3))
            #expect(try client.call("BUFFER", "mail", "echo", payload) == .integer(4))
            let all = try client.call("BUFFER", "mail", "echo", payload)
            #expect(all.errorMessage == "3600 bytes of jobs waiting, the limit; try again in 60 s")
            #expect(try client.call("BUFFER", "mail", "echo", "x") == .integer(5))
            let count = try client.call("BUFFER", "mail", "echo", "x")
            #expect(count.errorMessage == "5 jobs waiting, the limit; try again in 60 s")
            #expect(try client.call("CANCEL", 1).text == "cancelled")
            #expect(try client.call("BUFFER", "images", "echo", payload) == .integer(6))
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `what is in memory only is limited together, and BUSY says when to come back`() throws {
        var setup = Setup(store: Setup.memory)
        setup.limits = "waitingJobs: 2, waitingBytes: \"1KB\""
        try withDaemon(setup) { daemon in
            let client = try daemon.connect()
            let payload = CommandArgument.bytes([UInt8](repeating: 7, count: 900))
            #expect(try client.call("BUFFER", "images", "echo", payload) == .integer(1))
            let bytes = try client.call("BUFFER", "images", "echo", payload)
            #expect(
                bytes.errorMessage
                    == "1 job of 900 bytes waiting or running, the limit; try again in 60 s")
            #expect(try client.call("BUFFER", "images", "echo", "x") == .integer(2))
            let count = try client.call("BUFFER", "images", "echo", "x")
            #expect(
                count.errorMessage
                    == "2 jobs of 901 bytes waiting or running, the limit; try again in 60 s")
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `jobs in the store leave no more room for one in memory only than for others`() throws {
        var setup = Setup.durable
        setup.limits = "waitingJobs: 2"
        try withDaemon(setup) { daemon in
            let client = try daemon.connect()
            for id in 1...2 {
                #expect(try client.call("BUFFER", "images", "echo", "x") == .integer(id))
            }
            #expect(try client.call("PERFORM", "images", "echo", "x").errorWord == "BUSY")
            let volatile = try client.call("PERFORM", "images", "echo", "VOLATILE", "x")
            #expect(volatile.errorWord == "BUSY")
        }
    }
}
