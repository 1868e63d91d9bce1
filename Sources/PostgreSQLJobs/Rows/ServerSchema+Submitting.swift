// Jobs that are submitted by SQL: their table, and the functions that add to it.
//
// A submitter tells the daemon by NOTIFY, but only when the daemon sleeps: NOTIFY takes a lock
// until the end of the transaction, and so makes all submitters wait for each other. The daemon
// holds an advisory lock while it looks for jobs, one for each seat if daemons share the threads. A
// submitter inserts its row first, and then tries the lock of the thread's daemon.

extension ServerSchema {
    static let submitting =
        [submittedTable, perform, performText] + submittedIndexes + submittingNotes

    private static let submittingNotes = [
        "REVOKE ALL ON ALL FUNCTIONS IN SCHEMA workerd FROM PUBLIC",
        """
        COMMENT ON TABLE workerd.submitted IS
            'Jobs that were submitted by SQL and are not accepted yet.'
        """,
        "COMMENT ON COLUMN workerd.submitted.ticket IS 'The answer of perform.'",
        """
        COMMENT ON COLUMN workerd.submitted.refusal IS
            'Why it can not be accepted; tried again at each start and reload.'
        """,
    ]

    private static let submittedTable = """
        CREATE TABLE workerd.submitted (
            place bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
            ticket uuid NOT NULL,
            submitted_at timestamptz NOT NULL,
            submitted_by text NOT NULL,
            thread text COLLATE "C" NOT NULL,
            selector text COLLATE "C" NOT NULL,
            payload bytea NOT NULL,
            priority smallint NOT NULL,
            order_key bytea,
            due_at bigint,
            unique_name bytea,
            retries bigint,
            timeout_ms bigint,
            expire_ms bigint,
            label bytea NOT NULL,
            refusal text)
            WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000)
        """

    private static let submittedIndexes = [
        "CREATE INDEX submitted_in_turn ON workerd.submitted (place) WHERE refusal IS NULL",
        "CREATE INDEX submitted_refused ON workerd.submitted (place) WHERE refusal IS NOT NULL",
    ]

    /// The index for the jobs of one thread.
    ///
    /// Those of a full thread may be millions.
    static let submittedOfThread = [
        """
        CREATE INDEX submitted_of_thread ON workerd.submitted (thread, place)
            WHERE refusal IS NULL
        """
    ]

    private static let options = """
        key text DEFAULT NULL, delay interval DEFAULT NULL, unique_name text DEFAULT NULL,
        priority text DEFAULT 'normal', retries integer DEFAULT NULL,
        timeout interval DEFAULT NULL, expire interval DEFAULT NULL, label text DEFAULT NULL
        """

    /// A check of an argument.
    private static func check(_ fails: String, _ message: String, _ arguments: String) -> String {
        """
        IF \(fails) THEN
            RAISE EXCEPTION '\(message)', \(arguments) USING ERRCODE = '22023';
        END IF;
        """
    }

    private static func checkName(_ name: String, _ pattern: String, _ what: String) -> String {
        check(
            "\(name) IS NULL OR \(name) !~ '^[A-Za-z0-9_.-]{1,64}\(pattern)$'",
            "\(name) must be the name of \(what), 1 to 64 of A-Z a-z 0-9 _ . -, and is %",
            "coalesce(quote_literal(left(\(name), 80)), 'NULL')")
    }

    private static func checkSize(_ name: String) -> String {
        check(
            "octet_length(\(name)) NOT BETWEEN 1 AND 256",
            "\(name) must have 1 to 256 bytes, and has %", "octet_length(\(name))")
    }

    private static func checkTime(_ name: String, from least: Int) -> String {
        check(
            "\(name)_ms NOT BETWEEN \(least) AND 3153600000000",
            "\(name) must be \(least) ms to 100 years, and is %", name)
    }

    private static let checks = [
        checkName("thread", "(/[0-9]{1,9})?", "a thread or pool"),
        checkName("selector", "", "a selector"),
        check(
            "payload IS NULL", "payload must not be NULL: leave it out for an empty one%", "''"),
        check(
            "octet_length(payload) > payload_max",
            "payload has % bytes, and limits.payload of workerd is %",
            "octet_length(payload), payload_max"),
        checkSize("key"), checkSize("unique_name"), checkSize("label"),
        check(
            "priority_code IS NULL", "priority must be high, normal or low, and is %",
            "coalesce(quote_literal(left(priority, 80)), 'NULL')"),
        check(
            "retries NOT BETWEEN 0 AND 1000", "retries must be 0 to 1000, and is %", "retries"),
        checkTime("delay", from: 0), checkTime("timeout", from: 1), checkTime("expire", from: 1),
    ].joined(separator: "\n")

    private static let perform = perform("CREATE FUNCTION", in: "thread")

    /// The function that submits a job.
    ///
    /// - Parameter place: an expression for the name under which the job waits.
    private static func perform(_ create: String, in place: String) -> String {
        """
        \(create) workerd.perform(thread text, selector text, payload bytea, \(options))
        RETURNS uuid LANGUAGE plpgsql VOLATILE SECURITY DEFINER
        SET search_path = pg_catalog, pg_temp AS $$
        #variable_conflict use_variable
        DECLARE
            new_ticket uuid := gen_random_uuid();
            delay_ms bigint := ceil(extract(epoch FROM delay) * 1000);
            timeout_ms bigint := ceil(extract(epoch FROM timeout) * 1000);
            expire_ms bigint := ceil(extract(epoch FROM expire) * 1000);
            priority_code integer := array_position(ARRAY['high', 'normal', 'low'], priority);
            payload_max bigint := coalesce(
                (SELECT value FROM workerd.settings WHERE name = 'payload_max'), 536870912);
            unit text;
            owner integer;
        BEGIN
            \(checks)
            INSERT INTO workerd.submitted (ticket, submitted_at, submitted_by, thread, selector,
                payload, priority, order_key, due_at, unique_name, retries, timeout_ms, expire_ms,
                label)
            VALUES (new_ticket, clock_timestamp(), session_user, \(place), selector, payload,
                priority_code - 1, convert_to(key, 'UTF8'),
                floor(extract(epoch FROM clock_timestamp()) * 1000) + nullif(delay_ms, 0),
                convert_to(unique_name, 'UTF8'), retries, timeout_ms, expire_ms,
                convert_to(coalesce(label, new_ticket::text), 'UTF8'))
            RETURNING split_part(submitted.thread, '/', 1) INTO unit;
            -- After the row: a daemon that has given the lock back looks for it, and so does one
            -- that has taken the thread since. Another isolation shows the owner of before.
            IF current_setting('transaction_isolation') = 'read committed' THEN
                owner := (SELECT nullif(seat, 0) FROM workerd.threads WHERE name = unit);
            END IF;
            owner := coalesce(owner, \(Seat.whole));
            IF pg_try_advisory_lock_shared(\(lockClass), -owner) THEN
                PERFORM pg_advisory_unlock_shared(\(lockClass), -owner);
                NOTIFY \(channel);
            END IF;
            RETURN new_ticket;
        END $$
        """
    }

    /// Pools that are spread over slots: `workerd.settings` has the number of each pool's slots.
    static let slots = [
        """
        CREATE FUNCTION workerd.slot_of(thread text, key bytea, turn bigint)
        RETURNS text LANGUAGE plpgsql STABLE SECURITY DEFINER
        SET search_path = pg_catalog, pg_temp AS $$
        #variable_conflict use_variable
        DECLARE
            slots bigint := (SELECT value FROM workerd.settings
                WHERE name = '\(slotsSetting)' || thread);
            hash bigint := 2166136261;
        BEGIN
            IF slots IS NULL THEN
                RETURN thread;
            END IF;
            -- FNV-1a of 32 bits, as PoolSlot.index of workerd.
            FOR i IN 0 .. coalesce(octet_length(key), 0) - 1 LOOP
                hash := ((hash # get_byte(key, i)) * 16777619) & 4294967295;
            END LOOP;
            IF key IS NULL THEN
                hash := turn;
            END IF;
            RETURN thread || CASE hash % slots WHEN 0 THEN '' ELSE '#' || hash % slots END;
        END $$
        """,
        "REVOKE ALL ON FUNCTION workerd.slot_of(text, bytea, bigint) FROM PUBLIC",
        """
        COMMENT ON FUNCTION workerd.slot_of(text, bytea, bigint) IS
            'The column thread of a job: of a spread pool, the slot of its key, or any.'
        """,
        perform(
            "CREATE OR REPLACE FUNCTION",
            in: """
                workerd.slot_of(thread, convert_to(coalesce(key, unique_name), 'UTF8'),
                    floor(random() * 1000000)::bigint)
                """
        ),
    ]

    /// The beginning of the setting that has the number of a pool's slots.
    static let slotsSetting = "slots/"

    private static let performText = """
        CREATE FUNCTION workerd.perform(
            thread text, selector text, payload text DEFAULT '', \(options))
        RETURNS uuid LANGUAGE sql VOLATILE AS $$
            SELECT workerd.perform(thread, selector, pg_catalog.convert_to(payload, 'UTF8'), key,
                delay, unique_name, priority, retries, timeout, expire, label)
        $$
        """
}
