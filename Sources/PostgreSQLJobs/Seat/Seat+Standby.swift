// A daemon that waits for the seat of another one: it looks until the seat is free.

package import Jobs
internal import Journals
internal import Kernel

/// The calls that a daemon gets while it waits for the seat of another one.
package struct SeatStandby: Sendable {
    /// Called once when the waiting begins.
    let begin: @Sendable () -> Void
    /// Whether the seat is still wanted; asked several times a second.
    let goesOn: @Sendable () -> Bool
    /// Told the owner of the seat at each look; last of all that it is this daemon.
    let look: @Sendable (SeatHolder) -> Void

    package init(
        begin: @escaping @Sendable () -> Void, goesOn: @escaping @Sendable () -> Bool,
        look: @escaping @Sendable (SeatHolder) -> Void
    ) {
        self.begin = begin
        self.goesOn = goesOn
        self.look = look
    }
}

extension Seat {
    /// Waits until the seat is free, and takes its lock.
    ///
    /// - Throws: `inUse` when it is no longer waited for.
    /// - Blocks: until another daemon has ended, which may be never.
    func wait(
        _ standby: SeatStandby, _ first: ServerConnection
    ) throws(StoreFault) -> ServerConnection {
        // Now, and not when the other daemon has ended.
        try checkRights(on: first)
        standby.begin()
        var connection: ServerConnection? = first
        var watch = SeatWatch()
        var hasTables = false
        while standby.goesOn() {
            do throws(StoreFault) {
                let present: ServerConnection
                if let connection { present = connection } else { present = try connect() }
                connection = present
                if !hasTables { hasTables = try self.hasTables(on: present) }
                // None has had the seat if there are no tables.
                let isFree = hasTables ? try isFree(on: present, &watch) : true
                if isFree, try lock(on: present, for: .zero) {
                    standby.look(.own)
                    return present
                }
            } catch {
                guard error.kind == .away else { throw error }
                connection = nil
                watch = SeatWatch()
            }
            do throws(StoreFault) {
                if let connection { standby.look(try holder(on: connection)) }
            } catch {
                guard error.kind == .away else { throw error }
                connection = nil
            }
            if closing.wait(until: .now + Self.lookPause) { break }
        }
        throw fault(.inUse, "another daemon has it")
    }

    /// The daemon that has the seat; enters this one beside it.
    private func holder(on connection: ServerConnection) throws(StoreFault) -> SeatHolder {
        let nodes = try asking { () throws(ServerError) in
            try entry.enter(on: connection)
            return try entry.all(on: connection)
        }
        if let node = nodes.all.first(where: \.serves) { return .node(node) }
        return nodes.isSeatTaken ? .unknown : .nobody
    }

    /// Whether there are tables; the first daemon makes them when it begins its run.
    private func hasTables(on connection: ServerConnection) throws(StoreFault) -> Bool {
        try asking { () throws(ServerError) in
            let rows = try connection.rows("SELECT to_regclass('workerd.seats') IS NOT NULL")
            return rows.first?.isTrue(0) == true
        }
    }

    private func isFree(
        on connection: ServerConnection, _ watch: inout SeatWatch
    ) throws(StoreFault) -> Bool {
        var parameters = Parameters(lock: Self.whole)
        parameters.add(isShared)
        let row = try asking { () throws(ServerError) in
            try connection.rows(
                """
                SELECT EXISTS (SELECT FROM pg_locks WHERE locktype = 'advisory' AND granted
                        AND database = (SELECT oid FROM pg_database
                            WHERE datname = current_database())
                        AND classid = $1::bigint::oid AND objid = $2::bigint::oid
                        AND (NOT $3::boolean OR mode = 'ExclusiveLock')),
                    (extract(epoch FROM clock_timestamp() - pg_postmaster_start_time()) * 1000
                        )::bigint,
                    (SELECT taken_at > pg_postmaster_start_time() FROM workerd.seats
                        WHERE id = $2::bigint),
                    (SELECT (to_jsonb(seat) ->> 'timeline')::bigint FROM workerd.seats seat
                        WHERE id = $2::bigint)
                """, parameters
            ).first
        }
        // Tables of an older version do not tell.
        let timeline = row?.optionalInteger(3) ?? server?.timeline.number
        return watch.look(
            isHeld: row?.isTrue(0) ?? true,
            isServerNew: SeatWatch.isNew(.milliseconds(row?.integer(1) ?? 0)),
            wasTakenSince: row?.isTrue(2) ?? false,
            isPromoted: timeline != server?.timeline.number, at: .now)
    }
}
