// The tables of the store. An empty database gets them at once; one of the latest released format
// gets them by one step. Nothing but standard SQL and partial indexes, so that another database can
// have the same tables.

internal import Jobs

/// The tables of a database, and the steps by which an older one gets them.
package struct Schema: Sendable {
    /// The way from one version to the next one that is known.
    package struct Step: Sendable {
        /// The version of a database that needs it.
        let from: Int64
        let statements: [String]

        /// A step; one that is released is never changed.
        package init(from: Int64, _ statements: [String]) {
            self.from = from
            self.statements = statements
        }
    }

    /// The statements that make the tables of an empty database.
    package let creation: [String]
    /// The version of a database with these tables.
    package let version: Int64
    /// The steps from older versions to this one, the oldest first.
    ///
    /// Each leads to the version that the next one is for, the last one to this version.
    package let steps: [Step]

    /// A schema whose steps lead to the tables that its creation makes.
    package init(creation: [String], version: Int64, steps: [Step]) {
        self.creation = creation
        self.version = version
        self.steps = steps
    }

    /// The statements for a database of another version; 0 is an empty one.
    ///
    /// - Returns: nil if there is no way from that version.
    func statements(from version: Int64) -> [String]? {
        if version == 0 { return creation }
        if version == self.version { return [] }
        let first = steps.firstIndex { $0.from == version }
        return first.map { steps[$0...].flatMap(\.statements) }
    }

    /// The versions that can be opened, for people.
    var known: String { (steps.map(\.from) + [version]).map(String.init).joined(separator: ", ") }

    /// Marks a database as one of this program: "wkrd".
    package static let applicationID: Int64 = 0x776B_7264

    /// The number of first bytes that identify a database of this program.
    package static let headerByteCount = 72

    /// Whether a file with this header is a database of this program.
    ///
    /// - Source: www.sqlite.org/fileformat.html: the application id is at byte 68, most significant
    ///   first.
    package static func isOurs(_ header: [UInt8]) -> Bool {
        guard header.count >= headerByteCount, header.starts(with: "SQLite format 3\0".utf8) else {
            return false
        }
        return application(in: header) == applicationID
    }

    /// Whether a file with this header can be a database of this program whose rest is in its log.
    ///
    /// - Source: www.sqlite.org/fileformat.html: the page size is at byte 16, a power of 2; 1 is
    ///   65,536.
    static func mayBeOurs(_ header: [UInt8]) -> Bool {
        guard header.starts(with: "SQLite format 3\0".utf8) else { return false }
        let pageByteCount = pageByteCount(in: header)
        let isPage = pageByteCount >= 512 && pageByteCount.nonzeroBitCount == 1
        // The first transaction of a new database is in the log.
        return isPage && [0, applicationID].contains(application(in: header))
    }

    /// The size of a page of a database with this header; 1 stands for 65,536.
    static func pageByteCount(in header: [UInt8]) -> Int64 {
        let count = Int64(header[16]) << 8 | Int64(header[17])
        return count == 1 ? 65_536 : count
    }

    /// The number of pages that the header of a database says.
    ///
    /// - Source: www.sqlite.org/fileformat.html: at byte 28, most significant first.
    static func pageCount(in header: [UInt8]) -> Int64 {
        header[28..<32].reduce(0) { $0 << 8 | Int64($1) }
    }

    private static func application(in header: [UInt8]) -> Int64 {
        header[68..<72].reduce(0) { $0 << 8 | Int64($1) }
    }

    /// The present schema.
    ///
    /// Jobs that have not ended and ended jobs are in tables of their own: the first is read in the
    /// order of a thread's queue and grows with the waiting jobs, the second is small and bounded.
    /// A job of the table `jobs` is in exactly one of the indexes `jobs_in_turn` and `jobs_held`,
    /// which is searched queue by queue: a full queue delays no other.
    ///
    /// In `kept` of a pack, bit n of the bytes says that record n counts; JobRecord.swift describes
    /// the records. `paused` and `asked_to_end` have requests of clients that are no jobs, and
    /// `holders` the attempts of workers in other processes.
    package static let current = Schema(
        creation: [
            """
            CREATE TABLE settings (
                name TEXT NOT NULL PRIMARY KEY,
                value BIGINT NOT NULL)
            """,
            """
            INSERT INTO settings (name, value)
                VALUES ('next_id', 1), ('named_count', 0), ('named_bytes', 0)
            """,
            """
            CREATE TABLE jobs (
                id INTEGER NOT NULL PRIMARY KEY,
                thread TEXT NOT NULL,
                selector TEXT NOT NULL,
                payload BLOB NOT NULL,
                priority INTEGER NOT NULL,
                held INTEGER NOT NULL,
                attempt INTEGER NOT NULL,
                retries INTEGER NOT NULL,
                timeout_ms BIGINT,
                accepted_at BIGINT NOT NULL,
                due_at BIGINT,
                started_at BIGINT,
                worker TEXT,
                order_key BLOB,
                retry_blocks INTEGER NOT NULL DEFAULT 0,
                forgiven INTEGER NOT NULL DEFAULT 0,
                released_before INTEGER NOT NULL DEFAULT 0,
                expires_at BIGINT,
                carried BLOB)
            """,
            "CREATE INDEX jobs_in_turn ON jobs (thread, priority, id) WHERE held = 0",
            """
            CREATE INDEX jobs_held ON jobs (thread, priority, held, due_at, id) WHERE held > 0
            """,
            """
            CREATE INDEX jobs_blocking ON jobs (due_at, id)
                WHERE held = 1 AND retry_blocks = 1 AND attempt > forgiven
            """,
            "CREATE INDEX jobs_delayed ON jobs (thread, priority, id) WHERE held = 1",
            """
            CREATE INDEX jobs_expiring ON jobs (expires_at, id)
                WHERE expires_at IS NOT NULL AND attempt = 0
            """,
            """
            CREATE TABLE ended (
                id INTEGER NOT NULL PRIMARY KEY,
                thread TEXT NOT NULL,
                selector TEXT NOT NULL,
                priority INTEGER NOT NULL,
                attempt INTEGER NOT NULL,
                retries INTEGER NOT NULL,
                timeout_ms BIGINT,
                accepted_at BIGINT NOT NULL,
                due_at BIGINT,
                started_at BIGINT,
                worker TEXT,
                ended_at BIGINT NOT NULL,
                outcome INTEGER NOT NULL,
                result BLOB,
                order_key BLOB,
                retry_blocks INTEGER NOT NULL DEFAULT 0,
                forgiven INTEGER NOT NULL DEFAULT 0,
                payload BLOB,
                carried BLOB,
                kept_until BIGINT,
                kept_bytes BIGINT)
            """,
            """
            CREATE INDEX ended_failed ON ended (selector, id)
                WHERE outcome IN (2, 3) AND payload IS NOT NULL
            """,
            "CREATE INDEX ended_named ON ended (kept_until, id) WHERE kept_until IS NOT NULL",
            """
            CREATE TABLE packs (
                last_id INTEGER NOT NULL PRIMARY KEY,
                first_id BIGINT NOT NULL,
                kept BLOB NOT NULL,
                thread TEXT NOT NULL,
                priority INTEGER NOT NULL,
                records BLOB NOT NULL)
            """,
            "CREATE INDEX packs_in_turn ON packs (thread, priority)",
            """
            CREATE TABLE ended_packs (
                last_id INTEGER NOT NULL PRIMARY KEY,
                first_id BIGINT NOT NULL,
                kept BLOB NOT NULL,
                records BLOB NOT NULL)
            """,
            """
            CREATE TABLE unique_names (
                name BLOB NOT NULL PRIMARY KEY,
                job BIGINT NOT NULL,
                accepted_at BIGINT NOT NULL,
                look_at BIGINT NOT NULL,
                hold_until BIGINT,
                fingerprint BIGINT)
            """,
            "CREATE INDEX unique_names_in_time ON unique_names (look_at)",
            """
            CREATE TABLE schedules (
                name TEXT NOT NULL PRIMARY KEY,
                from_command INTEGER NOT NULL,
                cron TEXT,
                zone TEXT,
                every_ms BIGINT,
                missed TEXT NOT NULL,
                thread TEXT NOT NULL,
                selector TEXT NOT NULL,
                payload BLOB NOT NULL,
                priority INTEGER NOT NULL,
                retries INTEGER,
                timeout_ms BIGINT,
                since BIGINT NOT NULL,
                through BIGINT NOT NULL,
                last_run_at BIGINT,
                last_job BIGINT,
                expire_ms BIGINT,
                order_key BLOB,
                retry_blocks INTEGER,
                carried BLOB,
                overlap TEXT,
                unique_name BLOB,
                unique_again INTEGER,
                unique_ms BIGINT)
            """,
            "CREATE TABLE paused (thread TEXT NOT NULL PRIMARY KEY)",
            "CREATE TABLE asked_to_end (job INTEGER NOT NULL PRIMARY KEY)",
            """
            CREATE TABLE holders (
                job INTEGER NOT NULL PRIMARY KEY,
                attempt INTEGER NOT NULL,
                words BLOB NOT NULL)
            """,
        ],
        // The versions between these two are of development only.
        version: 13,
        steps: [
            // 9 is the format of workerd 0.1.
            Step(
                from: 9,
                [
                    // Jobs with smaller numbers came before the command that has made a job due.
                    "ALTER TABLE jobs RENAME COLUMN is_due TO released_before",
                    // Names that are in force as long as their clients say, and the results that
                    // they lead to. Before, they were as long as was configured.
                    "ALTER TABLE unique_names ADD COLUMN hold_until BIGINT",
                    "ALTER TABLE unique_names ADD COLUMN fingerprint BIGINT",
                    "ALTER TABLE ended ADD COLUMN kept_until BIGINT",
                    "ALTER TABLE ended ADD COLUMN kept_bytes BIGINT",
                    """
                    CREATE INDEX ended_named ON ended (kept_until, id) WHERE kept_until IS NOT NULL
                    """,
                    """
                    INSERT INTO settings (name, value) VALUES ('named_count', 0), ('named_bytes', 0)
                    """,
                    // Jobs of a schedule that overlap, and the names that they have.
                    "ALTER TABLE schedules ADD COLUMN overlap TEXT",
                    "ALTER TABLE schedules ADD COLUMN unique_name BLOB",
                    "ALTER TABLE schedules ADD COLUMN unique_again INTEGER",
                    "ALTER TABLE schedules ADD COLUMN unique_ms BIGINT",
                    // Workers in other processes, and the attempts that they hold.
                    """
                    CREATE TABLE holders (
                        job INTEGER NOT NULL PRIMARY KEY,
                        attempt INTEGER NOT NULL,
                        words BLOB NOT NULL)
                    """,
                ])
        ])
}
