// Which of several daemons is to have each thread. Pure: daemons that see the same nodes come to
// the same assignment, without a word between them.
//
// Each node has a score for each thread, of the two names only, so that a node that comes or goes
// moves few threads of others. No node gets one more than its share while another one lacks some.
// The slots of a spread pool are shared by themselves: each node that serves it gets its part.

/// The assignment of threads to nodes.
package struct ThreadAssignment: Sendable, Equatable {
    /// For each thread, the seats of the nodes that can run it, the best one first; the first of
    /// them is to have the thread.
    private var ranks: [String: [Int64]] = [:]

    /// Assigns threads.
    ///
    /// - Parameters:
    ///   - threads: the names of threads and pools.
    ///   - nodes: the living nodes that have a seat.
    /// - Complexity: O(threads * nodes * log nodes).
    package init(_ threads: [String], among nodes: [StoreNode]) {
        let nodes = nodes.filter { $0.seat != nil }
        guard !nodes.isEmpty else { return }
        let spread = SpreadPools(of: threads)
        let served = nodes.map { Set($0.threads) }
        /// How many each node has of the slots of each spread pool, and of all other threads.
        var countsByPool: [String: [Int]] = [:]
        let otherCount = threads.count - spread.counts.values.reduce(0, +)
        for thread in threads.sorted() {
            let able = nodes.indices.filter { served[$0].contains(thread) }
            let scores = able.map { (Self.score(thread, nodes[$0].name), nodes[$0].id, $0) }
            var order = scores.sorted { ($0.0, $0.1) > ($1.0, $1.1) }.map(\.2)
            let pool = PoolSlot.shown(thread)
            let slotCount = spread.count(of: pool)
            let isSpread = slotCount > 1
            let share =
                isSpread ? slotCount / max(1, able.count) : otherCount / nodes.count
            var counts =
                countsByPool[isSpread ? pool : ""] ?? [Int](repeating: 0, count: nodes.count)
            let first =
                order.firstIndex { counts[$0] < share } ?? order.firstIndex { counts[$0] == share }
            if let first { order.insert(order.remove(at: first), at: 0) }
            if let best = order.first { counts[best] += 1 }
            countsByPool[isSpread ? pool : ""] = counts
            ranks[thread] = order.compactMap { nodes[$0].seat }
        }
    }

    /// The seat that is to have a thread; nil if no node can run it.
    package func seat(of thread: String) -> Int64? { ranks[thread]?.first }

    /// The rank of a seat for a thread: 0 if it is to have it; nil if its node can't run it.
    package func rank(of seat: Int64, for thread: String) -> Int? {
        ranks[thread]?.firstIndex(of: seat)
    }

    /// - Source: FNV-1a, www.isthe.com/chongo/tech/comp/fnv; the last step is that of splitmix64.
    private static func score(_ thread: String, _ node: String) -> UInt64 {
        var hash: UInt64 = 0xcbf2_9ce4_8422_2325
        for byte in Array(node.utf8) + [0] + Array(thread.utf8) {
            hash = (hash ^ UInt64(byte)) &* 0x0000_0100_0000_01b3
        }
        hash = (hash ^ hash >> 30) &* 0xbf58_476d_1ce4_e5b9
        hash = (hash ^ hash >> 27) &* 0x94d0_49bb_1331_11eb
        return hash ^ hash >> 31
    }
}
