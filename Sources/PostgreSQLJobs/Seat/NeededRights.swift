// The rights that a daemon needs in its schema: those of its statements. The owner of the tables
// has them all. Another role may lack one, and the statement that needs it may come hours later.

internal import Jobs

/// The rights that the statements of a daemon need.
struct NeededRights {
    private static let all = ["SELECT", "INSERT", "UPDATE", "DELETE"]
    private static let noUpdate = ["SELECT", "INSERT", "DELETE"]

    /// The rights of each table and sequence.
    private var ofRelations: [(name: String, rights: [String])] = [
        ("settings", all), ("seats", ["SELECT", "UPDATE"]), ("jobs", all), ("ended", noUpdate),
        ("unique_names", all), ("schedules", all), ("paused", noUpdate),
        ("asked_to_end", noUpdate), ("holders", all), ("submitted", all), ("nodes", all),
        ("batches", noUpdate), ("queue_heads", all), ("threads", ["SELECT"]),
        ("submitted_place_seq", ["SELECT"]), ("node_numbers", ["USAGE"]),
    ]
    private var functions: [String] = []

    /// The rights for the statements of a daemon.
    ///
    /// - Parameters:
    ///   - isShared: whether other daemons have threads of the same database.
    ///   - hasSlots: whether one of its pools has slots.
    init(isShared: Bool, hasSlots: Bool) {
        guard isShared else { return }
        ofRelations += [
            ("seats", ["INSERT", "DELETE"]), ("threads", ["INSERT", "UPDATE", "DELETE"]),
            ("links", Self.all), ("seat_numbers", ["USAGE"]),
        ]
        guard hasSlots else { return }
        ofRelations.append(("ended", ["UPDATE"]))
        functions.append("slot_of(text, bytea, bigint)")
    }

    /// The rights that the role of a session lacks; of tables that are not there yet, none.
    func lacking(on connection: ServerConnection) throws(ServerError) -> LackingRights {
        var parameters = Parameters()
        let pairs = ofRelations.flatMap { name, rights in rights.map { (name, $0) } }
        parameters.add(.texts(pairs.map(\.0)))
        parameters.add(.texts(pairs.map(\.1)))
        parameters.add(.texts(functions))
        let rows = try connection.rows(
            """
            WITH space AS (SELECT oid FROM pg_namespace WHERE nspname = 'workerd'),
            needed AS (
                SELECT c.oid, c.relkind, c.relname, need.privilege, need.place
                FROM unnest($1::text[], $2::text[]) WITH ORDINALITY
                    AS need (name, privilege, place)
                JOIN pg_class c ON c.relname = need.name
                WHERE c.relnamespace IN (SELECT oid FROM space)
            )
            SELECT privilege, object, quote_ident(current_user) FROM (
                SELECT 0 AS place, 'USAGE' AS privilege, 'SCHEMA workerd' AS object FROM space
                WHERE NOT has_schema_privilege(oid, 'USAGE')
                UNION ALL SELECT place, privilege,
                    CASE relkind WHEN 'S' THEN 'SEQUENCE ' ELSE '' END || 'workerd.' || relname
                FROM needed
                WHERE NOT CASE relkind WHEN 'S' THEN has_sequence_privilege(oid, privilege)
                    ELSE has_table_privilege(oid, privilege) END
                UNION ALL SELECT 1000, 'EXECUTE', 'FUNCTION workerd.' || name
                FROM unnest($3::text[]) AS name JOIN pg_proc p
                    ON p.proname || '(' || oidvectortypes(p.proargtypes) || ')' = name
                WHERE p.pronamespace IN (SELECT oid FROM space)
                    AND NOT has_function_privilege(p.oid, 'EXECUTE')
                UNION ALL SELECT DISTINCT 2000, '', 'workerd.' || relname FROM needed
                WHERE relkind = 'r' AND row_security_active(oid) AND NOT EXISTS (
                    SELECT FROM pg_policy, unnest(polroles) AS role WHERE polrelid = needed.oid
                        AND (role = 0 OR pg_has_role(role, 'USAGE')))
            ) AS lacking ORDER BY place, privilege
            """, parameters)
        return LackingRights(
            role: rows.first?.text(2) ?? "",
            missing: rows.all.map { ($0.text(0), $0.text(1)) })
    }
}

extension Seat {
    var rights: NeededRights { NeededRights(isShared: isShared, hasSlots: entry.hasSlots) }

    /// Checks the rights of a session's role to the tables that are there.
    ///
    /// - Throws: `unfit`, with the statements that give what it lacks.
    func checkRights(on connection: ServerConnection) throws(StoreFault) {
        let lacking = try asking { () throws(ServerError) in try rights.lacking(on: connection) }
        guard lacking.isEmpty else { throw fault(.unfit, lacking.description) }
    }
}

/// Rights that the role of a session lacks.
struct LackingRights {
    fileprivate let role: String
    /// Each by its name and its object in `GRANT`; a policy has no name.
    fileprivate let missing: [(right: String, object: String)]

    var isEmpty: Bool { missing.isEmpty }

    /// Whether the version of the schema can't be read.
    var hidesVersion: Bool {
        missing.contains { right, object in
            object == "SCHEMA workerd" || (object == "workerd.settings" && right == "SELECT")
        }
    }

    /// The statements that give them.
    private var remedies: [String] {
        var rights: [(object: String, names: [String])] = []
        for (right, object) in missing where !right.isEmpty {
            if let place = rights.firstIndex(where: { $0.object == object }) {
                rights[place].names.append(right)
            } else {
                rights.append((object, [right]))
            }
        }
        var grants: [(names: String, objects: [String])] = []
        for (object, names) in rights {
            let names = names.joined(separator: ", ")
            // GRANT takes a list of tables.
            if object.hasPrefix("workerd."),
                let place = grants.firstIndex(where: {
                    $0.names == names && $0.objects[0].hasPrefix("workerd.")
                })
            {
                grants[place].objects.append(object)
            } else {
                grants.append((names, [object]))
            }
        }
        return grants.map { "GRANT \($0) ON \($1.joined(separator: ", ")) TO \(role);" }
            + missing.filter(\.right.isEmpty).map {
                "CREATE POLICY workerd ON \($0.object) TO \(role) USING (true);"
            }
    }

    /// Words for people.
    var description: String {
        "the role \(role) lacks rights, which the owner of the tables can give: "
            + remedies.joined(separator: " ")
    }
}
