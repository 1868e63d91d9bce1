// Handlers that return nothing, synchronous or not: their jobs end well, with an empty result.

import RESP
import Testing

@Suite struct `A handler that returns nothing` {
    @Test(.timeLimit(.minutes(2)), arguments: ["log", "log-as-task"])
    func `is a handler, and its job's result is empty`(selector: String) throws {
        try withObedient { daemon in
            let client = try daemon.connect()
            let reply = try client.call("PERFORM", "images", .text(selector), "WAIT", "a line")
            #expect(reply.text == "")
            let id = try client.perform("images", .text(selector), "another")
            try client.waitUntil(id, is: "done")
        }
    }
}
