// Jobs that end while the store can't be written: a crash makes none of them run again.

import Glibc
import Kernel
import RESP
import Support
import Testing

@Suite struct `A daemon whose store is far behind` {
    /// The number of jobs: the attempt log has no room for all their beginnings and ends.
    private static let count = 9_000
    /// How many of them begin while the store can't be written: three eighths of the log's entries.
    private static let begunCount = 6_144

    /// Submits the jobs, and lets as many run as may while the store can't be written.
    private func fallBehind(_ daemon: TestDaemon, _ client: TestClient) throws {
        _ = try client.call("PAUSE", "images")
        var bytes: [UInt8] = []
        for _ in 0..<Self.count { bytes += TestClient.bytes(["PERFORM", "images", "echo", "x"]) }
        try client.send(bytes)
        for number in 1...Self.count { #expect(try client.reply() == .integer(number)) }
        try daemon.allowFiles(ofByteCount: 4_096)
        _ = try client.call("RESUME", "images")
        try eventually("no more begin") {
            try client.figure("total_jobs_done") == Self.begunCount
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `begins no more than it can remember, and runs nothing again after a crash`() throws {
        let scratch = try Scratch()
        let first = try TestDaemon(.durable, in: scratch)
        defer { first.kill() }
        try fallBehind(first, first.connect())
        try first.crash()
        let second = try TestDaemon(.durable, in: scratch, logName: "log2")
        defer { second.kill() }
        let again = try second.connect()
        _ = try again.call("RESUME", "images")
        try eventually("all have ended") {
            try again.figure("waiting_jobs") == 0 && again.figure("running_jobs") == 0
        }
        #expect(try again.figure("total_jobs_done") == Self.count - Self.begunCount)
    }

    @Test(.timeLimit(.minutes(2)))
    func `goes on when the store can be written again, and not while it is paused`() throws {
        let scratch = try Scratch()
        let daemon = try TestDaemon(.durable, in: scratch)
        defer { daemon.kill() }
        let client = try daemon.connect()
        try fallBehind(daemon, client)
        // The thread waits with the next job: that does not begin while it is paused.
        #expect(try client.call("PAUSE", "images").errorWord == "BUSY")
        try daemon.allowFilesOfAnySize()
        try eventually("jobs are accepted") {
            try client.call("PERFORM", "images", "echo", "x").integer != nil
        }
        let late = try client.call("PERFORM", "images", "echo", "WAIT", 300, "x")
        #expect(late.errorWord == "TIMEOUT")
        #expect(try client.figure("total_jobs_done") == Self.begunCount)
        _ = try client.call("RESUME", "images")
        try eventually("all have ended") {
            try client.figure("total_jobs_done") == Self.count + 2
        }
    }
}
