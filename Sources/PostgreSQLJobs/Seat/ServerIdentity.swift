// Whether a server and a session can hold a seat, and whether it is the server from before.

internal import Jobs
internal import Journals

/// A database server, as a connection has found it.
struct ServerIdentity {
    /// The oldest version that serves: 15.0.
    private static let oldestVersion = 150_000

    /// A session of the server; its process number alone may come again.
    struct Session {
        let process: Int64
        let startedAt: String
    }

    let session: Session
    let timeline: ServerTimeline

    /// Inspects a new connection and sets up its session.
    ///
    /// The timeline is that of the log being written. That of the latest checkpoint stays the old
    /// one for minutes after a promotion.
    ///
    /// - Throws: `unfit` for a server that is too old, an encoding other than UTF-8, or a pooler in
    ///   between; `away` for one that only reads.
    init(of connection: ServerConnection, _ address: ServerAddress) throws(StoreFault) {
        func fault(_ kind: StoreFault.Kind, _ detail: String) -> StoreFault {
            StoreFault(kind, path: address.shown, detail: detail)
        }
        guard connection.version >= Self.oldestVersion else {
            throw fault(
                .unfit,
                "the server is PostgreSQL \(connection.reported("server_version")), and 15 is the "
                    + "oldest that serves: use a newer one")
        }
        guard connection.reported("server_encoding") == "UTF8" else {
            throw fault(
                .unfit,
                "the database's encoding is \(connection.reported("server_encoding")): make one "
                    + "with createdb --encoding=UTF8 --template=template0")
        }
        let row: Row?
        do throws(ServerError) {
            row = try connection.rows(
                """
                SELECT pg_backend_pid(), pg_is_in_recovery(), s.system_identifier,
                    CASE WHEN NOT pg_is_in_recovery() THEN
                        ('x' || substr(pg_walfile_name(pg_current_wal_insert_lsn()), 1, 8)
                            )::bit(32)::bigint END,
                    (SELECT backend_start::text FROM pg_stat_activity
                        WHERE pid = pg_backend_pid())
                FROM pg_control_system() s
                """
            ).first
            _ = try connection.rows(Self.settings)
        } catch {
            throw error.isLost || error.isLate
                ? fault(.away, "can't connect: \(error)") : .ofServer(error, at: address)
        }
        guard let row else { throw fault(.unfit, "the server does not say what it is") }
        guard row.integer(0) == connection.processID else {
            throw fault(
                .unfit,
                "there is a pooler between this daemon and the server, and it can't hold a lock: "
                    + "connect to the server itself")
        }
        guard !row.isTrue(1) else {
            throw fault(
                .away,
                "the server is a standby that can only be read: connect to its primary, or name "
                    + "all servers, as in postgresql://host1,host2/jobs")
        }
        session = Session(process: row.integer(0), startedAt: row.text(4))
        timeline = ServerTimeline(system: row.integer(2), number: row.integer(3))
    }

    /// The settings of a session.
    ///
    /// The plans are of one kind: rows are found by an index, however many there are and whatever
    /// the statistics of a table say that was empty a moment ago.
    private static let settings = """
        SELECT set_config('search_path', '', false),
            set_config('lock_timeout', '1s', false),
            set_config('statement_timeout', '0', false),
            set_config('idle_in_transaction_session_timeout', '\(Trust.sessionSeconds)s', false),
            set_config('idle_session_timeout', '\(Trust.sessionSeconds)s', false),
            set_config('tcp_keepalives_idle', '2', false),
            set_config('tcp_keepalives_interval', '1', false),
            set_config('tcp_keepalives_count', '2', false),
            set_config('tcp_user_timeout', '\(Trust.sessionSeconds)s', false),
            set_config('client_connection_check_interval', '500ms', false),
            set_config('default_transaction_isolation', 'read committed', false),
            set_config('synchronous_commit',
                CASE current_setting('synchronous_commit') WHEN 'off' THEN 'on'
                    ELSE current_setting('synchronous_commit') END, false),
            set_config('enable_seqscan', 'off', false),
            set_config('enable_hashjoin', 'off', false),
            set_config('enable_mergejoin', 'off', false),
            set_config('jit', 'off', false),
            set_config('plan_cache_mode', 'force_generic_plan', false)
        """
}
