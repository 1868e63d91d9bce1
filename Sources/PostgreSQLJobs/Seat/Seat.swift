// The seat: the one session that may change the jobs. It holds an advisory lock of the server and
// the number of its epoch, which each taking of the seat raises.
//
// All transactions of a seat travel on its connection, and the server releases the lock when that
// session is over. So when the lock is free, every transaction of the seat is decided:
//
//     connection lost → connect → lock → read epoch and batch (Seat+Batches.swift)
//         another epoch: another daemon has taken the seat; this one may not go on
//         an older batch: the database is an older state of itself; the same
//         this epoch: `batch` says whether the transaction in flight was committed
//
// A promoted standby has another timeline: Seat+Promotion.swift.
//
// The lock comes first, and the reading is a transaction of its own behind it: a snapshot from
// before the lock would show an older batch.

internal import Jobs
internal import Journals
internal import Kernel

/// The right to change the jobs of a database.
///
/// - Thread: the journal's.
final class Seat {
    /// The number of the seat of a daemon that has all threads.
    static let whole: Int64 = 1
    /// How long the lock of a session that ends is waited for.
    private static let lockPatience = Duration.seconds(5)
    /// The same of a daemon that then goes on waiting, with its doors open.
    private static let lockPatienceBeforeStandby = Duration.seconds(1)
    private static let lockPause = Duration.milliseconds(20)
    /// How long the journal's thread waits for a server that does not answer: for a connection, for
    /// the lock of its earlier session, for a step of taking the seat again, and for a statement.
    static let connectPatience = Duration.milliseconds(100)
    private static let relockPatience = Duration.milliseconds(200)
    static let stepPatience = Duration.seconds(1)
    private static let statementPatience = Duration.seconds(4)
    /// The pause between two looks of a daemon that waits for the seat: two statements each.
    ///
    /// Half of the time for which the seat has to be free, so that the third look is in time.
    static let lookPause = SeatWatch.freeTime / 2

    let address: ServerAddress
    /// The number of this seat among those of the schema.
    var number = Seat.whole
    /// Whether other daemons have threads of the same database.
    let isShared: Bool
    /// The latest changes of this daemon.
    let work = RecentWork()
    let entry: NodeEntry
    let log: StoreLog
    /// Opened when the store is to be closed: nothing is waited for any more.
    let closing: Latch
    /// The file that has the newest server.
    let known: KnownServer
    private let whenLost: @Sendable (StoreFault) -> Void
    private var live: ServerConnection? {
        willSet {
            guard live != nil, newValue !== live else { return }
            whenLeft?()
            whenChanged?(nil)
        }
        didSet {
            guard let live, oldValue !== live else { return }
            sessionNumber += 1
            whenChanged?(live.socket)
        }
    }
    /// The number of the seat's session; 0 before the first.
    private(set) var sessionNumber = 0
    /// Called with the socket of the seat's connection, and with nil before it is closed.
    var whenChanged: ((Int32?) -> Void)? {
        didSet { if let live { whenChanged?(live.socket) } }
    }
    /// Called when the seat has no connection any more.
    var whenLeft: (() -> Void)?
    /// Called when it has one again, with the moment of the first confirmed commit.
    var whenTakenAgain: ((ContinuousClock.Instant) -> Void)?
    /// A connection that is being made, and one that has not taken the seat again yet.
    var connecting: ServerConnecting?
    private var candidate: ServerConnection?
    var hosts: ServerHosts
    /// Whether the seat was taken: from then on a server that is away is not waited for.
    private(set) var isTaken = false
    /// The server of the latest connection that served; none is older.
    var server: ServerIdentity?
    private(set) var epoch: Int64 = 0
    /// The number of the latest transaction that is known to be committed.
    private(set) var batch: Int64 = 0
    /// The reason why this seat is another daemon's.
    private var loss: StoreFault?

    init(
        _ address: ServerAddress, _ entry: NodeEntry, known: KnownServer, closing: Latch,
        isShared: Bool = false, log: StoreLog, whenLost: @escaping @Sendable (StoreFault) -> Void
    ) {
        self.address = address
        self.isShared = isShared
        self.entry = entry
        self.known = known
        self.closing = closing
        self.log = log
        hosts = ServerHosts(of: address)
        self.whenLost = whenLost
    }

    // MARK: - Taking

    /// Takes the seat for the first time; makes the tables or brings them up to date.
    ///
    /// - Parameter standby: waits for a server that is away and for a daemon that has the seat; nil
    ///   throws.
    /// - Throws: `inUse` if another daemon has it, `away`, `unfit`, `newer`, `foreign`.
    /// - Blocks: for the server, and for the session of a daemon that has just ended.
    func take(_ standby: SeatStandby?) throws(StoreFault) {
        var hasTold = false
        while true {
            do throws(StoreFault) {
                return try takeOnce(standby)
            } catch {
                guard error.kind == .away, let standby, standby.goesOn() else { throw error }
                if !hasTold { log.warning("\(error)") }
                hasTold = true
                if closing.wait(until: .now + Self.lookPause) { throw error }
            }
        }
    }

    private func takeOnce(_ standby: SeatStandby?) throws(StoreFault) {
        var connection = try connect()
        let patience = standby == nil ? Self.lockPatience : Self.lockPatienceBeforeStandby
        if try !lock(on: connection, for: patience) {
            guard let standby else { throw fault(.inUse, "another daemon has it") }
            connection = try wait(standby, connection)
        }
        try asking { () throws(ServerError) in
            try connection.send("BEGIN")
            try connection.synchronize()
        }
        try Migration(address, connection, rights).run()
        if isShared { try takeShare(on: connection) } else { try endShares(on: connection) }
        try asking { () throws(ServerError) in
            try enterEpoch(on: connection)
            try connection.send("COMMIT")
            try connection.synchronize()
            try entry.enter(on: connection, sharing: isShared ? number : nil)
        }
        try warnOfWeakPromise(on: connection)
        live = connection
    }

    /// Raises the epoch of the seat; part of a transaction.
    private func enterEpoch(on connection: ServerConnection) throws(ServerError) {
        guard let server else { preconditionFailure("a connection has a server") }
        var parameters = Parameters()
        parameters.add(number)
        parameters.add(ProcessStatistics.processID)
        parameters.add(server.timeline.system)
        parameters.add(server.timeline.number)
        let row = try connection.rows(
            """
            UPDATE workerd.seats seat
            SET epoch = seat.epoch + 1, host = inet_client_addr()::text,
                process = $2::bigint::integer, taken_at = now(), base = \(Self.latestBatch),
                batch = \(Self.latestBatch), system = $3::bigint, timeline = $4::bigint
            FROM workerd.seats earlier WHERE seat.id = $1::bigint::integer AND earlier.id = seat.id
            RETURNING seat.epoch, seat.batch, earlier.system <> $3::bigint
                OR earlier.timeline <> $4::bigint, earlier.timeline
            """, parameters
        ).first
        epoch = row?.integer(0) ?? 0
        batch = row?.integer(1) ?? 0
        parameters = Parameters()
        parameters.add(number)
        try connection.send(
            "DELETE FROM workerd.batches WHERE seat = $1::bigint::integer", parameters)
        if row?.isTrue(2) == true { try leapNumbers(from: row?.integer(3), on: connection) }
    }

    /// The tables are read: from here on, no statement of this thread waits for long.
    func noteOpened() throws(StoreFault) {
        isTaken = true
        guard let live else { return }
        live.patience = Self.statementPatience
        try asking { () throws(ServerError) in try prepare(live) }
    }

    /// The connection, if there is one.
    var present: ServerConnection? { live }

    /// The connection that has the seat; connects anew if it was lost.
    ///
    /// - Throws: `away`, or why the seat is another daemon's.
    /// - Blocks: for the server.
    func connected() throws(StoreFault) -> ServerConnection {
        if let loss { throw loss }
        if let live { return live }
        return try takeAgain()
    }

    private func takeAgain() throws(StoreFault) -> ServerConnection {
        let connection: ServerConnection
        if let candidate { connection = candidate } else { connection = try connect() }
        // A fault forgets it.
        candidate = connection
        try endEarlierSession(on: connection)
        guard try lock(on: connection, for: Self.relockPatience) else {
            // The daemon that holds it may have raised the epoch already.
            _ = try readBatch(on: connection)
            throw fault(.away, "another session holds the seat")
        }
        batch = try readBatch(on: connection)
        let sentAt = ContinuousClock.now
        try asking { () throws(ServerError) in
            var parameters = Parameters()
            parameters.add(number)
            _ = try connection.rows(
                "UPDATE workerd.seats SET taken_at = now() WHERE id = $1::bigint::integer",
                parameters)
        }
        try asking { () throws(ServerError) in
            try prepare(connection)
            try entry.enter(on: connection, sharing: isShared ? number : nil)
        }
        candidate = nil
        live = connection
        whenTakenAgain?(sentAt)
        connection.patience = Self.statementPatience
        return connection
    }

    /// Decides whether a transaction was committed whose answer was lost.
    ///
    /// - Throws: `away` if that can't be known yet, or why the seat is another daemon's.
    /// - Blocks: for a few hundred milliseconds at most.
    func wasCommitted(_ number: Int64) throws(StoreFault) -> Bool {
        live = nil
        _ = try takeAgain()
        return batch == number
    }

    /// The transaction of the next number was committed.
    func noteCommit() { batch += 1 }

    /// Closes the connection, which gives the seat back.
    func leave() {
        live = nil
        candidate = nil
        connecting = nil
    }

    /// The daemons that share the database.
    func nodes() throws(StoreFault) -> StoreNodes {
        let connection = try connected()
        return try asking { () throws(ServerError) in
            try entry.renew(on: connection, sharing: isShared ? number : nil)
            guard isShared else { return try entry.all(on: connection) }
            var nodes = try NodeEntry.sharing(on: connection)
            nodes.places?.session = sessionNumber
            return nodes
        }
    }

    // MARK: - Steps

    /// Ends the session that this process had before, if it still holds the lock.
    private func endEarlierSession(on connection: ServerConnection) throws(StoreFault) {
        guard let earlier = earlierSession else { return }
        try asking { () throws(ServerError) in
            var parameters = Parameters(lock: number)
            parameters.add(earlier.process)
            parameters.add(earlier.startedAt)
            _ = try connection.rows(
                """
                SELECT pg_terminate_backend(a.pid)
                FROM pg_locks l JOIN pg_stat_activity a ON a.pid = l.pid
                WHERE l.locktype = 'advisory' AND l.granted AND l.classid = $1::bigint::oid
                    AND l.objid = $2::bigint::oid AND a.pid = $3::bigint
                    AND a.backend_start::text = $4::text
                """, parameters)
        }
    }

    private var earlierSession: ServerIdentity.Session?

    func lock(
        on connection: ServerConnection, for patience: Duration
    ) throws(StoreFault) -> Bool {
        let end = ContinuousClock.now + patience
        while true {
            let isOurs = try asking { () throws(ServerError) in
                try isShared ? lockShare(on: connection) : lock(number, on: connection)
            }
            if isOurs {
                earlierSession = server?.session
                return true
            }
            guard ContinuousClock.now < end, !closing.wait(until: .now + Self.lockPause) else {
                return false
            }
        }
    }

    /// Tries the lock of a seat.
    func lock(
        _ number: Int64, on connection: ServerConnection
    ) throws(ServerError) -> Bool {
        let parameters = Parameters(lock: number)
        return try connection.rows(
            "SELECT pg_try_advisory_lock($1::bigint::integer, $2::bigint::integer)", parameters
        ).first?.isTrue(0) == true
    }

    /// The latest batch of the seat.
    ///
    /// - Throws: the loss of the seat, if its epoch is another one.
    private func readBatch(on connection: ServerConnection) throws(StoreFault) -> Int64 {
        var parameters = Parameters()
        parameters.add(number)
        let row = try asking { () throws(ServerError) in
            try connection.rows(
                """
                SELECT epoch, \(Self.latestBatch) FROM workerd.seats seat
                WHERE id = $1::bigint::integer
                """, parameters
            ).first
        }
        guard let row, row.integer(0) == epoch else {
            throw lose("another daemon has taken the seat")
        }
        guard row.integer(1) >= batch else {
            throw lose("the database is an older state of itself")
        }
        return row.integer(1)
    }

    // MARK: - Faults

    /// The seat is another daemon's, or its database is not the one from before.
    func lose(_ reason: String, _ kind: StoreFault.Kind = .lost) -> StoreFault {
        let lost = loss ?? fault(kind, reason)
        if loss == nil {
            loss = lost
            leave()
            whenLost(lost)
        }
        return lost
    }

    func fault(_ kind: StoreFault.Kind, _ detail: String) -> StoreFault {
        StoreFault(kind, path: address.shown, detail: detail)
    }

    /// The fault that an error of the server is; a lost connection is not used any more.
    func fault(of error: ServerError) -> StoreFault {
        if error.isLost || error.isLate {
            live = nil
            candidate = nil
            return fault(.away, "the connection is lost: \(error)")
        }
        if error.isSeatLost { return lose("another daemon has taken the seat") }
        return .ofServer(error, at: address)
    }

    func asking<Value>(
        _ body: () throws(ServerError) -> Value
    ) throws(StoreFault) -> Value {
        try ServerError.thrown(as: fault(of:), body)
    }
}

extension ServerError {
    /// Asks a server, and throws each of its errors as the fault that it is.
    static func thrown<Value>(
        as fault: (ServerError) -> StoreFault, _ body: () throws(ServerError) -> Value
    ) throws(StoreFault) -> Value {
        do throws(ServerError) {
            return try body()
        } catch {
            throw fault(error)
        }
    }
}

extension StoreFault {
    /// The fault that an error of a statement is.
    static func ofServer(_ error: ServerError, at address: ServerAddress) -> StoreFault {
        let kind: Kind
        var detail = "the server has refused a statement: \(error)"
        if error.isFull {
            kind = .full
            detail = error.description
        } else if error.isForbidden {
            kind = .unfit
            detail =
                "this user lacks a right: \(error.message); Documents/PostgreSQL.md says which "
                + "rights it needs"
        } else {
            kind = error.isPassing ? .away : .unfit
        }
        return StoreFault(kind, path: address.shown, detail: detail)
    }
}
