// The tables in the database, and the numbered steps by which an older schema gets them.
//
// A step only adds: a daemon of the version before goes on with the tables of this one. A released
// step is never changed.

/// The schema `workerd` of a database.
enum ServerSchema {
    /// The steps; the version of a schema is the number of steps that it has.
    static let steps: [[String]] = [
        tables + notes + views, submitting, nodes, timelines, sharing, encryptedLinks,
        slots, batches, heads, dueHeads, loans, submittedOfThread,
    ]

    /// The version that this program makes.
    static var version: Int { steps.count }

    /// The first number of the advisory locks, "wkrd".
    ///
    /// The second is a seat, its negative number while its daemon looks for submitted jobs, or 0
    /// for a migration.
    static let lockClass = 0x776B_7264

    /// The first number of the locks of nodes, "wknd"; the second is the number of the node's row.
    static let nodeLockClass = 0x776B_6E64

    /// The first number of the locks of unique names, "wknm"; the second is a hash of the name.
    static let nameLockClass = 0x776B_6E6D

    /// The statement that sets a setting, by its name and value.
    static let keepSetting = """
        INSERT INTO workerd.settings (name, value) VALUES ($1::text, $2::bigint)
        ON CONFLICT (name) DO UPDATE SET value = excluded.value
        """

    /// The setting that counts how often a schedule was given another thread.
    static let scheduleMoves = "schedule_moves"

    /// The channel that tells of submitted jobs.
    static let channel = "workerd_submitted"

    private static let tables = [
        """
        CREATE TABLE workerd.settings (
            name text COLLATE "C" NOT NULL PRIMARY KEY,
            value bigint NOT NULL)
        """,
        "INSERT INTO workerd.settings (name, value) VALUES ('schema_version', 0), ('next_id', 1)",
        """
        CREATE TABLE workerd.seats (
            id integer NOT NULL PRIMARY KEY,
            epoch bigint NOT NULL,
            batch bigint NOT NULL,
            host text,
            process integer,
            taken_at timestamptz) WITH (fillfactor = 50)
        """,
        """
        INSERT INTO workerd.seats (id, epoch, batch) VALUES (1, 0, 0)
        """,
        """
        CREATE TABLE workerd.jobs (
            id bigint NOT NULL PRIMARY KEY,
            thread text COLLATE "C" NOT NULL,
            selector text COLLATE "C" NOT NULL,
            payload bytea NOT NULL,
            priority smallint NOT NULL,
            held smallint NOT NULL,
            attempt integer NOT NULL,
            retries integer NOT NULL,
            timeout_ms bigint,
            accepted_at bigint NOT NULL,
            due_at bigint,
            started_at bigint,
            worker text,
            order_key bytea,
            retry_blocks boolean NOT NULL,
            forgiven integer NOT NULL,
            released_before bigint NOT NULL,
            expires_at bigint,
            unique_until bigint,
            carried bytea)
        """,
        "CREATE INDEX jobs_in_turn ON workerd.jobs (thread, priority, id) WHERE held = 0",
        "CREATE INDEX jobs_held ON workerd.jobs (thread, priority, held, id) WHERE held > 0",
        """
        CREATE INDEX jobs_due ON workerd.jobs (thread, priority, due_at, id) WHERE held = 1
        """,
        """
        CREATE INDEX jobs_blocking ON workerd.jobs (due_at, id)
            WHERE held = 1 AND retry_blocks AND attempt > forgiven
        """,
        """
        CREATE INDEX jobs_expiring ON workerd.jobs (expires_at, id)
            WHERE expires_at IS NOT NULL AND attempt = 0
        """,
        """
        CREATE TABLE workerd.ended (
            id bigint NOT NULL PRIMARY KEY,
            thread text COLLATE "C" NOT NULL,
            selector text COLLATE "C" NOT NULL,
            priority smallint NOT NULL,
            attempt integer NOT NULL,
            retries integer NOT NULL,
            timeout_ms bigint,
            accepted_at bigint NOT NULL,
            due_at bigint,
            started_at bigint,
            worker text,
            ended_at bigint NOT NULL,
            outcome smallint NOT NULL,
            result bytea,
            order_key bytea,
            retry_blocks boolean NOT NULL,
            forgiven integer NOT NULL,
            payload bytea,
            unique_until bigint,
            kept_until bigint,
            carried bytea)
        """,
        """
        CREATE INDEX ended_failed ON workerd.ended (selector, id)
            WHERE outcome IN (2, 3) AND payload IS NOT NULL
        """,
        """
        CREATE INDEX ended_named ON workerd.ended (kept_until, id) WHERE kept_until IS NOT NULL
        """,
        """
        CREATE TABLE workerd.unique_names (
            name bytea NOT NULL PRIMARY KEY,
            job bigint NOT NULL,
            look_at bigint NOT NULL,
            hold_until bigint NOT NULL,
            fingerprint bigint NOT NULL)
        """,
        "CREATE INDEX unique_names_in_time ON workerd.unique_names (look_at)",
        """
        CREATE TABLE workerd.schedules (
            name text COLLATE "C" NOT NULL PRIMARY KEY,
            from_command boolean NOT NULL,
            cron text,
            zone text,
            every_ms bigint,
            missed text NOT NULL,
            overlap text NOT NULL,
            thread text NOT NULL,
            selector text NOT NULL,
            payload bytea NOT NULL,
            priority smallint NOT NULL,
            retries bigint,
            timeout_ms bigint,
            expire_ms bigint,
            order_key bytea,
            retry_blocks boolean,
            carried bytea,
            unique_name bytea,
            unique_again boolean,
            unique_ms bigint,
            since bigint NOT NULL,
            through bigint NOT NULL,
            last_run_at bigint,
            last_job bigint)
        """,
        "CREATE TABLE workerd.paused (thread text COLLATE \"C\" NOT NULL PRIMARY KEY)",
        "CREATE TABLE workerd.asked_to_end (job bigint NOT NULL PRIMARY KEY)",
        """
        CREATE TABLE workerd.holders (
            job bigint NOT NULL PRIMARY KEY,
            attempt integer NOT NULL,
            words bytea NOT NULL)
        """,
    ]

    private static let nodes = [
        "CREATE SEQUENCE workerd.node_numbers AS integer CYCLE",
        """
        CREATE TABLE workerd.nodes (
            id integer NOT NULL PRIMARY KEY,
            name text NOT NULL,
            commands text,
            requests text,
            started_at timestamptz NOT NULL DEFAULT now())
        """,
        """
        COMMENT ON TABLE workerd.nodes IS
            'One row for each daemon; it counts while its session holds a lock of this number.'
        """,
        "COMMENT ON COLUMN workerd.nodes.commands IS 'Where others reach its Redis protocol.'",
        "COMMENT ON COLUMN workerd.nodes.requests IS 'Where others reach its HTTP.'",
    ]

    private static let timelines = [
        """
        ALTER TABLE workerd.seats ADD COLUMN system bigint, ADD COLUMN timeline bigint,
            ADD COLUMN base bigint
        """,
        "COMMENT ON COLUMN workerd.seats.system IS 'The identifier of the server at the taking.'",
        "COMMENT ON COLUMN workerd.seats.timeline IS 'The timeline of the server at the taking.'",
        "COMMENT ON COLUMN workerd.seats.base IS 'The batch at the taking.'",
    ]

    private static let batches = [
        """
        CREATE TABLE workerd.batches (
            seat integer NOT NULL,
            number bigint NOT NULL,
            PRIMARY KEY (seat, number))
            WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000)
        """,
        """
        COMMENT ON TABLE workerd.batches IS
            'The numbers of the latest transactions of each daemon.'
        """,
        "COMMENT ON COLUMN workerd.seats.batch IS 'The number of its transactions at the taking.'",
    ]

    private static let heads = [
        """
        CREATE TABLE workerd.queue_heads (
            thread text COLLATE "C" NOT NULL PRIMARY KEY,
            number bigint NOT NULL)
        """,
        """
        COMMENT ON TABLE workerd.queue_heads IS
            'For each thread, a number below which it has no job with held = 0.'
        """,
        """
        INSERT INTO workerd.queue_heads (thread, number)
        SELECT DISTINCT thread, 0 FROM workerd.jobs
        """,
    ]

    private static let dueHeads = [
        "ALTER TABLE workerd.queue_heads ADD COLUMN due bigint NOT NULL DEFAULT 0",
        """
        COMMENT ON COLUMN workerd.queue_heads.due IS
            'A moment before which no job of the thread with held = 1 is due.'
        """,
    ]

    /// The documentation of the columns, in the database itself.
    private static let notes: [String] = [
        ("SCHEMA workerd", "Jobs of workerd. Moments are Unix milliseconds; the views show dates."),
        ("TABLE workerd.jobs", "One row for each job that has not ended."),
        ("COLUMN workerd.jobs.thread", "The thread or pool that runs the job."),
        ("COLUMN workerd.jobs.selector", "The name of its handler."),
        ("COLUMN workerd.jobs.priority", "0 high, 1 normal, 2 low."),
        ("COLUMN workerd.jobs.held", "0 waiting in its queue or running, 1 delayed, 2 buffered."),
        ("COLUMN workerd.jobs.attempt", "The attempts that have begun and were recorded."),
        ("COLUMN workerd.jobs.forgiven", "The attempts that do not count against retries."),
        ("COLUMN workerd.jobs.due_at", "When a delayed job becomes due."),
        ("COLUMN workerd.jobs.order_key", "The key: jobs of one key run in order."),
        ("COLUMN workerd.jobs.retry_blocks", "Whether later jobs wait for its retries."),
        ("COLUMN workerd.jobs.released_before", "The first number after its FIRE or RETRY; or 0."),
        ("COLUMN workerd.jobs.expires_at", "When it expires if it has not begun."),
        ("COLUMN workerd.jobs.unique_until", "Until when its UNIQUE name holds."),
        ("COLUMN workerd.jobs.carried", "Label, trace, arguments and environment, encoded."),
        ("TABLE workerd.ended", "One row for each ended job, until it is dropped."),
        ("COLUMN workerd.ended.outcome", "1 done, 2 failed, 3 timed out, 4 cancelled, 5 expired."),
        ("COLUMN workerd.ended.result", "The result, or the reason of a failure."),
        ("COLUMN workerd.ended.payload", "Of failed jobs, which can run again."),
        ("COLUMN workerd.ended.kept_until", "Until when it is kept because of its UNIQUE name."),
        ("TABLE workerd.seats", "Which daemon owns the jobs; its session holds a lock as well."),
        ("COLUMN workerd.seats.epoch", "Raised each time a daemon takes the seat."),
        ("COLUMN workerd.seats.batch", "The number of the latest transaction of that daemon."),
        ("TABLE workerd.settings", "The next job number, the schema version and other numbers."),
        ("TABLE workerd.unique_names", "The jobs to which UNIQUE names lead."),
        ("TABLE workerd.holders", "Attempts that workers in other processes hold."),
        ("TABLE workerd.paused", "Paused threads and pools."),
        ("TABLE workerd.asked_to_end", "Running jobs that were asked to end."),
        ("TABLE workerd.schedules", "Schedules, and how far each has come."),
    ].map { "COMMENT ON \($0.0) IS '\($0.1)'" }

    private static let views = [
        """
        CREATE VIEW workerd.live_jobs AS
        SELECT id, thread, selector,
            (ARRAY['high', 'normal', 'low'])[priority + 1] AS priority,
            CASE WHEN held = 1 THEN 'delayed' WHEN held = 2 THEN 'buffered'
                WHEN started_at IS NOT NULL AND attempt > 0 THEN 'running'
                ELSE 'waiting' END AS state,
            attempt, retries, worker, to_timestamp(accepted_at / 1000.0) AS accepted,
            to_timestamp(due_at / 1000.0) AS due, to_timestamp(started_at / 1000.0) AS started,
            to_timestamp(expires_at / 1000.0) AS expires,
            encode(order_key, 'escape') AS key, length(payload) AS payload_bytes
        FROM workerd.jobs
        """,
        """
        CREATE VIEW workerd.ended_jobs AS
        SELECT id, thread, selector,
            (ARRAY['high', 'normal', 'low'])[priority + 1] AS priority,
            (ARRAY['done', 'failed', 'timed out', 'cancelled', 'expired'])[outcome] AS outcome,
            attempt, worker, to_timestamp(accepted_at / 1000.0) AS accepted,
            to_timestamp(started_at / 1000.0) AS started, to_timestamp(ended_at / 1000.0) AS ended,
            CASE WHEN outcome = 2 THEN encode(result, 'escape') END AS reason,
            encode(order_key, 'escape') AS key, length(result) AS result_bytes
        FROM workerd.ended
        """,
        "COMMENT ON VIEW workerd.live_jobs IS 'Jobs that have not ended, for people.'",
        "COMMENT ON VIEW workerd.ended_jobs IS 'Ended jobs, for people.'",
    ]
}
