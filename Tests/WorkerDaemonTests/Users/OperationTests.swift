// The log of what operators did.

import Kernel
import RESP
import Support
import Testing
import WorkerDaemon

@Suite struct `An operation` {
    private static let ann = TestUser("ann", Roles.allNames)

    private func text(_ value: RESPValue) -> String {
        ["user", "command", "answer"].map { value[$0]?.text ?? "-" }.joined(separator: ": ")
    }

    @Test(.timeLimit(.minutes(2))) func `is listed with user, door, client and answer`() throws {
        try withUsers([Self.ann]) { doors in
            let client = try doors.connect(as: Self.ann)
            _ = try client.call("PAUSE", "images")
            _ = try client.call("PAUSE", "nowhere")
            let id = try client.perform("images", "echo", "secret payload")
            _ = try client.call("CANCEL", "images", "echo", "secret payload")
            _ = try client.call("CANCEL", .integer(id))
            _ = try client.call(
                "SCHEDULE", "s", "EVERY", "3600000", "KEY", "secret key", "images", "echo",
                "secret payload")
            _ = try client.call("UNSCHEDULE", "s")
            _ = try client.call("DROP", "ALL", "fail")
            _ = try client.call("CLIENT", "KILL", "ID", 99)
            _ = try client.call("JOBS")
            _ = try client.call("RESUME")
            let all = try client.call("OPERATIONS").elements ?? []
            #expect(
                all.map(text) == [
                    "ann: CLIENT KILL ID 99: 0", "ann: DROP ALL fail: 0", "ann: UNSCHEDULE s: 1",
                    "ann: SCHEDULE s …: OK", "ann: CANCEL \(id): toolate",
                    "ann: CANCEL images echo …: 1",
                    "ann: PAUSE nowhere: NOTHREAD there is no thread 'nowhere'; THREADS lists them",
                    "ann: PAUSE images: OK",
                ])
            let process = "process \(ProcessStatistics.processID) of user id \(UserID.own)"
            #expect(all.first?["peer"]?.text == process)
            #expect(all.first?["door"]?.text == doors.daemon.socket)
            #expect(try client.call("OPERATIONS", 2).elements?.count == 2)
            #expect(try client.call("OPERATIONS", 0).elements?.count == 0)
            let log = doors.daemon.log
            #expect(
                log.contains(
                    "notice: operation of ann at \(doors.daemon.socket) (\(process)): PAUSE images")
            )
            #expect(!log.contains("secret"))
        }
    }

    @Test(.timeLimit(.minutes(2))) func `is noted of HTTP as well`() throws {
        try withUsers([Self.ann]) { doors in
            let client = try HTTPTestClient(doors.address, key: Self.ann.secret)
            #expect(try client.post("/api/threads/images/pause").status == 200)
            let answer = try client.get("/api/operations").json()
            guard case .array(let all)? = answer["operations"], let first = all.first else {
                throw Unexpected("\(answer)")
            }
            #expect(first["command"] == .string("PAUSE images"))
            #expect(first["user"] == .string("ann"))
            #expect(first["door"] == .string("\(doors.address)"))
            if case .string(let peer)? = first["peer"] { #expect(peer.hasPrefix("127.")) }
            #expect(first["answer"] == .string("OK"))
        }
    }

    @Test(.timeLimit(.minutes(2))) func `makes room for newer ones`() throws {
        try withUsers([Self.ann]) { doors in
            let client = try doors.connect(as: Self.ann)
            for number in 1...1_003 {
                _ = try client.call("CLIENT", "KILL", "ID", .integer(1_000_000 + number))
            }
            let all = try client.call("OPERATIONS").elements ?? []
            #expect(all.count == 1_000)
            #expect(all.first?["command"]?.text == "CLIENT KILL ID 1001003")
            #expect(all.last?["command"]?.text == "CLIENT KILL ID 1000004")
        }
    }
}
