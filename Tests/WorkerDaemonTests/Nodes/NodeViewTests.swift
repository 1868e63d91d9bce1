// Nodes and their threads as INFO and the live view show them.

import RESP
import Support
import Testing

@testable import WorkerDaemon

@Suite struct `The view of a node` {
    @Test(.timeLimit(.minutes(2)))
    func `tells in INFO which node has which thread`() throws {
        try withLinkedNodes(3) { nodes in
            try nodes.own(["pool": 2])
            let client = try nodes.connect(1)
            #expect(
                try client.call("INFO", "nodes").text == """
                    # Nodes\r
                    node0:name=b,trusted=1,threads=two\r
                    node1:name=a,threads=one\r
                    node2:name=c,threads=pool\r

                    """)
            try nodes.own(["one": nil])
            #expect(try client.call("INFO", "nodes").text?.contains("name=a,threads=\r\n") == true)
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `tells in the live view where a thread is, and when that changes`() throws {
        try withLinkedNodes { nodes in
            let client = try nodes.connect(0)
            _ = try client.call("HELLO", 3)
            _ = try client.call("THREADS", "LIVE")
            let first = try pools(of: client)
            #expect(try #require(first["one"])["node"] == nil)
            #expect(try #require(first["two"])["node"]?["name"]?.text == "b")
            #expect(try #require(first["two"])["node"]?["http"]?.text == "http://10.0.0.1:7712")
            try nodes.own(["one": nil, "two": 0])
            nodes.advance(by: .seconds(2))
            let second = try pools(of: client)
            #expect(try #require(second["one"])["node"] == .null)
            #expect(try #require(second["two"])["node"] == nil)
        }
    }

    /// The rows of threads and pools in the next push of the live view.
    private func pools(of client: TestClient) throws -> [String: RESPValue] {
        guard case .push(let elements) = try client.reply() else {
            throw Unexpected("it is no push")
        }
        let rows = elements.lazy.compactMap { $0["pools"]?.elements }.first ?? []
        return Dictionary(uniqueKeysWithValues: rows.map { ($0["name"]?.text ?? "", $0) })
    }
}
