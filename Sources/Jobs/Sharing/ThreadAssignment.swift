// Which of several daemons is to have each thread. Pure: daemons that see the same nodes come to
// the same assignment, without a word between them.
//
// Each node has a score for each thread, of the two names only, so that a node that comes or goes
// moves few threads of others. No node gets one more than its share while another one lacks some.
// The slots of a spread pool are shared by themselves: each node that serves it gets its part.

/// The assignment of threads to nodes.
package struct ThreadAssignment: Sendable, Equatable {
    /// A living node.
    private struct Node: Equatable {
        let seat: Int64
        /// The hash of its name, which goes on with the name of a thread.
        let hash: UInt64
    }

    /// In the order of their numbers, which decides between equal scores.
    private var nodes: [Node] = []
    /// For each thread, the places of the nodes that can run it.
    private var able: [String: [Int]] = [:]
    /// For each thread, the place of the node that is to have it.
    private var best: [String: Int] = [:]

    /// Assigns threads.
    ///
    /// - Parameters:
    ///   - threads: the names of threads and pools, each once.
    ///   - nodes: the living nodes that have a seat.
    /// - Complexity: O(threads * log threads + names), with the names of threads that the nodes
    ///   can run, a name for each node.
    package init(_ threads: some Sequence<String>, among nodes: [StoreNode]) {
        for node in nodes.sorted(by: { $0.id < $1.id }) {
            guard let seat = node.seat else { continue }
            for thread in node.threads where able[thread]?.last != self.nodes.count {
                able[thread, default: []].append(self.nodes.count)
            }
            self.nodes.append(Node(seat: seat, hash: NameHash.of(Array(node.name.utf8) + [0])))
        }
        guard !self.nodes.isEmpty else { return }
        let threads = threads.sorted()
        let spread = SpreadPools(of: threads)
        let none = [Int](repeating: 0, count: self.nodes.count)
        let otherShare =
            (threads.count - spread.counts.values.reduce(0, +)) / self.nodes.count
        /// How many each node has of the slots of each spread pool, and of all other threads.
        var counts: [String: [Int]] = [:]
        for thread in threads {
            guard let able = able[thread] else { continue }
            let pool = PoolSlot.shown(thread)
            let slotCount = spread.count(of: pool)
            let share = slotCount > 1 ? slotCount / able.count : otherShare
            let group = slotCount > 1 ? pool : ""
            let best = best(of: able, for: thread, counts[group] ?? none, share)
            counts[group, default: none][best] += 1
            self.best[thread] = best
        }
    }

    /// The best node that has less than its share; one that has its share, if there is none.
    private func best(
        of able: [Int], for thread: String, _ counts: [Int], _ share: Int
    ) -> Int {
        var found = able[0]
        var bestScore: (Int, UInt64, Int)?
        for place in able {
            // Less than the share counts the same, whatever lacks.
            let next = ((share - counts[place]).signum(), score(of: place, for: thread), place)
            if bestScore.map({ $0 < next }) ?? true { (found, bestScore) = (place, next) }
        }
        return found
    }

    /// The seat that is to have a thread; nil if no node can run it.
    package func seat(of thread: String) -> Int64? { best[thread].map { nodes[$0].seat } }

    /// The rank of a seat for a thread: 0 if it is to have it; nil if its node can't run it.
    ///
    /// - Complexity: O(nodes that can run it).
    package func rank(of seat: Int64, for thread: String) -> Int? {
        guard let best = best[thread], let able = able[thread],
            let own = able.first(where: { nodes[$0].seat == seat })
        else { return nil }
        guard own != best else { return 0 }
        let ownScore = (score(of: own, for: thread), own)
        return able.count { $0 == best || (score(of: $0, for: thread), $0) > ownScore }
    }

    /// The score of a node for a thread; the last step is that of splitmix64.
    private func score(of place: Int, for thread: String) -> UInt64 {
        var hash = NameHash.of(thread.utf8, after: nodes[place].hash)
        hash = (hash ^ hash >> 30) &* 0xbf58_476d_1ce4_e5b9
        hash = (hash ^ hash >> 27) &* 0x94d0_49bb_1331_11eb
        return hash ^ hash >> 31
    }
}
