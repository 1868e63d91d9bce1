// A node that has lost its session with the database is missing from the looks until it has a new
// one, mostly for less than a second: all nodes are, in turn, when the server has been restarted.
// The links of clients to it work meanwhile. Pure.

internal import Jobs
internal import Kernel

/// The nodes that were there a moment ago, and may come back.
struct MissingNodes {
    /// How long a node may be missing.
    static let patience = Duration.seconds(3)

    private var since: [Int64: (node: StoreNode, date: Instant)] = [:]

    /// Their numbers do not change while they are missing.
    var all: [StoreNode] { since.values.map(\.node) }

    /// Looks at the nodes that are there now, and at those of the look before.
    ///
    /// A node is there once it has its seat: it enters its name before.
    ///
    /// - Returns: whether other nodes are missing than before.
    mutating func look(_ nodes: [StoreNode], after earlier: [StoreNode], at now: Instant) -> Bool {
        let before = Set(since.keys)
        for node in earlier where node.seat != nil && since[node.id] == nil {
            since[node.id] = (node, now)
        }
        for node in nodes where node.seat != nil { since[node.id] = nil }
        since = since.filter { now < $0.value.date.advanced(by: Self.patience) }
        return Set(since.keys) != before
    }
}
