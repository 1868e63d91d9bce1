// A database whose server is away for a while: no kept job begins, new ones are refused, and all
// goes on by itself.

import Kernel
import PostgreSQLServer
import RESP
import Support
import Testing

@Suite(
    .enabled(if: PostgreSQLServer.isInstalled, .init(rawValue: PostgreSQLServer.excuse)))
struct `A database server that is away` {
    @Test(.timeLimit(.minutes(2)))
    func `holds back kept jobs, and has the ends of others when it is there again`() throws {
        // Its own: the others' must not be stopped.
        let server = try PostgreSQLServer()
        let address = try server.makeDatabase()
        let setup = Setup(
            threads: "images: {}, others: {}",
            store: "\"\(address)\", stateDirectory: \"$DIR\"")
        let daemon = try TestDaemon(setup, in: try Scratch())
        defer { daemon.kill() }
        let client = try daemon.connect()
        _ = try client.call("PAUSE", "images")
        let held = try client.perform("images", "echo", "held")
        let running = try client.perform("others", "sleep", "1000")
        try client.waitUntil(running, is: "running")

        try server.control("stop")
        // Trust ends: three seconds after the last commit, which was before this.
        let end = SystemClock().now().advanced(by: .seconds(3))
        try eventually("trust has ended") { SystemClock().now() >= end }
        _ = try client.call("RESUME", "images")
        // Its end needs no server.
        try client.waitUntil(running, is: "done")
        #expect(try client.call("PERFORM", "others", "echo", "new").errorWord == "BUSY")
        let volatile = try client.perform("others", "echo", "VOLATILE", "in memory")
        try client.waitUntil(volatile, is: "done")
        #expect(try client.job(held, "state").text == "waiting")

        try server.control("start")
        try client.waitUntil(held, is: "done")
        try eventually("the ends are in the database") {
            try PostgreSQLServer.run(
                "SELECT count(*) FROM workerd.ended WHERE outcome = 1", at: address) == "2\n"
        }
        try daemon.send(.terminate)
        #expect(try daemon.end() == "exit status 0")
    }
}
