// The look of a daemon at the others that share the threads: one statement.

internal import Jobs
internal import Journals

extension NodeEntry {
    /// The kinds of rows that the look has.
    private enum Kind: Int64 {
        case node = 1
        case thread = 2
        case seat = 3
        case server = 4
        case schedules = 5
    }

    /// The daemons that live, and which of them has which thread.
    static func sharing(on connection: ServerConnection) throws(ServerError) -> StoreNodes {
        var parameters = Parameters()
        parameters.add(Int64(ServerSchema.nodeLockClass))
        parameters.add(Int64(ServerSchema.lockClass))
        let rows = try connection.rows(
            """
            WITH locks AS MATERIALIZED (SELECT classid, objid FROM pg_locks
                WHERE locktype = 'advisory' AND granted AND database = \(database)),
            present AS MATERIALIZED (SELECT system_identifier AS system,
                ('x' || substr(pg_walfile_name(pg_current_wal_insert_lsn()), 1, 8)
                    )::bit(32)::bigint AS timeline FROM pg_control_system())
            SELECT \(Kind.node.rawValue)::bigint AS kind, n.id::bigint AS id,
                n.seat::bigint AS first,
                (extract(epoch FROM n.started_at) * 1000)::bigint AS second, 0::bigint AS third,
                n.name AS name, n.commands AS commands, n.requests AS requests,
                array_to_string(n.threads, ',') AS threads, links.secret AS secret,
                links.certificate AS certificate, links.requires_client AS requires_client,
                array_to_string(n.wanted, ',') AS wanted
            FROM workerd.nodes n LEFT JOIN workerd.links ON links.node = n.id
            WHERE EXISTS (SELECT FROM locks
                WHERE classid = $1::bigint::oid AND objid = n.id::oid)
            UNION ALL SELECT \(Kind.thread.rawValue), 0, seat, moved, 0, name, NULL, NULL, NULL,
                NULL, NULL, NULL, NULL
            FROM workerd.threads
            UNION ALL SELECT \(Kind.seat.rawValue), s.id,
                EXISTS (SELECT FROM locks
                    WHERE classid = $2::bigint::oid AND objid = s.id::oid)::integer,
                (taken_at > pg_postmaster_start_time())::integer,
                (s.system <> present.system OR s.timeline <> present.timeline)::integer,
                '', NULL, NULL, NULL, NULL, NULL, NULL, NULL
            FROM workerd.seats s, present WHERE s.id > 1
            UNION ALL SELECT \(Kind.server.rawValue),
                (extract(epoch FROM clock_timestamp() - pg_postmaster_start_time()) * 1000
                    )::bigint,
                0, 0, 0, '', NULL, NULL, NULL, NULL, NULL, NULL, NULL
            UNION ALL SELECT \(Kind.schedules.rawValue), value,
                0, 0, 0, '', NULL, NULL, NULL, NULL, NULL, NULL, NULL
            FROM workerd.settings WHERE name = '\(ServerSchema.scheduleMoves)'
            ORDER BY kind, name, id
            """, parameters)
        var nodes: [StoreNode] = []
        var places = ThreadPlaces()
        for row in rows.all {
            switch Kind(rawValue: row.integer(0)) {
            case .node: nodes.append(node(row))
            case .thread:
                places.threads[row.text(5)] = ThreadPlaces.Place(
                    seat: row.integer(2),
                    isTaken: row.integer(3) == ServerSchema.Moved.not.rawValue)
            case .seat:
                places.seats[row.integer(1)] = ThreadPlaces.Seat(
                    isHeld: row.integer(2) == 1, wasTakenSince: row.integer(3) == 1,
                    isPromoted: row.integer(4) == 1)
            case .server: places.isServerNew = SeatWatch.isNew(.milliseconds(row.integer(1)))
            case .schedules: places.scheduleMoveCount = row.integer(1)
            case nil: break
            }
        }
        var found = StoreNodes(all: nodes)
        found.places = places
        return found
    }

    private static func node(_ row: Row) -> StoreNode {
        let seat = row.optionalInteger(2)
        var node = StoreNode(
            id: row.integer(1), name: row.text(5), commands: row.optionalText(6),
            requests: row.optionalText(7), startedAt: row.integer(3), serves: seat != nil)
        node.seat = seat
        node.threads = names(row.optionalText(8))
        node.linkSecret = row.optionalText(9)
        node.certificate = row.optionalText(10).map {
            NodeCertificate(fingerprint: $0, requiresClient: row.isTrue(11))
        }
        node.wanted = names(row.optionalText(12))
        return node
    }

    private static func names(_ list: String?) -> [String] {
        list?.split(separator: ",").map(String.init) ?? []
    }
}
