// A database whose threads several daemons share: what each reads and changes, and how a thread
// passes from one to another.

import Jobs
import Kernel
import PostgreSQLJobs
import PostgreSQLServer
import Support
import Testing

@Suite(.enabled(if: PostgreSQLServer.isInstalled, .init(rawValue: PostgreSQLServer.excuse)))
struct `A database with shared threads` {
    let address: String
    private let directory: TestDirectory

    init() throws {
        address = try PostgreSQLServer.shared.get().makeDatabase()
        directory = try TestDirectory()
    }

    func open(_ name: String, isShared: Bool = true) throws -> Sharer {
        try Sharer(address, attempts: directory.file("attempts-\(name)"), isShared: isShared)
    }

    /// Two daemons, which end with the body.
    private func withTwo(_ body: (Sharer, Sharer) throws -> Void) throws {
        let (a, b) = (try open("a"), try open("b"))
        defer {
            a.close()
            b.close()
        }
        try body(a, b)
    }

    @discardableResult
    func sql(_ text: String) throws -> String {
        try PostgreSQLServer.run(text, at: address)
    }

    /// Ends the session of a daemon.
    private func endSession(of sharer: Sharer) throws {
        try sql(
            """
            SELECT pg_terminate_backend(pid, 10000) FROM pg_locks
            WHERE locktype = 'advisory' AND granted AND objid = \(sharer.seat)
                AND classid = x'776B7264'::bigint::oid
                AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
            """)
    }

    /// Ends a daemon without a trace, as a crash would.
    func lose(_ sharer: Sharer) throws {
        try sql("UPDATE workerd.seats SET epoch = epoch + 1 WHERE id = \(sharer.seat)")
        // Closed first: after the end of its session it would connect again, and hold the lock of
        // its seat until it has read the epoch.
        sharer.close()
        try endSession(of: sharer)
    }

    @Test func `gives each daemon a seat, and none a thread of another`() throws {
        try withTwo { a, b in
            #expect(a.seat != b.seat)
            _ = try a.take("mail", from: 1)
            _ = try b.take("disk", from: 1)
            // It is too late: it has an owner.
            #expect(try b.move(ThreadMove("mail", from: 1, to: b.seat)) == nil)
            guard case .failure(let fault) = try b.claim("mail") else {
                throw Unexpected("it has taken another one's thread")
            }
            #expect(fault.kind == .foreignThread)
            let places = try a.nodes().places?.threads
            #expect(places?["mail"] == ThreadPlaces.Place(seat: a.seat, isTaken: true))
            #expect(places?["disk"] == ThreadPlaces.Place(seat: b.seat, isTaken: true))
        }
    }

    @Test func `shows the same at each look while nothing moves`() throws {
        try withTwo { a, b in
            _ = try a.take("mail", from: 1)
            let looks = try (0..<3).map { _ in try b.nodes() }
            // The server may stop being new in between, once.
            #expect(looks[0] == looks[1] || looks[1] == looks[2])
        }
    }

    @Test func `does not take a thread in another session than that of its look`() throws {
        let (a, b) = (try open("a"), try open("b"))
        defer { b.close() }
        _ = try a.take("mail", from: 1)
        try lose(a)
        _ = try b.nodes()
        let move = ThreadMove("mail", from: a.seat, to: b.seat, session: b.session)
        // As a server that starts anew does, and all daemons connect again.
        try endSession(of: b)
        while try b.move(move) != nil { SystemThread.yield() }
        // A later look decides later moves only.
        _ = try b.nodes()
        #expect(try b.move(move) == nil)
        guard case .failure(let fault) = try b.claim("mail") else {
            throw Unexpected("it has taken a thread that it has not looked at")
        }
        #expect(fault.kind == .foreignThread)
        _ = try b.take("mail", from: a.seat)
    }

    @Test func `does not take a thread of a daemon that lives`() throws {
        try withTwo { a, b in
            _ = try a.take("mail", from: 1)
            _ = try b.nodes()
            #expect(try b.move(ThreadMove("mail", from: a.seat, to: b.seat)) == nil)
            #expect(try a.nodes().places?.threads["mail"]?.seat == a.seat)
            _ = try a.accept("mail")
        }
    }

    @Test func `counts an attempt of jobs that may have begun in a dead daemon`() throws {
        let (a, b) = (try open("a"), try open("b"))
        defer { b.close() }
        _ = try a.take("mail", from: 1)
        let id = try a.accept("mail")
        try lose(a)
        let taken = try b.take("mail", from: a.seat)
        #expect(
            taken.counts == [
                QueueName(thread: "mail", priority: .normal): [
                    "echo": [.waiting: JobAmount(count: 1, byteCount: 1)]
                ]
            ])
        #expect(try b.load("mail").map { [$0.id.number, UInt64($0.attempt)] } == [[id.number, 1]])
        #expect(try sql("SELECT attempt, forgiven FROM workerd.jobs") == "1|1\n")
    }

    @Test func `counts an attempt for each daemon that died with a job, recorded or not`() throws {
        let (a, b, c) = (try open("a"), try open("b"), try open("c"))
        defer { c.close() }
        _ = try a.take("mail", from: 1)
        let id = try a.accept("mail")
        // The first attempt lasts, and is recorded.
        try a.tell(.start(id, Attempt(number: 1, startedAt: 1_000)))
        try lose(a)
        _ = try b.take("mail", from: a.seat)
        #expect(try b.load("mail").map(\.attempt) == [1])
        // The second one begins without a record.
        try lose(b)
        _ = try c.take("mail", from: b.seat)
        #expect(try c.load("mail").map(\.attempt) == [2])
    }

    @Test func `counts none of a thread that was handed over`() throws {
        // The numbers of the second daemon are larger.
        try withTwo { b, a in
            _ = try a.take("mail", from: 1)
            let first = try a.accept("mail")
            #expect(try a.move(ThreadMove("mail", from: a.seat, to: b.seat)) == nil)
            let taken = try b.claim("mail").get().taken
            #expect(try sql("SELECT attempt FROM workerd.jobs") == "0\n")
            // New jobs come behind the old ones, although the other daemon had the first numbers.
            #expect((taken?.nextNumber ?? 0) > first.number)
            #expect(try b.load("mail").map(\.id) == [first])
            #expect(try b.accept("mail") > first)
        }
    }

    @Test(.timeLimit(.minutes(1)))
    func `drops ended jobs of a daemon that has given a thread away`() throws {
        try withTwo { a, b in
            for thread in ["mail", "post"] { _ = try a.take(thread, from: 1) }
            // The table has a page from then on, which has to be read anew.
            try a.end(try a.accept(1, "post"))
            #expect(try a.move(ThreadMove("mail", from: a.seat, to: b.seat)) == nil)
            try a.end(try a.accept(9, "post"))
            // They ended long ago. The next sign of life has all ended jobs read anew.
            while try sql("SELECT count(*) FROM workerd.ended") != "0\n" { try a.tell() }
        }
    }

    @Test func `gives back all threads of a daemon that ends`() throws {
        let (a, b) = (try open("a"), try open("b"))
        defer { b.close() }
        _ = try a.take("mail", from: 1)
        _ = try a.accept("mail")
        a.close()
        #expect(try b.nodes().places?.threads["mail"]?.seat == 0)
        _ = try b.take("mail", from: 0)
        #expect(try sql("SELECT attempt FROM workerd.jobs") == "0\n")
    }

    @Test func `gives a daemon its threads back after a crash, with its attempts`() throws {
        let a = try open("a")
        _ = try a.take("mail", from: 1)
        let begun = try a.accept("mail")
        let waiting = try a.accept("mail")
        a.store.noteStart(begun.number, Attempt(number: 1))
        try lose(a)
        let again = try open("a")
        defer { again.close() }
        #expect(again.seat != a.seat)
        let place = try again.nodes().places?.threads["mail"]
        #expect(place == ThreadPlaces.Place(seat: again.seat, isTaken: false))
        _ = try again.claim("mail")
        #expect(
            try again.load("mail").map { [$0.id.number, UInt64($0.attempt)] }
                == [[begun.number, 1], [waiting.number, 0]])
    }

    @Test func `ends a daemon that comes back when its threads were taken`() throws {
        try withTwo { a, b in
            _ = try a.take("mail", from: 1)
            // Its session is over. If it notices that first, it connects again.
            repeat {
                try endSession(of: a)
                #expect(try b.move(ThreadMove("mail", from: a.seat, to: b.seat)) == nil)
            } while try b.nodes().places?.threads["mail"]?.seat != b.seat
            _ = try b.claim("mail").get()
            let request = JobRequest(thread: "mail", selector: "echo", payload: [])
            let job = Job(id: JobID(a.recovery.nextNumber), request: request, acceptedAt: 0)
            #expect(try a.tell(.accept(NewJob(job, isParked: false))) != nil)
            #expect(a.loss.get()?.kind == .lost)
            #expect(try sql("SELECT count(*) FROM workerd.jobs") == "0\n")
        }
    }

    @Test(.timeLimit(.minutes(1)))
    func `ends a daemon that comes back when another one has had all threads`() throws {
        let a = try open("a")
        defer { a.close() }
        _ = try a.take("mail", from: 1)
        _ = try a.accept("mail")
        // Its session is over. If it notices that first, it connects again.
        var whole: Sharer?
        while whole == nil {
            try endSession(of: a)
            whole = try? open("whole", isShared: false)
        }
        whole?.close()
        let request = JobRequest(thread: "mail", selector: "echo", payload: [])
        let job = Job(id: JobID(a.recovery.nextNumber), request: request, acceptedAt: 0)
        #expect(try a.tell(.accept(NewJob(job, isParked: false))) != nil)
        #expect(a.loss.get()?.kind == .lost)
    }

    @Test func `is for daemons of one kind at a time`() throws {
        let a = try open("a")
        #expect(throws: StoreFault.self) { try open("whole", isShared: false) }
        _ = try a.take("mail", from: 1)
        let id = try a.accept("mail")
        a.close()
        let whole = try open("whole", isShared: false)
        #expect(whole.store.sharedSeat == nil)
        #expect(whole.recovery.nextNumber > id.number)
        #expect(throws: StoreFault.self) { try open("b") }
        whole.close()
        let b = try open("b")
        defer { b.close() }
        // Its rows are from before; a daemon had all threads since.
        #expect(try b.nodes().places?.threads.isEmpty == true)
        _ = try b.take("mail", from: 1)
        // The one before has ended in order.
        #expect(try sql("SELECT attempt FROM workerd.jobs") == "0\n")
    }

    @Test func `counts attempts after a daemon that had all threads and crashed`() throws {
        let whole = try open("whole", isShared: false)
        _ = try whole.accept("mail")
        try lose(whole)
        let a = try open("a")
        defer { a.close() }
        _ = try a.take("mail", from: 1)
        #expect(try sql("SELECT attempt, forgiven FROM workerd.jobs") == "1|1\n")
    }

    @Test func `shows and changes only jobs of a daemon's own threads`() throws {
        try withTwo { a, b in
            _ = try a.take("mail", from: 1)
            _ = try b.take("disk", from: 1)
            var options = JobOptions()
            options.expireMilliseconds = 1
            let (mail, disk) = (try a.accept("mail", options), try b.accept("disk", options))
            func expiring(_ sharer: Sharer) throws -> [JobID] {
                try sharer.ask({
                    .findExpired(at: .max, after: .first, limit: 10, ticket: $0)
                }) { answer, expected in
                    if case .expiring(expected, .success(let jobs)) = answer {
                        jobs.places.map(\.id)
                    } else {
                        nil
                    }
                }
            }
            #expect(try expiring(a) == [mail])
            #expect(try expiring(b) == [disk])
            // A cancel that comes too late, when the thread is another one's.
            let cancelled = try b.ask({ .cancel(mail, as: .cancelled, ticket: $0) }) {
                answer, expected in
                if case .cancelled(expected, .success(let jobs)) = answer { jobs } else { nil }
            }
            #expect(cancelled.isEmpty)
            let now = WallClock.unixMilliseconds()
            try a.tell(.end(mail, Attempt(number: 1), .failed(reason: "no"), at: now))
            func dropFailed(_ sharer: Sharer) throws -> [JobID] {
                let part = FailedJobsPart(
                    before: .max, moment: 0, countMax: 10, byteCountMax: 1 << 20)
                return try sharer.ask({
                    .settle(.all(selector: "echo"), .drop, part, ticket: $0)
                }) { answer, expected in
                    if case .settled(expected, .success(let settled)) = answer {
                        settled.dropped.map(\.id)
                    } else {
                        nil
                    }
                }
            }
            #expect(try dropFailed(b) == [])
            #expect(try dropFailed(a) == [mail])
        }
    }

    @Test func `hands each submitted job to the daemon of its thread`() throws {
        try withTwo { a, b in
            _ = try a.take("mail", from: 1)
            _ = try b.take("disk", from: 1)
            try sql(
                """
                SELECT workerd.perform('mail', 'echo', 'm');
                SELECT workerd.perform('disk', 'echo', 'd')
                """)
            #expect(try a.submitted().map(\.request.thread) == ["mail"])
            #expect(try b.submitted().map(\.request.thread) == ["disk"])
        }
    }

    @Test func `refuses a submitted job that another daemon has accepted, and that job alone`()
        throws
    {
        try withTwo { a, b in
            _ = try a.take("mail", from: 1)
            try sql("SELECT workerd.perform('mail', 'echo', 'm' || i) FROM generate_series(1, 2) i")
            let jobs = try a.submitted()
            func new(_ submitted: SubmittedJob, _ place: Int, of sharer: Sharer) -> NewJob {
                let id = JobID(sharer.recovery.nextNumber + UInt64(place))
                return NewJob(
                    Job(id: id, request: submitted.request, acceptedAt: 0), isParked: false,
                    from: submitted)
            }
            #expect(try b.tell(.accept(new(jobs[0], 0, of: b))) == nil)
            let both = [new(jobs[0], 0, of: a), new(jobs[1], 1, of: a)]
            #expect(try a.tell(.accept(both[0]), .accept(both[1])) == nil)
            #expect(a.acceptances.map(\.fault?.kind) == [.foreignThread, nil])
            #expect(
                try sql("SELECT convert_from(payload, 'UTF8') FROM workerd.jobs ORDER BY 1")
                    == "m1\nm2\n")
            #expect(try sql("SELECT count(*) FROM workerd.submitted") == "0\n")
        }
    }

    /// A name that an open transaction uses, as one of another daemon.
    private func nameInUse() throws -> (NameClaim, SQLSession) {
        let session = try SQLSession(at: address)
        let name = "encode('once'::bytea, 'hex')"
        try session.run(
            "BEGIN; SELECT pg_advisory_xact_lock(x'776B6E6D'::int, hashtext(\(name)))")
        return (Self.claim, session)
    }

    private static let claim = NameClaim(
        name: Array("once".utf8), isAgain: false, until: 10_000, fingerprint: 1)

    @Test func `refuses a name that another daemon uses just now, and that job alone`() throws {
        try withTwo { a, _ in
            _ = try a.take("mail", from: 1)
            let (claim, other) = try nameInUse()
            let first = a.recovery.nextNumber
            func new(_ number: UInt64) -> NewJob {
                let request = JobRequest(thread: "mail", selector: "echo", payload: [])
                return NewJob(
                    Job(id: JobID(number), request: request, acceptedAt: 0), isParked: false)
            }
            #expect(
                try a.tell(
                    .accept(new(first)), .acceptOnce(new(first + 1), claim),
                    .accept(new(first + 2))) == nil)
            #expect(
                a.acceptances.map { [$0.count, $0.fault?.kind == .nameInUse ? 1 : 0] }
                    == [[1, 0], [1, 1], [1, 0]])
            #expect(
                try sql("SELECT id FROM workerd.jobs ORDER BY id") == "\(first)\n\(first + 2)\n")
            // With its end, the name is free.
            try other.run("COMMIT")
            #expect(try a.tell(.acceptOnce(new(first + 3), claim)) == nil)
            #expect(a.acceptances.last?.fault == nil)
            #expect(
                try sql("SELECT job FROM workerd.unique_names") == "\(first + 3)\n")
        }
    }

    @Test func `holds up later submitted jobs of a thread behind such a name`() throws {
        try withTwo { a, _ in
            _ = try a.take("mail", from: 1)
            _ = try a.take("disk", from: 1)
            let (claim, other) = try nameInUse()
            try sql(
                """
                SELECT workerd.perform('mail', 'echo', 'a', unique_name => 'once');
                SELECT workerd.perform('mail', 'echo', 'b');
                SELECT workerd.perform('disk', 'echo', 'c')
                """)
            let jobs = try a.submitted()
            let first = a.recovery.nextNumber
            let new = jobs.enumerated().map { place, job in
                NewJob(
                    Job(id: JobID(first + UInt64(place)), request: job.request, acceptedAt: 0),
                    isParked: false, from: job)
            }
            let accepts = new.dropFirst().map { StoreCommand.accept($0) }
            #expect(try a.tell(.acceptOnce(new[0], claim), accepts[0], accepts[1]) == nil)
            #expect(a.acceptances.map(\.fault?.kind) == [.nameInUse, .nameInUse, nil])
            try other.run("COMMIT")
            // The next part may have them.
            #expect(try a.tell(.settleSubmitted(SubmittedAnswer())) == nil)
            #expect(try a.tell(accepts[0]) == nil)
            #expect(a.acceptances.last?.fault == nil)
        }
    }

    @Test func `keeps a unique name for all daemons`() throws {
        try withTwo { a, b in
            _ = try a.take("mail", from: 1)
            _ = try b.take("disk", from: 1)
            func accept(_ sharer: Sharer, _ id: UInt64, _ thread: String) throws -> JobID? {
                let request = JobRequest(thread: thread, selector: "echo", payload: [])
                let job = Job(id: JobID(id), request: request, acceptedAt: 0)
                sharer.store.add(.acceptOnce(NewJob(job, isParked: false), Self.claim))
                return try sharer.ask({ .confirm(ticket: $0) }) { answer, _ -> JobID?? in
                    switch answer {
                    case .existing(let other): .some(other.id)
                    case .accepted: .some(nil)
                    default: nil
                    }
                }
            }
            #expect(try accept(a, a.recovery.nextNumber + 7, "mail") == nil)
            #expect(
                try accept(b, b.recovery.nextNumber + 7, "disk")?.number == a.recovery.nextNumber
                    + 7)
        }
    }

    /// A transaction with all of them would take as many locks of the server.
    @Test func `gives many names in several transactions`() throws {
        try withTwo { a, _ in
            _ = try a.take("mail", from: 1)
            let count: UInt64 = 1_100
            for number in 0..<count {
                let claim = NameClaim(
                    name: Array("n\(number)".utf8), isAgain: false,
                    until: 10_000_000_000_000, fingerprint: 1)
                let request = JobRequest(thread: "mail", selector: "echo", payload: [])
                let job = Job(
                    id: JobID(a.recovery.nextNumber + number), request: request, acceptedAt: 0)
                a.store.add(.acceptOnce(NewJob(job, isParked: false), claim))
            }
            #expect(try a.tell() == nil)
            #expect(a.acceptances.reduce(0) { $0 + $1.count } == Int(count))
            let found = try sql(
                """
                SELECT sum(count), max(count) <= 500 FROM (
                    SELECT count(*) FROM workerd.unique_names GROUP BY xmin::text) AS transactions
                """)
            #expect(found == "1100|t\n")
        }
    }

    @Test func `counts the jobs of threads and pools, whichever daemon has them`() throws {
        try withTwo { a, b in
            _ = try a.take("mail", from: 1)
            _ = try b.take("disk", from: 1)
            for thread in ["mail", "mail/2", "mail/10"] { _ = try a.accept(thread) }
            _ = try b.accept("disk")
            try sql("UPDATE workerd.jobs SET held = 2 WHERE thread = 'mail/2'")
            // No thread of the pool, though close by in the order of names.
            for (number, thread) in ["mail-2", "mail0", "mails"].enumerated() {
                try sql(
                    """
                    INSERT INTO workerd.jobs (id, thread, selector, payload, priority, held,
                        attempt, retries, accepted_at, retry_blocks, forgiven, released_before)
                    VALUES (\(number + 1), '\(thread)', 'echo', '', 1, 0, 0, 0, 0, false, 0, 0)
                    """)
            }
            // A job that no daemon has accepted yet, of a thread that a daemon had before.
            try sql("INSERT INTO workerd.threads (name, seat, moved) VALUES ('gone', 0, 0)")
            try sql("SELECT workerd.perform('gone', 'echo', 'x')")
            let counts = Shared<Result<[String: Int], StoreFault>?>(nil)
            b.store.askForJobCounts(of: ["mail", "disk", "gone"]) { result in
                counts.set { $0 = result }
            }
            while counts.get() == nil { SystemThread.yield() }
            #expect(try counts.get()?.get() == ["mail": 3, "disk": 1, "gone": 1])
        }
    }
}
