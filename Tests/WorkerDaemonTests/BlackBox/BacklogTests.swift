// Jobs that end while the store can't be written: a crash makes none of them run again.

import Glibc
import Kernel
import RESP
import Support
import Testing

@Suite struct `A daemon whose store is far behind` {
    @Test(.timeLimit(.minutes(2)))
    func `begins no more than it can remember, and runs nothing again after a crash`() throws {
        let scratch = try Scratch()
        let first = try TestDaemon(.durable, in: scratch)
        defer { first.kill() }
        let client = try first.connect()
        _ = try client.call("PAUSE", "images")
        // Their beginnings and ends are more than the attempt log has room for.
        let count = 9_000
        var bytes: [UInt8] = []
        for _ in 0..<count { bytes += TestClient.bytes(["PERFORM", "images", "echo", "x"]) }
        try client.send(bytes)
        for number in 1...count { #expect(try client.reply() == .integer(number)) }
        try first.allowFiles(ofByteCount: 4_096)
        _ = try client.call("RESUME", "images")
        // Three eighths of the log's entries.
        let doneCount = 6_144
        try eventually("no more begin") { try client.figure("total_jobs_done") == doneCount }
        try first.crash()
        let second = try TestDaemon(.durable, in: scratch, logName: "log2")
        defer { second.kill() }
        let again = try second.connect()
        _ = try again.call("RESUME", "images")
        try eventually("all have ended") {
            try again.figure("waiting_jobs") == 0 && again.figure("running_jobs") == 0
        }
        #expect(try again.figure("total_jobs_done") == count - doneCount)
    }

    @Test(.timeLimit(.minutes(2)))
    func `goes on when the store can be written again, and not while it is paused`() throws {
        let scratch = try Scratch()
        let daemon = try TestDaemon(.durable, in: scratch)
        defer { daemon.kill() }
        let client = try daemon.connect()
        _ = try client.call("PAUSE", "images")
        let count = 9_000
        var bytes: [UInt8] = []
        for _ in 0..<count { bytes += TestClient.bytes(["PERFORM", "images", "echo", "x"]) }
        try client.send(bytes)
        for number in 1...count { #expect(try client.reply() == .integer(number)) }
        try daemon.allowFiles(ofByteCount: 4_096)
        _ = try client.call("RESUME", "images")
        try eventually("no more begin") { try client.figure("total_jobs_done") == 6_144 }
        // The thread waits with the next job: that does not begin while it is paused.
        #expect(try client.call("PAUSE", "images").errorWord == "BUSY")
        try daemon.allowFilesOfAnySize()
        try eventually("jobs are accepted") {
            try client.call("PERFORM", "images", "echo", "x").integer != nil
        }
        let late = try client.call("PERFORM", "images", "echo", "WAIT", 300, "x")
        #expect(late.errorWord == "TIMEOUT")
        #expect(try client.figure("total_jobs_done") == 6_144)
        _ = try client.call("RESUME", "images")
        try eventually("all have ended") { try client.figure("total_jobs_done") == count + 2 }
    }
}
