// The entry of a daemon in the table of nodes: its name and where others reach it.
//
// A row counts while a session of its daemon holds the advisory lock of the row's number, so
// nothing has to be written to stay known. The lock is taken before the row is there: a row that
// can be seen and whose lock is free belongs to a daemon that has ended. The daemon that serves is
// the one whose session holds the lock of the seat as well.

internal import Jobs
internal import Journals

/// The entry of this daemon.
///
/// - Thread: the journal's.
final class NodeEntry {
    private var card: NodeCard
    /// Whether the tables have an earlier card.
    private var isOutdated = false
    /// The number of this run, the same over all sessions with a server and its timeline.
    private var id: Int64?
    /// The session that holds its lock.
    private weak var holder: ServerConnection?

    init(_ card: NodeCard) { self.card = card }

    /// Whether a pool of this daemon has slots.
    var hasSlots: Bool { card.threads.contains(where: PoolSlot.isOne) }

    /// Enters the daemon by a session; does nothing if it is entered, if the tables are of an older
    /// version, or while an earlier session of the daemon is not over.
    func enter(on connection: ServerConnection) throws(ServerError) {
        guard holder !== connection, try Self.hasTable(on: connection) else { return }
        let number = try number(on: connection)
        let parameters = Parameters(lock: number, of: ServerSchema.nodeLockClass)
        let isLocked = try connection.rows(
            "SELECT pg_try_advisory_lock($1::bigint::integer, $2::bigint::integer)", parameters
        ).first?.isTrue(0)
        guard isLocked == true else { return }
        holder = connection
        try write(as: number, on: connection)
        var locks = Parameters()
        locks.add(Int64(ServerSchema.nodeLockClass))
        _ = try connection.rows(
            """
            DELETE FROM workerd.nodes n WHERE NOT EXISTS (SELECT FROM pg_locks l
                WHERE l.locktype = 'advisory' AND l.database = \(Self.database)
                    AND l.classid = $1::bigint::oid AND l.objid = n.id::oid)
            """, locks)
    }

    /// Writes name and places.
    private func write(as number: Int64, on connection: ServerConnection) throws(ServerError) {
        var row = Parameters()
        row.add(number)
        row.add(card.name)
        row.add(Self.url(card.commands, on: connection))
        row.add(Self.url(card.requests, on: connection))
        _ = try connection.rows(
            """
            INSERT INTO workerd.nodes (id, name, commands, requests)
            VALUES ($1::bigint::integer, $2::text, $3::text, $4::text)
            ON CONFLICT (id) DO UPDATE SET name = excluded.name, commands = excluded.commands,
                requests = excluded.requests
            """, row)
    }

    /// Has another card from the next `enter` or `renew` on.
    func change(to card: NodeCard) {
        guard card != self.card else { return }
        self.card = card
        isOutdated = true
    }

    /// Writes a card that has changed.
    ///
    /// - Parameter seat: as of `enter(on:sharing:)`.
    func renew(on connection: ServerConnection, sharing seat: Int64?) throws(ServerError) {
        guard isOutdated, let id, holder === connection else { return }
        try write(as: id, on: connection)
        if let seat { try share(seat, on: connection) }
        isOutdated = false
    }

    /// A place of another machine is of no use if it is a loopback address, unless the server is on
    /// this machine too: then all daemons are.
    private static func url(
        _ place: NodeCard.Place?, on connection: ServerConnection
    ) -> String? {
        guard let place, !place.isLocal || connection.isOfThisMachine else { return nil }
        return place.url
    }

    /// Has the daemon get another number: the server may not know the one that it has.
    func renumber() { id = nil }

    private func number(on connection: ServerConnection) throws(ServerError) -> Int64 {
        if let id { return id }
        let new = try connection.rows(
            "SELECT nextval('workerd.node_numbers')"
        ).first?.integer(0)
        guard let new else { throw ServerError(code: "XX000", message: "there is no number") }
        id = new
        return new
    }

    /// Enters the daemon that has a seat.
    ///
    /// - Parameter seat: the number of the seat if it shares the threads; nil if it has all.
    func enter(on connection: ServerConnection, sharing seat: Int64?) throws(ServerError) {
        try enter(on: connection)
        if let seat { try share(seat, on: connection) }
    }

    /// Tells others of the daemon's seat and threads, and how commands are passed on to it.
    private func share(_ seat: Int64, on connection: ServerConnection) throws(ServerError) {
        guard let id, holder === connection else { return }
        var parameters = Parameters()
        parameters.add(id)
        parameters.add(seat)
        parameters.add(.texts(card.threads))
        parameters.add(.texts(card.wanted))
        _ = try connection.rows(
            """
            UPDATE workerd.nodes SET seat = $2::bigint, threads = $3::text[], wanted = $4::text[]
            WHERE id = $1::bigint
            """, parameters)
        var link = Parameters()
        link.add(id)
        link.add(card.linkSecret ?? "")
        link.add(card.certificate?.fingerprint)
        link.add(card.certificate?.requiresClient ?? false)
        _ = try connection.rows(
            """
            INSERT INTO workerd.links (node, secret, certificate, requires_client)
            VALUES ($1::bigint, $2::text, $3::text, $4::boolean)
            ON CONFLICT (node) DO UPDATE SET secret = excluded.secret,
                certificate = excluded.certificate, requires_client = excluded.requires_client
            """, link)
        _ = try connection.rows(
            "DELETE FROM workerd.links WHERE node NOT IN (SELECT id FROM workerd.nodes)")
    }

    // MARK: - Reading

    static let database =
        "(SELECT oid FROM pg_database WHERE datname = current_database())"

    private static func hasTable(on connection: ServerConnection) throws(ServerError) -> Bool {
        try connection.rows("SELECT to_regclass('workerd.nodes') IS NOT NULL").first?.isTrue(0)
            == true
    }

    /// The daemons that live, as a session sees them; none in tables of an older version.
    func all(on connection: ServerConnection) throws(ServerError) -> StoreNodes {
        if holder !== connection, try !Self.hasTable(on: connection) { return StoreNodes() }
        var parameters = Parameters()
        parameters.add(Int64(ServerSchema.nodeLockClass))
        parameters.add(Int64(ServerSchema.lockClass))
        parameters.add(Seat.whole)
        let rows = try connection.rows(
            """
            WITH locks AS MATERIALIZED (SELECT pid, classid, objid FROM pg_locks
                    WHERE locktype = 'advisory' AND granted AND database = \(Self.database)),
                holder AS MATERIALIZED (SELECT pid FROM locks
                    WHERE classid = $2::bigint::oid AND objid = $3::bigint::oid)
            SELECT s.epoch, (extract(epoch FROM s.taken_at) * 1000)::bigint,
                EXISTS (SELECT FROM holder), n.id, n.name, n.commands, n.requests,
                (extract(epoch FROM n.started_at) * 1000)::bigint,
                l.pid IN (SELECT pid FROM holder)
            FROM workerd.seats s
                LEFT JOIN (locks l JOIN workerd.nodes n ON n.id::oid = l.objid)
                    ON l.classid = $1::bigint::oid
            WHERE s.id = $3::bigint ORDER BY n.name, n.id
            """, parameters)
        let nodes = rows.all.filter { $0.optionalInteger(3) != nil }.map { row in
            StoreNode(
                id: row.integer(3), name: row.text(4), commands: row.optionalText(5),
                requests: row.optionalText(6), startedAt: row.integer(7), serves: row.isTrue(8))
        }
        let seat = rows.first
        return StoreNodes(
            all: nodes, isSeatTaken: seat?.isTrue(2) ?? true, seatTakenAt: seat?.integer(1) ?? 0,
            epoch: seat?.integer(0) ?? 0)
    }
}
