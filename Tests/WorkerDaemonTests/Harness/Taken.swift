// A job in the hands of a worker that a test plays.

import RESP
import Support

/// A job as a worker gets it.
struct Taken {
    let id: Int
    let token: String
    let reply: [RESPValue]

    init(_ reply: RESPValue) throws {
        guard let elements = reply.elements, elements.count == 8,
            let id = elements[0].integer, let token = elements[1].text
        else { throw Unexpected("no job: \(reply)") }
        (self.id, self.token, self.reply) = (id, token, elements)
    }

    /// The next job of selectors.
    static func take(_ worker: TestClient, _ selectors: CommandArgument...) throws -> Taken {
        try worker.send(TestClient.bytes(["TAKE", "WAIT", 60_000, "FROM"] + selectors))
        return try Taken(try worker.reply())
    }

    /// The next job of a selector for a worker with a name.
    static func take(
        _ worker: TestClient, as name: CommandArgument, _ selector: CommandArgument
    ) throws -> Taken {
        try worker.send(
            TestClient.bytes(["TAKE", "AS", name, "WAIT", 60_000, "FROM", selector]))
        return try Taken(try worker.reply())
    }

    var thread: String? { reply[2].text }
    var attempt: Int? { reply[4].integer }
    var payload: String? { reply[7].text }

    func ended(_ worker: TestClient, _ result: String) throws -> RESPValue {
        try worker.call("DONE", .integer(id), .text(token), .text(result))
    }

    /// Asks whether to go on.
    func report(_ worker: TestClient) throws -> RESPValue {
        try worker.call("REPORT", .integer(id), .text(token), 50, "half")
    }

    /// Reports its end, and waits for no answer.
    func sendEnd(_ worker: TestClient, _ result: String) throws {
        try worker.send("DONE", .integer(id), .text(token), .text(result))
    }
}
