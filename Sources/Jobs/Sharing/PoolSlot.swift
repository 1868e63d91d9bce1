// The slots of a pool that several daemons serve together. A slot has one owner among them, and a
// job is of one slot from its acceptance on. Pure.
//
//     mail      the first slot; also the jobs for `mail/1` and the pool's other single threads
//     mail#1    the second one, as stores and daemons name it; clients see `mail`
//     mail#0    the first slot alone, in commands that daemons send each other

/// The names of slots, and the slots of keys.
package enum PoolSlot {
    private static let mark = UInt8(ascii: "#")

    /// The name of a slot as stores have it.
    package static func name(_ index: Int, of pool: String) -> String {
        index == 0 ? pool : "\(pool)#\(index)"
    }

    /// The name of a slot as commands between daemons have it.
    package static func alias(_ index: Int, of pool: String) -> String { "\(pool)#\(index)" }

    /// Whether a name is that of one slot of a pool: `mail#3`.
    package static func isOne(_ name: String) -> Bool { name.utf8.contains(mark) }

    /// The name that clients see: `mail` of `mail#3`, `mail/2` of itself.
    package static func shown(_ name: String) -> String {
        guard let end = name.utf8.firstIndex(of: mark) else { return name }
        return String(name[..<end])
    }

    /// The name that stores have: `mail` of `mail#0`.
    package static func stored(_ name: String) -> String {
        name.hasSuffix("#0") ? shown(name) : name
    }

    /// The slot of a key: FNV-1a of 32 bits, modulo the number of slots.
    ///
    /// The same for ever, and the same as `workerd.slot_of` in SQL: jobs of a key have to meet.
    package static func index(of key: [UInt8], among count: Int) -> Int {
        var hash: UInt32 = 0x811c_9dc5
        for byte in key { hash = (hash ^ UInt32(byte)) &* 0x0100_0193 }
        return Int(hash % UInt32(count))
    }

    /// The name of the slot of a key.
    package static func name(of key: [UInt8], of pool: String, among count: Int) -> String {
        name(index(of: key, among: count), of: pool)
    }
}

/// The pools that are spread over slots, and how many each has.
package struct SpreadPools: Sendable, Equatable {
    /// By the names of pools; each has at least two.
    package private(set) var counts: [String: Int] = [:]

    package init() {}

    /// Finds the spread pools among the names of threads and slots.
    ///
    /// - Parameter names: each name once, as in the list that a daemon shows to other daemons.
    package init(of names: some Sequence<String>) {
        for name in names where PoolSlot.isOne(name) {
            counts[PoolSlot.shown(name), default: 1] += 1
        }
    }

    /// How many slots a thread or pool has: 1 unless it is spread.
    package func count(of name: String) -> Int { counts[name] ?? 1 }

    /// The stored name of the slot of a request; the first slot if any will do.
    package func place(of request: borrowing JobRequest) -> String {
        guard let count = counts[request.thread], let key = request.slotKey else {
            return request.thread
        }
        return PoolSlot.name(of: key, of: request.thread, among: count)
    }

    package var isEmpty: Bool { counts.isEmpty }

    /// The stored names of the slots of a pool, or the name of a thread that is none.
    package func slots(of pool: String) -> [String] {
        (0..<count(of: pool)).map { PoolSlot.name($0, of: pool) }
    }

    /// Names for people: the part of a spread pool as `mail:6/16`.
    package func summary(of names: [String]) -> [String] {
        Dictionary(grouping: names, by: PoolSlot.shown).sorted { $0.key < $1.key }.map {
            pool, parts in
            count(of: pool) > 1 ? "\(pool):\(parts.count)/\(count(of: pool))" : pool
        }
    }

    /// The names by which daemons address the slots of a pool, each alone.
    package func aliases(of pool: String) -> [String] {
        (0..<count(of: pool)).map { PoolSlot.alias($0, of: pool) }
    }
}

extension JobRequest {
    /// The bytes that decide about its slot: its key or unique name, which other jobs may have that
    /// it has to meet; nil if any slot will do.
    package var slotKey: [UInt8]? { options.key ?? unique?.bytes }
}
