// The seat of a daemon that shares the threads of a database with others. Each run of a daemon has
// a seat of its own, and `workerd.threads` says which threads belong to it.
//
//     seat 1    an exclusive lock: one daemon has all threads
//               shared locks: daemons share them, each with the exclusive lock of its own seat
//
// So a daemon of the one kind waits for those of the other. When the lock of a daemon's seat is
// free, every transaction of it is decided; another daemon raises its epoch and moves its threads
// in one transaction, so that it can't go on should it come back.

internal import Jobs
internal import Journals

extension Seat {
    /// The setting that says how threads without a row have come to be without an owner.
    static let restSetting = "rest_moved"
    /// The epoch of seat 1 when a daemon has last shared the threads.
    static let sharedSetting = "shared_epoch"
    /// The epoch of seat 1 that has ended in order.
    static let closedSetting = "closed_epoch"

    /// Tries the locks of a seat among several.
    func lockShare(on connection: ServerConnection) throws(ServerError) -> Bool {
        if number != Self.whole, try !lock(number, on: connection) { return false }
        let parameters = Parameters(lock: Self.whole)
        return try connection.rows(
            "SELECT pg_try_advisory_lock_shared($1::bigint::integer, $2::bigint::integer)",
            parameters
        ).first?.isTrue(0) == true
    }

    /// Makes a seat of its own for this run; part of the transaction that takes it.
    func takeShare(on connection: ServerConnection) throws(StoreFault) {
        try asking { () throws(ServerError) in
            let new = try connection.rows(
                """
                INSERT INTO workerd.seats (id, epoch, batch)
                VALUES (nextval('workerd.seat_numbers'), 0, 0) RETURNING id
                """
            ).first?.integer(0)
            guard let new, try lock(new, on: connection) else {
                throw ServerError(code: "XX000", message: "there is no free seat")
            }
            number = new
            try endWhole(on: connection)
            // A daemon that lives takes its seat anew with each connection.
            try connection.send(
                """
                WITH gone AS (
                    DELETE FROM workerd.seats WHERE id > \(Self.whole)
                        AND taken_at < now() - interval '1 day'
                        AND NOT EXISTS (SELECT FROM workerd.threads WHERE threads.seat = seats.id)
                        AND NOT EXISTS (SELECT FROM pg_locks WHERE locktype = 'advisory'
                            AND database = \(NodeEntry.database)
                            AND classid = \(ServerSchema.lockClass)::oid
                            AND objid = seats.id::oid)
                    RETURNING id
                ) DELETE FROM workerd.batches USING gone WHERE seat = gone.id
                """)
        }
    }

    /// Ends the epochs of all daemons that shared the threads: they may not go on.
    ///
    /// Part of the transaction that takes the seat with all threads. One of them may have lost its
    /// session only, and come back when this daemon has gone.
    func endShares(on connection: ServerConnection) throws(StoreFault) {
        try asking { () throws(ServerError) in
            try connection.send(
                "UPDATE workerd.seats SET epoch = epoch + 1 WHERE id > \(Self.whole)")
        }
    }

    /// Ends the epoch of a daemon that had all threads: it may not go on.
    ///
    /// If there was one since daemons have last shared the threads, no row of the threads counts.
    private func endWhole(on connection: ServerConnection) throws(ServerError) {
        var parameters = Parameters()
        parameters.add(Self.whole)
        parameters.add(Self.sharedSetting)
        parameters.add(Self.closedSetting)
        let row = try connection.rows(
            """
            UPDATE workerd.seats seat SET epoch = epoch + 1 WHERE id = $1::bigint::integer
            RETURNING epoch,
                (SELECT value FROM workerd.settings WHERE name = $2::text) = epoch - 1,
                epoch = 1
                    OR (SELECT value FROM workerd.settings WHERE name = $3::text) = epoch - 1
            """, parameters
        ).first
        guard let row else { throw ServerError(code: "XX000", message: "there is no seat 1") }
        if !row.isTrue(1) {
            try connection.send("DELETE FROM workerd.threads")
            let moved = row.isTrue(2) ? ServerSchema.Moved.handedOver : .takenOver
            try keep(Self.restSetting, moved.rawValue, on: connection)
            try connection.send(
                """
                DELETE FROM workerd.settings
                WHERE name IN ('\(AttemptMarks.presentSetting)', '\(AttemptMarks.learntSetting)')
                """)
        }
        try keep(Self.sharedSetting, row.integer(0), on: connection)
    }

    private func keep(
        _ name: String, _ value: Int64, on connection: ServerConnection
    ) throws(ServerError) {
        var parameters = Parameters()
        parameters.add(name)
        parameters.add(value)
        try connection.send(ServerSchema.keepSetting, parameters)
    }
}
