// The tables of workerd 0.1, whose files the steps of the present schema bring up to date.

import SQLiteJobs

extension Schema {
    /// The format that is brought up to date, as workerd 0.1 made it one step after the other.
    static let oldest = Schema(creation: oldestStatements, version: 9, steps: [])

    /// This schema with rows in an empty database.
    func with(_ statements: [String]) -> Schema {
        Schema(creation: creation + statements, version: version, steps: steps)
    }

    /// This schema with one more step behind it.
    func followed(by step: [String]) -> Schema {
        Schema(
            creation: creation + step, version: version + 1,
            steps: steps + [Step(from: version, step)])
    }

    private static let oldestStatements = [
        """
        CREATE TABLE settings (
            name TEXT NOT NULL PRIMARY KEY,
            value BIGINT NOT NULL)
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
            worker TEXT)
        """,
        "CREATE INDEX jobs_in_turn ON jobs (thread, priority, id) WHERE held = 0",
        "CREATE INDEX jobs_held ON jobs (held, due_at, id) WHERE held > 0",
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
            result BLOB)
        """,
        "INSERT INTO settings (name, value) VALUES ('next_id', 1)",
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
            last_job BIGINT)
        """,
        "ALTER TABLE jobs ADD COLUMN order_key BLOB",
        "ALTER TABLE jobs ADD COLUMN retry_blocks INTEGER NOT NULL DEFAULT 0",
        "ALTER TABLE jobs ADD COLUMN forgiven INTEGER NOT NULL DEFAULT 0",
        "ALTER TABLE ended ADD COLUMN order_key BLOB",
        "ALTER TABLE ended ADD COLUMN retry_blocks INTEGER NOT NULL DEFAULT 0",
        "ALTER TABLE ended ADD COLUMN forgiven INTEGER NOT NULL DEFAULT 0",
        "ALTER TABLE ended ADD COLUMN payload BLOB",
        """
        CREATE INDEX ended_failed ON ended (selector, id)
            WHERE outcome IN (2, 3) AND payload IS NOT NULL
        """,
        """
        CREATE TABLE unique_names (
            name BLOB NOT NULL PRIMARY KEY,
            job BIGINT NOT NULL,
            accepted_at BIGINT NOT NULL,
            look_at BIGINT NOT NULL)
        """,
        "CREATE INDEX unique_names_in_time ON unique_names (look_at)",
        "DROP INDEX jobs_held",
        """
        CREATE INDEX jobs_held ON jobs (thread, priority, held, due_at, id) WHERE held > 0
        """,
        """
        CREATE INDEX jobs_blocking ON jobs (due_at, id)
            WHERE held = 1 AND retry_blocks = 1 AND attempt > forgiven
        """,
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
        "CREATE TABLE paused (thread TEXT NOT NULL PRIMARY KEY)",
        "CREATE TABLE asked_to_end (job INTEGER NOT NULL PRIMARY KEY)",
        "ALTER TABLE jobs ADD COLUMN is_due INTEGER NOT NULL DEFAULT 0",
        "CREATE INDEX jobs_delayed ON jobs (thread, priority, id) WHERE held = 1",
        "ALTER TABLE jobs ADD COLUMN expires_at BIGINT",
        "ALTER TABLE jobs ADD COLUMN carried BLOB",
        "ALTER TABLE ended ADD COLUMN carried BLOB",
        "ALTER TABLE schedules ADD COLUMN expire_ms BIGINT",
        "ALTER TABLE schedules ADD COLUMN order_key BLOB",
        "ALTER TABLE schedules ADD COLUMN retry_blocks INTEGER",
        "ALTER TABLE schedules ADD COLUMN carried BLOB",
        """
        CREATE INDEX jobs_expiring ON jobs (expires_at, id)
            WHERE expires_at IS NOT NULL AND attempt = 0
        """,
    ]
}
