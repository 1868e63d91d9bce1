// The opening of a file: it is inspected before anything in it is changed, locked for this process
// alone, and brought to the present schema.

package import Jobs

extension SQLiteStore {
    /// The size that the log may keep once its contents are in the database.
    ///
    /// Some times its size before that: rewriting the same bytes is what makes commits fast, so
    /// only the room of a burst is given back.
    package static let logByteCountKept = 16 << 20

    /// Checks that a database is ours, locks it for this process and brings it up to date.
    ///
    /// - Returns: the damage of its log, which is still as it was unless the schema is new.
    static func takeOver(_ database: Database, _ schema: Schema) throws(StoreFault)
        -> LogDamage?
    {
        let path = database.path
        if database.isReadOnly {
            throw StoreFault(.notWritable, path: path, detail: "it can be read only")
        }
        // One process only: then the index of the log needs no shared memory, and transactions take
        // no lock.
        try database.execute("PRAGMA locking_mode = EXCLUSIVE")
        try database.refuseForeignFile()
        let version: Int64
        do throws(StoreFault) {
            version = try versionOfOurs(database, schema)
        } catch {
            try database.refuseShortFile()
            throw error
        }
        try database.refuseShortFile()
        let damage = database.findLogDamage()
        guard try database.text("PRAGMA journal_mode = WAL") == "wal" else {
            throw StoreFault(.notWritable, path: path, detail: "no log can be kept beside it")
        }
        // A commit returns when it is on the disk, not only with the kernel.
        try database.execute("PRAGMA synchronous = FULL")
        try database.execute("PRAGMA journal_size_limit = \(logByteCountKept)")
        try migrate(database, schema, from: version)
        return damage
    }

    /// The version of a database; 0 of an empty one.
    private static func versionOfOurs(
        _ database: Database, _ schema: Schema
    ) throws(StoreFault) -> Int64 {
        let path = database.path
        let tableCount = try database.integer("SELECT count(*) FROM sqlite_master") ?? 0
        let application = try database.integer("PRAGMA application_id") ?? 0
        let version = try database.integer("PRAGMA user_version") ?? 0
        if application == 0, version == 0, tableCount == 0 { return 0 }
        guard application == Schema.applicationID else {
            throw StoreFault(
                .foreign, path: path, detail: "it is a database of another program")
        }
        guard version <= schema.version else {
            throw StoreFault(
                .newer, path: path,
                detail: "it was written by a later version of workerd (schema \(version), this one "
                    + "knows up to \(schema.version))")
        }
        guard version != 0, schema.statements(from: version) != nil else {
            throw StoreFault(
                .older, path: path,
                detail: "it was written by a version of workerd that was never released "
                    + "(schema \(version), this one knows \(schema.known))")
        }
        return version
    }

    private static func migrate(
        _ database: Database, _ schema: Schema, from version: Int64
    ) throws(StoreFault) {
        // Even without a step to take: this takes the lock and recovers the log.
        try database.execute("BEGIN EXCLUSIVE")
        do throws(StoreFault) {
            for statement in schema.statements(from: version) ?? [] {
                try database.execute(statement)
            }
            if version < schema.version {
                try database.execute("PRAGMA application_id = \(Schema.applicationID)")
                try database.execute("PRAGMA user_version = \(schema.version)")
            }
            try database.execute("COMMIT")
        } catch {
            if database.isInTransaction { try? database.execute("ROLLBACK") }
            throw error
        }
    }

    /// Lets the log be moved into the database when it is long, and when the store is closed.
    package func beginMovingLog() throws(StoreFault) { try database.moveLog(at: logPageCountMax) }

    /// Moves all of the log into the database, so that the next transaction begins a new one.
    ///
    /// The unreadable part of a damaged log would be found again otherwise.
    package func beginNewLog() throws(StoreFault) {
        try database.execute("PRAGMA wal_checkpoint(RESTART)")
    }

    /// Writes the gathered changes of the transaction into the tables, to be read before the
    /// commit.
    package func flush() throws(StoreFault) {
        try waitingPacks.flush()
        try endedPacks.flush()
    }
}
