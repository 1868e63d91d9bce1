// The check of the daemons that share a database.

internal import WorkerClient
internal import Wording

extension Doctor {
    /// A node to which the daemon that was asked passes nothing on.
    private func linkFinding(_ node: NodeDescription) -> Finding {
        .fail(
            "nodes", "no commands are passed on to \(node.name): \(node.link ?? "?")",
            try: "node.address of \(node.name), its listen.tcp, and the network between: "
                + "PostgreSQL.md, If a node is not reached")
    }

    /// Whether each daemon of the store has told where others reach it, and is reached there.
    func nodeFindings() -> [Finding] {
        guard let serving = nodes.first(where: \.serves), hasDatabase else { return [] }
        let waiting = nodes.filter { !$0.serves }
        let mute = nodes.filter { $0.address == nil }.map(\.name)
        if waiting.isEmpty, nodes.count == 1 {
            let place = serving.address.map { "at \($0)" } ?? "without an address for others"
            return [.ok("nodes", "\(serving.name) serves alone, \(place)")]
        }
        guard mute.isEmpty else {
            return [
                .warn(
                    "nodes",
                    "clients are not passed on to \(mute.joined(separator: ", ")): no address",
                    try: "node.address in the configuration there")
            ]
        }
        if waiting.isEmpty {
            let failing = nodes.filter { !$0.isReached }.map(linkFinding)
            return failing.isEmpty
                ? [.ok("nodes", "\(counted(nodes.count, "node")) share the threads")] : failing
        }
        return [.ok("nodes", "\(serving.name) serves, \(counted(waiting.count, "other")) waiting")]
    }
}
