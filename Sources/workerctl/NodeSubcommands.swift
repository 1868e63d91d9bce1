// The command that shows the daemons with one store.

internal import WorkerClient

enum NodeSubcommands {
    static var all: [Subcommand] {
        [
            Subcommand(
                name: "nodes", arguments: "",
                summary: "The daemons that share the store, and which of them serves.",
                details: """
                    One serves; the others wait to take over, and pass their clients on to ADDRESS
                    and HTTP. Or all serve, each the THREADS that it has. A node without an address
                    can't be passed on to: set node.address in its configuration. If a node that
                    serves is not reached, doctor says why.
                    """, wordCount: 0...0, run: nodes)
        ]
    }

    private static func nodes(_ invocation: Invocation) throws(Failure) {
        let nodes = try invocation.withDaemon("can't list the nodes") {
            (client) throws(WorkerClientError) in try client.nodes()
        }
        if invocation.isJSON { return try Output.write(.array(nodes.map(\.json))) }
        let areShared = nodes.contains { $0.threads != nil }
        var table = Table([
            ("NODE", .left), ("STATE", .left), ("SINCE", .left),
            areShared ? ("THREADS", .left) : ("EPOCH", .right), ("ADDRESS", .left), ("HTTP", .left),
        ])
        for node in nodes {
            let share = node.threads.map { $0.isEmpty ? "-" : $0.joined(separator: " ") }
            table.add([
                node.name, state(of: node), node.since.map(Durations.time) ?? "-",
                share ?? node.epoch.map { "\($0)" } ?? "-", node.address ?? "-", node.http ?? "-",
            ])
        }
        try Output.write(table.text(invocation.style))
    }

    private static func state(of node: NodeDescription) -> String {
        guard node.serves else { return "waits" }
        if !node.isReached { return "serves, not reached" }
        return node.isTrusted == false ? "serves, without trust" : "serves"
    }
}
