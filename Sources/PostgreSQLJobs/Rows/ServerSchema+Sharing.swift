// The tables of daemons that share the threads of a database: each has a seat, and each thread
// belongs to one.

extension ServerSchema {
    static let sharing = [
        "CREATE SEQUENCE workerd.seat_numbers AS integer MINVALUE 2 CYCLE",
        """
        ALTER TABLE workerd.seats ADD COLUMN attempt_mark bigint
        """,
        """
        COMMENT ON COLUMN workerd.seats.attempt_mark IS
            'The mark of its daemon''s file of attempts, if daemons share the threads.'
        """,
        "ALTER TABLE workerd.nodes ADD COLUMN seat integer, ADD COLUMN threads text[]",
        "COMMENT ON COLUMN workerd.nodes.seat IS 'Its seat, if daemons share the threads.'",
        "COMMENT ON COLUMN workerd.nodes.threads IS 'The threads and pools that it can run.'",
        """
        CREATE TABLE workerd.threads (
            name text COLLATE "C" NOT NULL PRIMARY KEY,
            seat integer NOT NULL,
            moved smallint NOT NULL)
        """,
        """
        COMMENT ON TABLE workerd.threads IS
            'Which seat has each thread or pool, if daemons share the threads.'
        """,
        "COMMENT ON COLUMN workerd.threads.seat IS 'Its seat; 0 if it was given back.'",
        """
        COMMENT ON COLUMN workerd.threads.moved IS
            '0 its daemon has its jobs, 1 it was handed over, 2 it was taken over.'
        """,
        """
        CREATE TABLE workerd.links (
            node integer NOT NULL PRIMARY KEY,
            secret text NOT NULL)
        """,
        "ALTER TABLE workerd.links ENABLE ROW LEVEL SECURITY",
        """
        COMMENT ON TABLE workerd.links IS
            'What a daemon asks other daemons for that pass commands on to it.'
        """,
    ]

    static let encryptedLinks = [
        """
        ALTER TABLE workerd.links ADD COLUMN certificate text,
            ADD COLUMN requires_client boolean NOT NULL DEFAULT false
        """,
        """
        COMMENT ON COLUMN workerd.links.certificate IS
            'The SHA-256 digest of its door''s certificate, in hexadecimal, if that has TLS.'
        """,
        """
        COMMENT ON COLUMN workerd.links.requires_client IS
            'Whether that door refuses clients without a certificate.'
        """,
    ]

    static let loans = [
        "ALTER TABLE workerd.nodes ADD COLUMN wanted text[]",
        """
        COMMENT ON COLUMN workerd.nodes.wanted IS
            'The pools for which it asks for slots of other daemons, as its threads are idle.'
        """,
    ]

    /// How a thread has come to its seat, as `workerd.threads.moved` says it.
    enum Moved: Int64 {
        /// The daemon of the seat has its jobs.
        case not = 0
        /// Its jobs were handed over: each attempt is recorded.
        case handedOver = 1
        /// The daemon before may have begun its jobs without a record.
        case takenOver = 2
    }
}
