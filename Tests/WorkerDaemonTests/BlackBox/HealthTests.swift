// The two words for probes.

import Kernel
import RESP
import Support
import Testing

@Suite struct `A probe` {
    @Test(.timeLimit(.minutes(2))) func `finds a daemon healthy whose handlers take long`() throws {
        try withDaemon(.http) { daemon in
            let client = try daemon.connect()
            let id = try client.perform("images", "sleep", "600000")
            try client.waitUntil(id, is: "running")
            let probe = try daemon.connectHTTP()
            #expect(try probe.get("/healthz").text == "ok\n")
            #expect(try probe.get("/readyz").text == "ok\n")
            _ = try client.call("CANCEL", .integer(id))
        }
    }

    @Test(.timeLimit(.minutes(2))) func `finds a store that can't be written`() throws {
        let scratch = try Scratch()
        let setup = Setup(listen: Setup.http.listen, store: "\"$DIR/jobs.sqlite\"")
        let daemon = try TestDaemon(setup, in: scratch, fileByteCountMax: 16 << 20)
        defer { daemon.kill() }
        let probe = try daemon.connectHTTP()
        #expect(try probe.get("/healthz").text == "ok\n")
        try daemon.allowFiles(ofByteCount: 512)
        try eventually("it is noticed") { try probe.get("/healthz").status == 503 }
        #expect(try probe.get("/healthz").text == "store\n")
        // Jobs that need no store are still taken.
        #expect(try probe.get("/readyz").status == 200)
        try daemon.allowFilesOfAnySize()
        try eventually("it has passed") { try probe.get("/healthz").text == "ok\n" }
        // Nothing of the probe stays in the store.
        #expect(try daemon.connect().call("SCHEDULES").elements == [])
        daemon.kill()
        let next = try TestDaemon(setup, in: scratch, logName: "second")
        defer { next.kill() }
        #expect(!next.log.contains("schedule"))
    }

    @Test(.timeLimit(.minutes(2))) func `is told that the daemon goes down`() throws {
        try withDaemon(.http) { daemon in
            let client = try daemon.connect()
            let id = try client.perform("images", "sleep", "600000")
            try client.waitUntil(id, is: "running")
            let probe = try daemon.connectHTTP()
            try daemon.send(.terminate)
            try eventually("it drains") { try probe.get("/readyz").status == 503 }
            #expect(try daemon.connectHTTP().get("/readyz").text == "draining\n")
            #expect(try probe.get("/healthz").text == "ok\n")
            _ = try client.call("CANCEL", .integer(id))
            #expect(try daemon.end() == "exit status 0")
        }
    }
}
