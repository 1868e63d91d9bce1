// The check of the daemons that share a database.

internal import WorkerClient
internal import Wording

extension Doctor {
    /// Whether each daemon of the store has told where others reach it.
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
            return [.ok("nodes", "\(counted(nodes.count, "node")) share the threads")]
        }
        return [.ok("nodes", "\(serving.name) serves, \(counted(waiting.count, "other")) waiting")]
    }
}
