// The number of slots over which each pool is spread. All daemons have to agree on it, as the slot
// of a key depends on it. `workerd.settings` has it for each spread pool.
//
// A daemon that comes with another number moves the rows to their new slots, in the transaction
// that begins its run. It may do so only if no daemon serves the pool now. Each daemon that served
// it before must have ended in order, or be an earlier run of this one.

internal import Jobs
internal import Journals
internal import Wording

extension PostgreSQLStore {
    /// Spreads pools as a daemon's configuration says.
    ///
    /// - Parameter names: the names of its threads, pools and slots.
    /// - Throws: `unfit` if another daemon serves one of its pools with another number of slots.
    func agree(on names: [String]) throws(StoreFault) {
        let connection = try present()
        let nodes = try seat.asking { () throws(ServerError) in
            try NodeEntry.sharing(on: connection)
        }
        let wanted = SpreadPools(of: names)
        for pool in names where !PoolSlot.isOne(pool) {
            let count = wanted.count(of: pool)
            for node in nodes.all where node.seat != seat.number && node.threads.contains(pool) {
                let other = SpreadPools(of: node.threads).count(of: pool)
                guard other != count else { continue }
                throw seat.fault(
                    .unfit,
                    "node \(node.name) serves \(pool) in \(counted(other, "slot")), and "
                        + "threads.\(pool) of this configuration has \(count): all nodes must have "
                        + "the same; end them all for a change")
            }
            try spread(pool, over: count, nodes.places ?? ThreadPlaces())
        }
    }

    /// Brings all jobs of spread pools together: this daemon has all threads.
    func gatherSlots(at now: Int64) throws(StoreFault) {
        let pools = try slotCounts().keys.sorted()
        guard !pools.isEmpty else { return }
        try transaction(at: now, isSynced: true) { () throws(StoreFault) in
            for pool in pools { try move(pool, over: 1) }
        }
        // Their rows are in other pages of the table now.
        try readKept()
    }

    private func slotCounts() throws(StoreFault) -> [String: Int] {
        let prefix = ServerSchema.slotsSetting
        var counts: [String: Int] = [:]
        for row in try rows(
            "SELECT name, value FROM workerd.settings WHERE starts_with(name, '\(prefix)')"
        ).all {
            counts[String(row.text(0).dropFirst(prefix.count))] = Int(row.integer(1))
        }
        return counts
    }

    /// Moves the jobs of a pool to their slots, if their number has changed.
    private func spread(
        _ pool: String, over count: Int, _ places: ThreadPlaces
    ) throws(StoreFault) {
        let before = try slotCounts()[pool] ?? 1
        guard before != count else { return }
        let names = (0..<before).map { PoolSlot.name($0, of: pool) }
        for name in names {
            guard let owner = places.threads[name]?.seat, owner > Seat.whole,
                owner != seat.number
            else { continue }
            throw seat.fault(
                .unfit,
                "\(pool) is spread over \(counted(before, "slot")), of which a node has some that "
                    + "has not ended in order: start it with that number of slots, and end all "
                    + "nodes before a change")
        }
        try move(pool, over: count)
        guard names.contains(where: { places.threads[$0] != nil }) else { return }
        // As careful with each new slot as with any old one.
        var parameters = Parameters()
        parameters.add(.texts(names))
        let moved =
            try rows(
                """
                SELECT greatest(max(moved), \(ServerSchema.Moved.handedOver.rawValue),
                    CASE WHEN count(*) < cardinality($1::text[]) THEN (SELECT value
                        FROM workerd.settings WHERE name = '\(Seat.restSetting)') END)
                FROM workerd.threads WHERE name = ANY ($1::text[])
                """, parameters
            ).first?.integer(0) ?? ServerSchema.Moved.takenOver.rawValue
        try change("DELETE FROM workerd.threads WHERE name = ANY ($1::text[])", parameters)
        parameters = Parameters()
        parameters.add(.texts((0..<count).map { PoolSlot.name($0, of: pool) }))
        parameters.add(moved)
        try change(
            """
            INSERT INTO workerd.threads (name, seat, moved)
            SELECT name, 0, $2::bigint FROM unnest($1::text[]) AS name
            """, parameters)
    }

    /// The condition that a row is of a slot of the pool that parameter 1 names.
    static let isSlotOfPool = "(thread = $1::text OR starts_with(thread, $1::text || '#'))"

    /// Moves the rows of a pool to the slots of another number of them.
    private func move(_ pool: String, over count: Int) throws(StoreFault) {
        let setting = ServerSchema.slotsSetting + pool
        var parameters = Parameters()
        parameters.add(setting)
        if count == 1 {
            try change("DELETE FROM workerd.settings WHERE name = $1::text", parameters)
        } else {
            parameters.add(count)
            _ = try rows(ServerSchema.keepSetting, parameters)
        }
        parameters = Parameters()
        parameters.add(pool)
        let keyOrName = "coalesce(order_key, unique_name)"
        for (table, key, turn) in [
            ("jobs", "order_key", "id"), ("ended", "order_key", "id"),
            ("submitted", keyOrName, "place"), ("schedules", keyOrName, "0"),
        ] {
            let slot = "workerd.slot_of($1::text, \(key), \(turn))"
            try change(
                """
                UPDATE workerd.\(table) SET thread = \(slot)
                WHERE \(Self.isSlotOfPool) AND thread <> \(slot)
                """, parameters)
        }
        try lowerHeads(ofPool: pool)
    }
}
