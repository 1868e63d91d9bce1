// A database as a store: which ones are refused and how, when a waiting daemon may take it, and
// which attempts a daemon counts that does not have the attempt log of the one before.

import Jobs
import Kernel
import PostgreSQLJobs
import PostgreSQLServer
import Support
import Testing

@Suite(.enabled(if: PostgreSQLServer.isInstalled, .init(rawValue: PostgreSQLServer.excuse)))
struct `A database` {
    private static func open(
        _ address: String, attempts: String, at wall: WallTime = .system
    ) throws -> (PostgreSQLJournal, StoreRecovery) {
        guard let server = ServerAddress(address) else { throw Unexpected("address \(address)") }
        return try PostgreSQLJournal.open(
            server, attemptsPath: attempts, limits: StoreLimits(), serving: ["echo"],
            clocks: Clocks(loop: SystemClock(), wall: wall), log: StoreLog { _, _ in },
            whenLost: { _ in })
    }

    /// The fault of a store that can't be opened.
    private static func fault(of address: String) throws -> StoreFault? {
        let directory = try TestDirectory()
        do {
            try open(address, attempts: directory.file("attempts")).0.close(nextNumber: 1)
            return nil
        } catch let fault as StoreFault {
            return fault
        }
    }

    @Test func `with a schema of a newer version is refused, and is left as it is`() throws {
        let address = try PostgreSQLServer.shared.get().makeDatabase()
        #expect(try Self.fault(of: address) == nil)
        try PostgreSQLServer.run(
            "UPDATE workerd.settings SET value = 99 WHERE name = 'schema_version'", at: address)
        let fault = try #require(try Self.fault(of: address))
        #expect(fault.kind == .newer)
        #expect("\(fault)".contains("its tables are of version 99, and this workerd has version"))
        #expect(
            try PostgreSQLServer.run("SELECT epoch FROM workerd.seats", at: address) == "1\n")
    }

    @Test func `with an older schema gets what it lacks`() throws {
        let address = try PostgreSQLServer.shared.get().makeDatabase()
        #expect(try Self.fault(of: address) == nil)
        try PostgreSQLServer.run(
            """
            DROP ROUTINE workerd.perform(text, text, text, text, interval, text, text, integer,
                interval, interval, text);
            DROP ROUTINE workerd.perform(text, text, bytea, text, interval, text, text, integer,
                interval, interval, text);
            DROP ROUTINE workerd.slot_of(text, bytea, bigint);
            DROP TABLE workerd.submitted;
            DROP TABLE workerd.nodes;
            DROP SEQUENCE workerd.node_numbers;
            DROP TABLE workerd.threads;
            DROP TABLE workerd.batches;
            DROP TABLE workerd.queue_heads;
            DROP TABLE workerd.links;
            DROP SEQUENCE workerd.seat_numbers;
            ALTER TABLE workerd.seats DROP COLUMN attempt_mark;
            ALTER TABLE workerd.seats DROP COLUMN system, DROP COLUMN timeline, DROP COLUMN base;
            UPDATE workerd.settings SET value = 1 WHERE name = 'schema_version'
            """, at: address)
        #expect(try Self.fault(of: address) == nil)
        #expect(
            try PostgreSQLServer.run(
                """
                SELECT value FROM workerd.settings WHERE name = 'schema_version';
                SELECT workerd.perform('images', 'echo') IS NOT NULL;
                SELECT count(*) FROM workerd.submitted;
                SELECT count(*) FROM workerd.nodes;
                SELECT timeline FROM workerd.seats
                """, at: address) == "12\nt\n1\n1\n1\n")
    }

    @Test(.timeLimit(.minutes(2)))
    func `begins no job once its connection is lost, however long it is trusted`() throws {
        let server = try PostgreSQLServer.shared.get()
        let (address, directory) = (try server.makeDatabase(), try TestDirectory())
        let (store, _) = try Self.open(address, attempts: directory.file("attempts"))
        let name = try PostgreSQLServer.run("SELECT current_database()", at: address)
            .filter { !$0.isWhitespace }
        defer { store.close(nextNumber: 1) }
        var isWithdrawn = false
        // The trust of three seconds may be over before a slow machine has looked.
        for _ in 0..<10 where !isWithdrawn {
            while !store.mayBegin(1, attempt: 1) { SystemThread.yield() }
            try server.run("ALTER DATABASE \(name) ALLOW_CONNECTIONS false", in: "postgres")
            try server.run(
                """
                SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity
                WHERE datname = '\(name)'
                """, in: "postgres")
            while store.isTrusted, !isWithdrawn {
                SystemThread.yield()
                isWithdrawn = !store.mayBegin(1, attempt: 1) && store.isTrusted
            }
            try server.run("ALTER DATABASE \(name) ALLOW_CONNECTIONS true", in: "postgres")
        }
        #expect(isWithdrawn)
    }

    @Test func `whose schema is another program's is refused`() throws {
        let address = try PostgreSQLServer.shared.get().makeDatabase()
        try PostgreSQLServer.run(
            "CREATE SCHEMA workerd; CREATE TABLE workerd.mine (a int)", at: address)
        #expect(try Self.fault(of: address)?.kind == .foreign)
    }

    @Test func `in which the user has no rights is refused`() throws {
        let server = try PostgreSQLServer.shared.get()
        let address = try server.makeDatabase()
        try PostgreSQLServer.run("CREATE ROLE poor_\(getNumber(address)) LOGIN", at: address)
        let poor = address.replacing(
            "workerd@", with: "poor_\(getNumber(address))@")
        let fault = try #require(try Self.fault(of: poor))
        #expect(fault.kind == .unfit)
        #expect("\(fault)".contains("this user lacks a right: permission denied for database"))
    }

    private func getNumber(_ address: String) -> String {
        String(address.drop { $0 != "_" }.dropFirst().prefix { $0.isNumber })
    }

    @Test func `of another encoding is refused`() throws {
        let server = try PostgreSQLServer.shared.get()
        let name = "latin_\(ContinuousClock.now.hashValue.magnitude)"
        try server.run(
            "CREATE DATABASE \(name) ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0",
            in: "postgres")
        let fault = try #require(try Self.fault(of: server.address(of: name)))
        #expect(fault.kind == .unfit)
        #expect("\(fault)".contains("the database's encoding is LATIN1"))
    }

    @Test func `that another daemon has is refused`() throws {
        let address = try PostgreSQLServer.shared.get().makeDatabase()
        let directory = try TestDirectory()
        let (first, _) = try Self.open(address, attempts: directory.file("a"))
        defer { first.close(nextNumber: 1) }
        #expect(try Self.fault(of: address)?.kind == .inUse)
    }

    @Test func `that is not there is told`() throws {
        let fault = try #require(try Self.fault(of: "postgresql:///jobs?host=/nowhere"))
        #expect(fault.kind == .away)
        #expect("\(fault)".hasPrefix("postgresql:///jobs?host=/nowhere: can't connect: "))
    }

    @Test func `is found on the host that has it`() throws {
        let server = try PostgreSQLServer.shared.get()
        let address = try server.makeDatabase()
        #expect(
            try Self.fault(
                of: address.replacing("host=", with: "host=nowhere.invalid,/nowhere,")) == nil)
        let fault = try #require(
            try Self.fault(of: "postgresql:///jobs?host=/nowhere,nowhere.invalid"))
        #expect(fault.kind == .away)
        #expect("\(fault)".contains("connection to server on socket \"/nowhere/.s.PGSQL.5432\""))
        #expect("\(fault)".contains("can't look up the host nowhere.invalid: "))
    }

    @Test func `counts an attempt after a restart on the same machine, too`() throws {
        let address = try PostgreSQLServer.shared.get().makeDatabase()
        let directory = try TestDirectory()
        func loseSeat() throws {
            try PostgreSQLServer.run("UPDATE workerd.seats SET epoch = epoch + 1", at: address)
        }
        // 1. The first attempt lasts, so the database has its beginning; then a crash.
        let first = try Sharer(address, attempts: directory.file("a"), isShared: false)
        let id = try first.accept("a").number
        first.store.noteStart(id, Attempt(number: 1, workerName: "a", startedAt: 1))
        #expect(try first.tell() == nil)
        try loseSeat()
        first.close()
        // 2. The same machine goes on. The second attempt begins, and only its log has that.
        let second = try Sharer(address, attempts: directory.file("a"), isShared: false)
        try loseSeat()
        second.store.noteStart(id, Attempt(number: 2, workerName: "a", startedAt: 2))
        second.close()
        // 3. Another machine takes over.
        let third = try Sharer(address, attempts: directory.file("b"), isShared: false)
        defer { third.close() }
        #expect(try third.load("a").map(\.attempt) == [2])
    }

    @Test func `counts attempts that may have begun if their attempt log is elsewhere`() throws {
        let address = try PostgreSQLServer.shared.get().makeDatabase()
        let directory = try TestDirectory()
        for isCrash in [true, false] {
            let (journal, recovery) = try Self.open(address, attempts: directory.file("a"))
            let first: any JobStore = journal
            let id = JobID(recovery.nextNumber)
            let request = JobRequest(thread: "a", selector: "echo", payload: [7])
            let job = Job(id: id, request: request, acceptedAt: 1_000)
            let isKept = Flag(false)
            first.add(.answer(to: { _ in isKept.set() }))
            first.add(.accept(NewJob(job, isParked: false)))
            first.add(.confirm(ticket: 1))
            first.fire()
            while !isKept.isSet { SystemThread.yield() }
            if isCrash {
                try PostgreSQLServer.run(
                    "UPDATE workerd.seats SET epoch = epoch + 1", at: address)
            }
            first.close(nextNumber: id.number + 1)
            let (second, _) = try Self.open(address, attempts: directory.file("b"))
            second.close(nextNumber: id.number + 1)
            let counted = try PostgreSQLServer.run(
                "SELECT attempt - forgiven, attempt FROM workerd.jobs WHERE id = \(id)",
                at: address)
            #expect(counted == (isCrash ? "0|1\n" : "0|0\n"))
            try File.removeIfThere(directory.file("a"))
        }
    }
}

@Suite struct `An address of a database` {
    @Test(arguments: [
        ("postgresql:///jobs", "postgresql:///jobs"),
        ("postgres://db.example.org:5433/jobs", "postgres://db.example.org:5433/jobs"),
        ("postgresql://me:secret@db/jobs", "postgresql://me:…@db/jobs"),
        (
            "postgresql://me@db/jobs?password=secret&host=/run",
            "postgresql://me@db/jobs?password=…&host=/run"
        ),
    ])
    func `is shown without its password`(text: String, shown: String) {
        #expect(ServerAddress(text)?.shown == shown)
    }

    @Test(arguments: [
        "", "jobs", "postgresql://", "postgresql://db", "postgresql:///", "mysql:///j",
    ])
    func `names a database`(text: String) {
        #expect(ServerAddress(text) == nil)
    }
}

@Suite struct `A daemon that waits for the seat` {
    @Test func `may take it when it has been free for a second and three looks`() {
        let start = ContinuousClock.now
        func looks(_ all: [(Duration, isHeld: Bool, age: Duration)]) -> [Bool] {
            var watch = SeatWatch()
            return all.map {
                watch.look(
                    isHeld: $0.isHeld, isServerNew: SeatWatch.isNew($0.age), at: start + $0.0)
            }
        }
        let old = SeatWatch.grace
        #expect(
            looks([
                (.zero, false, old), (.milliseconds(400), false, old),
                (.milliseconds(800), false, old), (.milliseconds(1_000), false, old),
            ]) == [false, false, false, true])
        #expect(looks([(.zero, false, old), (.seconds(2), false, old)]) == [false, false])
        #expect(
            looks([
                (.zero, false, old), (.seconds(1), true, old), (.seconds(2), false, old),
                (.seconds(3), false, old), (.seconds(4), false, old),
            ]) == [false, false, false, false, true])
        let young = SeatWatch.grace - .milliseconds(1)
        #expect(
            looks([
                (.zero, false, young), (.seconds(1), false, young), (.seconds(2), false, young),
            ]) == [false, false, false])
        var watch = SeatWatch()
        let taken = (0...2).map { second in
            watch.look(
                isHeld: false, isServerNew: true, wasTakenSince: true, at: start + .seconds(second))
        }
        #expect(taken == [false, false, true])
        watch = SeatWatch()
        let promoted = (0...4).map { second in
            watch.look(
                isHeld: false, isServerNew: true, isPromoted: true, at: start + .seconds(second))
        }
        #expect(promoted == [false, false, false, false, true])
    }
}
