// Commands with wrong options and numbers: each is refused by name and changes nothing.

import RESP
import Support
import Testing

@Suite struct `Bad options` {
    /// Wrong arguments, and the word that the answer has to mention.
    private static let wrong: [([CommandArgument], String)] = [
        (["PERFORM", "images", "echo", "DELAY", "-1", "x"], "DELAY must be a whole number"),
        (["PERFORM", "images", "echo", "DELAY", "soon", "x"], "'soon'"),
        (["PERFORM", "images", "echo", "DELAY", "1.5", "x"], "'1.5'"),
        (["PERFORM", "images", "echo", "DELAY", "99999999999999999999", "x"], "DELAY must be"),
        (["PERFORM", "images", "echo", "DELAY", "9223372036854775807", "x"], "DELAY must be"),
        (["PERFORM", "images", "echo", "DELAY", "x"], "DELAY needs a number"),
        (["PERFORM", "images", "echo", "AT", "-5", "x"], "AT must be a whole number"),
        (["PERFORM", "images", "echo", "AT", "1", "DELAY", "1", "x"], "DELAY and AT"),
        (["PERFORM", "images", "echo", "WAIT", "-1", "x"], "WAIT must be a whole number"),
        (["PERFORM", "images", "echo", "WAIT", "1x", "x"], "'1x'"),
        (["PERFORM", "images", "echo", "TIMEOUT", "0", "x"], "TIMEOUT must be at least 1"),
        (["PERFORM", "images", "echo", "TIMEOUT", "-3", "x"], "TIMEOUT must be a whole number"),
        (["PERFORM", "images", "echo", "PRIORITY", "urgent", "x"], "normal or low, is 'urgent'"),
        (["PERFORM", "images", "echo", "PRIORITY", "x"], "high, normal or low"),
        (["PERFORM", "images", "echo", "DELAY", "5", "DELAY", "6", "x"], "DELAY is given twice"),
        (["PERFORM", "images", "echo", "wait", "Wait", "x"], "WAIT is given twice"),
        (["PERFORM", "images", "echo", "KEY", "k", "RETRY", "1", "KEY", "k", "x"], "KEY is given"),
        (["PERFORM", "images", "echo", "VOLATILE", "VOLATILE", "x"], "VOLATILE is given twice"),
        (["PERFORM", "images", "echo", "SOMETIME", "x"], "unknown option 'SOMETIME'"),
        (["PERFORM", "images", "echo", "two", "words"], "unknown option 'two'"),
        (["PERFORM", "images", "echo", "", "x"], "unknown option ''"),
        (["RESULT", "x"], "a job's number is a positive integer, not 'x'"),
        (["RESULT", "0"], "positive integer"),
        (["RESULT", "-1"], "positive integer"),
        (["RESULT", "1", "SOON"], "'SOON' is not WAIT"),
        (["RESULT", "1", "WAIT", "-1"], "WAIT must be"),
        (["JOB", "1.0"], "'1.0'"),
        (["JOB", "99999999999999999999999"], "positive integer"),
        (["CANCEL", "images"], "not 'images'; for jobs of a thread: CANCEL thread selector"),
        (["RETRY", "ALL"], "ALL needs a selector"),
        (["DROP", "all"], "ALL needs a selector"),
        (["DROP", "ALL", "echo", "x"], "usage: DROP id | ALL selector"),
        (
            ["SCHEDULE", "a", "EVERY", "99", "MISSED", "some", "images", "echo", "x"],
            "once, all or none, is 'some'"
        ),
        (
            ["SCHEDULE", "a", "EVERY", "99", "PRIORITY", "top", "images", "echo", "x"],
            "normal or low, is 'top'"
        ),
        (
            ["SCHEDULE", "a", "EVERY", "99", "RETRY", "1", "retry", "2", "images", "echo", "x"],
            "RETRY is given twice"
        ),
        (["JOBS", "LIMIT", "1", "LIMIT", "2"], "LIMIT is given twice"),
        (["JOBS", "LIMIT"], "LIMIT needs a number"),
        (["JOBS", "LIMIT", "-1"], "LIMIT must be"),
        (["JOBS", "LIMIT", "many"], "'many'"),
        (["JOBS", "images", "running", "what"], "'what'"),
        (["SHUTDOWN", "LATER"], "'LATER'"),
        (["SELECT", "1"], "database 0"),
        (["CLIENT", "DANCE"], "'DANCE'"),
        (["CLIENT", "SETNAME", "two words"], "Client names"),
        (["CONFIG", "SET", "save", "no"], "GET only"),
        (["CONFIG", "GET"], "GET only"),
        (["COMMAND", "DANCE"], "'DANCE'"),
        (["HELLO", "2", "DANCE"], "'DANCE'"),
        (["HELLO", "2", "SETNAME"], "'SETNAME'"),
        (["AUTH", "secret"], "without any password"),
    ]

    @Test(.timeLimit(.minutes(2)))
    func `each fault is named and no job comes of it`() throws {
        try withDaemon { daemon in
            let client = try daemon.connect()
            for (command, fault) in Self.wrong {
                try client.send(TestClient.bytes(command))
                let reply = try client.reply()
                #expect(reply.errorWord == "ERR", "\(command): \(reply)")
                #expect(reply.errorMessage?.contains(fault) == true, "\(command): \(reply)")
            }
            #expect(try client.figure("total_jobs_accepted") == 0)
            #expect(try client.call("CLIENT", "GETNAME") == .null)
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `an unknown version of the protocol is NOPROTO and the old one stays`() throws {
        try withDaemon { daemon in
            let client = try daemon.connect()
            for version: CommandArgument in ["1", "4", "x", "-3", "99999999999999999999"] {
                #expect(try client.call("HELLO", version).errorWord == "NOPROTO")
            }
            guard case .array = try client.call("HELLO") else {
                throw Unexpected("version 2 has no maps")
            }
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `killing clients that are not there answers 0`() throws {
        try withDaemon { daemon in
            let client = try daemon.connect()
            for id: CommandArgument in ["-1", "0", "77", "x", "-9223372036854775808"] {
                #expect(try client.call("CLIENT", "KILL", "ID", id) == .integer(0))
            }
        }
    }
}
