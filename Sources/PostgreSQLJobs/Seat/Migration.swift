// Brings the schema of a database to the version of this program, one numbered step after another.

internal import Jobs
internal import Journals

/// The migration of a schema, within the transaction that takes the seat.
struct Migration {
    private let address: ServerAddress
    private let connection: ServerConnection
    private let rights: NeededRights

    /// - Parameter rights: checked as far as the tables are there: a role has all rights to those
    ///   that it makes.
    init(_ address: ServerAddress, _ connection: ServerConnection, _ rights: NeededRights) {
        self.address = address
        self.connection = connection
        self.rights = rights
    }

    /// Adds the steps that the schema lacks; an empty database gets all.
    ///
    /// - Throws: `newer`, `foreign` or `unfit`; then nothing has changed once the transaction is
    ///   rolled back.
    func run() throws(StoreFault) {
        do throws(ServerError) {
            var parameters = Parameters()
            parameters.add(Int64(ServerSchema.lockClass))
            _ = try connection.rows(
                "SELECT pg_advisory_xact_lock($1::bigint::integer, 0)", parameters)
            let found = try connection.rows(
                """
                SELECT EXISTS (SELECT FROM pg_namespace WHERE nspname = 'workerd'),
                    EXISTS (SELECT FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
                        WHERE n.nspname = 'workerd' AND c.relname = 'settings'),
                    EXISTS (SELECT FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
                        WHERE n.nspname = 'workerd')
                """
            ).first
            let hasSettings = found?.isTrue(1) == true
            if !hasSettings, found?.isTrue(2) == true { throw Found.foreign }
            let lacking = try rights.lacking(on: connection)
            if lacking.hidesVersion { throw Found.forbidden(lacking) }
            let version = hasSettings ? try readVersion() : 0
            guard version <= ServerSchema.version else { throw Found.newer(version) }
            guard lacking.isEmpty else { throw Found.forbidden(lacking) }
            if found?.isTrue(0) != true { try connection.send("CREATE SCHEMA workerd") }
            for statement in ServerSchema.steps.dropFirst(version).joined() {
                try connection.send(statement)
            }
            if version < ServerSchema.version {
                var parameters = Parameters()
                parameters.add(ServerSchema.version)
                try connection.send(
                    """
                    UPDATE workerd.settings SET value = $1::bigint WHERE name = 'schema_version'
                    """, parameters)
            }
            try connection.synchronize()
        } catch {
            throw fault(of: error)
        }
    }

    /// The kinds of schema that are refused, as errors of the server.
    private enum Found {
        static let foreign = ServerError(code: "WD001", message: "")
        static func newer(_ version: Int) -> ServerError {
            ServerError(code: "WD002", message: "\(version)")
        }
        static let forbiddenCode = "WD004"
        static func forbidden(_ rights: LackingRights) -> ServerError {
            ServerError(code: forbiddenCode, message: rights.description)
        }
    }

    private func readVersion() throws(ServerError) -> Int {
        let row = try connection.rows(
            "SELECT value FROM workerd.settings WHERE name = 'schema_version'"
        ).first
        guard let row else { throw Found.foreign }
        return Int(row.integer(0))
    }

    private func fault(of error: ServerError) -> StoreFault {
        switch error.code {
        case Found.foreign.code:
            return StoreFault(
                .foreign, path: address.shown,
                detail: "its schema workerd was made by another program")
        case Found.newer(0).code:
            return StoreFault(
                .newer, path: address.shown,
                detail: "its tables are of version \(error.message), and this workerd has version "
                    + "\(ServerSchema.version)")
        case Found.forbiddenCode:
            return StoreFault(.unfit, path: address.shown, detail: error.message)
        default:
            return error.isLost
                ? StoreFault(.away, path: address.shown, detail: "\(error)")
                : .ofServer(error, at: address)
        }
    }
}
