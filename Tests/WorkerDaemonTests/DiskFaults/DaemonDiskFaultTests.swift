// Fails a call of the daemon to its disk, in each way: no number that was given is lost, every
// refusal has a sentence, the log says what happened, and the daemon goes on when the disk does.
//
// A few calls each; with FAULTS in the environment each n-th, up to the last (Scripts/fault-test).

import Kernel
import RESP
import Support
import Testing

@Suite struct DaemonDiskFaultTests {
    @Test(
        .timeLimit(.minutes(60)),
        arguments: [
            ("EIO", "any", 1), ("EIO", "sync", 1), ("EIO", "sync", 0), ("ENOSPC", "write", 1),
            ("ENOSPC", "write", 0), ("SHORT", "write", 1),
        ])
    func `a disk that fails loses no job that was accepted`(
        error: String, calls: String, count: Int
    ) throws {
        // At the start, among the first jobs, and later.
        let few = calls == "any" ? [14, 62, 87] : [3, 12, 21]
        let caseCount = try forEachFault(error, calls, count, orElse: few) { try run($0, $1) }
        tellFaultCases(caseCount, "the daemon's disk, \(error) \(calls) \(count)")
    }

    @Test(
        .timeLimit(.minutes(60)),
        arguments: [("EIO", "any", 1), ("EIO", "sync", 0), ("ENOSPC", "write", 1)])
    func `a disk that fails while a daemon starts anew loses no job either`(
        error: String, calls: String, count: Int
    ) throws {
        let few = calls == "any" ? [3, 11] : [2]
        let caseCount = try forEachFault(error, calls, count, orElse: few) { try restart($0, $1) }
        tellFaultCases(caseCount, "the daemon's disk at a restart, \(error) \(calls) \(count)")
    }

    /// Fails each of the calls in turn, until there are no more.
    ///
    /// - Returns: the number of failed calls.
    private func forEachFault(
        _ error: String, _ calls: String, _ count: Int, orElse few: [Int],
        _ body: (DiskFault, Scratch) throws -> Void
    ) throws -> Int {
        var caseCount = 0
        for number in faultNumbers(orElse: few) {
            let fault = DiskFault(error: error, calls: calls, number: number, count: count)
            let scratch = try Scratch()
            do {
                try body(fault, scratch)
            } catch {
                Issue.record(
                    "\(fault): \(error)\n\(scratch.read("log"))\n\(scratch.read("log2"))")
            }
            guard scratch.read("calls").contains(" \(error == "SHORT" ? "ENOSPC" : error)\n") else {
                break
            }
            caseCount += 1
        }
        return caseCount
    }

    /// Expects that a daemon that can't open its file says so and ends.
    private func expectNoStart(of daemon: TestDaemon, _ fault: DiskFault) throws {
        let end = try daemon.end()
        #expect(end.hasPrefix("exit status") && end != "exit status 0", "\(fault): \(end)")
        #expect(daemon.log.contains("jobs.sqlite"), "\(fault), \(end): \(daemon.log)")
    }

    private func restart(_ fault: DiskFault, _ scratch: Scratch) throws {
        var given: [Int] = []
        var refusals: [RESPValue] = []
        let healthy = DiskFault(error: "EIO", calls: "none", number: 1, count: 0)
        let first = try TestDaemon(in: scratch, failing: healthy)
        defer { first.kill() }
        try first.waitUntilListening()
        try submit(to: first, &given, &refusals)
        let client = try first.connect()
        _ = try client.call("PAUSE", "images")
        for _ in 0..<3 { given.append(try client.perform("images", "note", "waits")) }
        #expect(refusals.isEmpty, "\(refusals)")
        try first.crash()
        try scratch.write("", to: "log")
        let daemon = try TestDaemon(in: scratch, failing: fault)
        defer { daemon.kill() }
        if try daemon.listensAtLast() {
            try daemon.crash()
        } else {
            try expectNoStart(of: daemon, fault)
        }
        try finish(given, scratch, fault)
    }

    private func run(_ fault: DiskFault, _ scratch: Scratch) throws {
        var given: [Int] = []
        var refusals: [RESPValue] = []
        let daemon = try TestDaemon(in: scratch, failing: fault)
        defer { daemon.kill() }
        if try daemon.listensAtLast() {
            try submit(to: daemon, &given, &refusals)
            // The disk works again; then everything is well without help.
            try scratch.write("", to: "control")
            let client = try daemon.connect()
            try eventually("it recovers") {
                let reply = try client.call("PERFORM", "images", "note", "at last")
                if let id = reply.integer { given.append(id) }
                return reply.integer != nil
            }
            if fault.number % 2 == 0 {
                try daemon.crash()
            } else {
                try client.send("SHUTDOWN")
                let end = try daemon.end()
                #expect(end == "exit status 0", "\(fault): \(daemon.log)")
            }
        } else {
            try expectNoStart(of: daemon, fault)
        }
        for refusal in refusals {
            #expect(refusal.errorWord == "BUSY", "\(fault): \(refusal)")
            #expect("\(refusal)".contains("jobs.sqlite"), "\(fault): \(refusal)")
        }
        if !refusals.isEmpty {
            #expect(daemon.log.contains("the journal can't write"), "\(fault): \(daemon.log)")
            #expect(daemon.log.contains("the journal writes again"), "\(fault): \(daemon.log)")
        }
        try finish(given, scratch, fault)
    }

    /// Submits some jobs one by one, some together.
    private func submit(
        to daemon: TestDaemon, _ given: inout [Int], _ refusals: inout [RESPValue]
    ) throws {
        let client = try daemon.connect()
        for (place, size) in [1, 1, 1, 4, 1, 1, 4, 1, 1, 1].enumerated() {
            if place == 3 || place == 6 {
                // Recorded too, and in effect whether it could be or not.
                let reply = try client.call(place == 3 ? "PAUSE" : "RESUME", "images")
                if reply.errorWord != nil { refusals.append(reply) }
            }
            for _ in 0..<size { try client.send("PERFORM", "images", "note", "a payload") }
            for _ in 0..<size {
                let reply = try client.reply()
                if let id = reply.integer { given.append(id) } else { refusals.append(reply) }
            }
        }
    }

    /// Restarts the daemon: accepted jobs that have not run run now.
    private func finish(_ given: [Int], _ scratch: Scratch, _ fault: DiskFault) throws {
        let second = try TestDaemon(afterFaultsIn: scratch)
        defer { second.kill() }
        let client = try second.connect()
        _ = try client.call("RESUME", "images")
        let last = try client.perform("images", "note", "the last")
        #expect(Set(given + [last]).count == given.count + 1, "\(fault): a number is given once")
        try eventually("all \(given) ran") {
            let lines = scratch.read("ledger").split(separator: "\n")
            let ran = Set(lines.compactMap { Int($0.split(separator: " ")[1]) })
            return ran.isSuperset(of: given + [last])
        }
    }
}
