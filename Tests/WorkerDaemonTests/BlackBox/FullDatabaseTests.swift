// A database server whose disk is full: it refuses what needs room, and serves on.

import PostgreSQLServer
import RESP
import Support
import Testing

@Suite(.enabled(if: PostgreSQLServer.isInstalled, .init(rawValue: PostgreSQLServer.excuse)))
struct FullDatabaseTests {
    @Test(.timeLimit(.minutes(2)))
    func `jobs are refused with the reason while there is no room, and none is lost`() throws {
        let server = try PostgreSQLServer(diskFaults: try diskShim.get())
        let address = try server.makeDatabase()
        let scratch = try Scratch()
        let setup = Setup(
            threads: "images: {}, mail: {}", store: "\"\(address)\", stateDirectory: \"$DIR\"")
        var daemon = try TestDaemon(setup, in: scratch)
        defer { daemon.kill() }
        var random = SeededRandom(seed: 53_100)
        /// Bytes that the server can't store in a row or compress.
        func large() -> [UInt8] { (0..<300_000).map { _ in UInt8(random.below(256)) } }
        let kept = large()
        try daemon.check {
            let (client, waiting) = (try daemon.connect(), try daemon.connect())
            try client.pauseAndWait("images")
            try waiting.send("PERFORM", "images", "echo", "WAIT", .bytes(kept))
            func sql(_ text: String) throws -> String {
                try PostgreSQLServer.run(text, at: address)
            }
            try eventually("it is accepted") {
                try sql("SELECT count(*) FROM workerd.jobs") == "1\n"
            }
            try server.setDisk(isFull: true)
            let refusal = try client.call("PERFORM", "images", "echo", .bytes(large()))
            #expect(refusal.errorWord == "BUSY")
            #expect("\(refusal)".contains("there is no room"), "\(refusal)")
            #expect("\(refusal)".contains("No space left on device"), "\(refusal)")
            #expect(try client.call("PERFORM", "mail", "echo", "VOLATILE", "x").integer != nil)

            // Its result needs room: the end is kept in memory, and written when there is some.
            _ = try client.call("RESUME", "images")
            #expect(try waiting.reply() == .bulk(kept))
            #expect(try client.job(1, "state").text == "done")
            #expect(try sql("SELECT count(*) FROM workerd.ended") == "0\n")
            try server.setDisk(isFull: false)
            try eventually("the end is written") {
                try sql("SELECT attempt FROM workerd.ended") == "1\n"
            }
            try eventually("jobs are accepted again") {
                try client.call("PERFORM", "images", "echo", "WAIT", .bytes(kept)) == .bulk(kept)
            }
        }
        try daemon.crash()
        daemon = try TestDaemon(setup, in: scratch, logName: "log2")
        try daemon.check {
            let client = try daemon.connect()
            #expect(try client.call("RESULT", 1) == .bulk(kept))
            #expect(try client.call("JOBS", "done").elements?.count == 2)
            #expect(try client.call("JOBS", "waiting").elements?.isEmpty == true)
        }
    }
}
