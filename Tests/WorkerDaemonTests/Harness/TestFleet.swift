// Daemons that share the threads of one database, as on machines of their own.

import Kernel
import PostgreSQLServer
import RESP
import Support
import Testing

/// Nodes that share the threads of one database.
final class TestFleet {
    static let threads = ["alpha", "beta", "gamma", "delta"]
    let database: String
    private(set) var nodes: [String: TestNode] = [:]

    private let more: String
    /// The threads of each node that is started next, as in a configuration.
    var configured: String?

    init(
        _ names: String..., threads configured: String? = nil, more: String = ""
    ) throws {
        database = try PostgreSQLServer.shared.get().makeDatabase()
        self.more = more
        self.configured = configured
        for name in names { try start(name) }
        for node in nodes.values { try node.daemon.waitUntilListening() }
    }

    func start(_ name: String, threads: [String] = TestFleet.threads) throws {
        nodes[name] = try TestNode(
            name, in: database,
            threads: configured ?? threads.map { "\($0): {}" }.joined(separator: ", "),
            shares: true,
            selectors: "long: { program: [\"sleep\", \"3600\"] }", more: more)
    }

    func node(_ name: String) throws -> TestNode {
        guard let node = nodes[name] else { throw Unexpected("there is no node \(name)") }
        return node
    }

    func connect(to name: String) throws -> TestClient {
        let client = try node(name).daemon.connect()
        _ = try client.call("AUTH", .text(TestNode.password))
        return client
    }

    func sql(_ text: String) throws -> String { try PostgreSQLServer.run(text, at: database) }

    /// The threads of each node, as the tables say.
    func places() throws -> [String: [String]] {
        let rows = try sql(
            """
            SELECT n.name, t.name FROM workerd.threads t JOIN workerd.nodes n USING (seat)
            WHERE moved = 0 ORDER BY t.name
            """)
        var places: [String: [String]] = [:]
        for row in rows.split(separator: "\n") {
            let parts = row.split(separator: "|").map(String.init)
            places[parts[0], default: []].append(parts[1])
        }
        return places
    }

    /// Waits until each node has so many threads.
    func waitUntil(_ counts: [String: Int]) throws {
        try eventually("the threads are spread as \(counts)") {
            for node in nodes.values where !node.daemon.isRunning {
                throw Unexpected("workerd ended: \(node.daemon.log)")
            }
            return try places().mapValues(\.count) == counts
        }
    }

    func kill(_ name: String) throws {
        try node(name).daemon.kill()
        nodes[name] = nil
    }

    /// Asks a node to end.
    @discardableResult
    func end(_ name: String) throws -> TestNode {
        let node = try node(name)
        try node.daemon.send(.terminate)
        leaving = nodes.removeValue(forKey: name)
        return node
    }
    private var leaving: TestNode?

    deinit { for node in nodes.values { node.daemon.kill() } }
}
