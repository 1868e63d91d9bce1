// Batches that the server undoes for the sake of another session: in a deadlock, after a wait for a
// lock, or as they can't be put in order. A trigger of the tests plays the other session.

import Jobs
import PostgreSQLServer
import Support
import Testing

@Suite(.enabled(if: PostgreSQLServer.isInstalled, .init(rawValue: PostgreSQLServer.excuse)))
struct `A batch that another session was in the way of` {
    private let address: String
    private let directory: TestDirectory

    init() throws {
        address = try PostgreSQLServer.shared.get().makeDatabase()
        directory = try TestDirectory()
    }

    @discardableResult
    private func sql(_ text: String) throws -> String {
        try PostgreSQLServer.run(text, at: address)
    }

    /// Has the server undo so many transactions that accept jobs.
    private func undo(_ count: Int, with code: String) throws {
        try sql(
            """
            CREATE SEQUENCE public.tries;
            CREATE FUNCTION public.undo() RETURNS trigger LANGUAGE plpgsql AS $$
            BEGIN
                IF nextval('public.tries') <= \(count) THEN
                    RAISE EXCEPTION 'in the way' USING ERRCODE = '\(code)';
                END IF;
                RETURN NULL;
            END $$;
            CREATE TRIGGER undo BEFORE INSERT ON workerd.jobs
                FOR EACH STATEMENT EXECUTE FUNCTION public.undo()
            """)
    }

    private func tries() throws -> String { try sql("SELECT last_value FROM public.tries") }

    /// The sessions of daemons.
    ///
    /// Those of earlier questions of the test may last a moment longer than their connection.
    private func sessions() throws -> String {
        try sql(
            """
            SELECT pid FROM pg_stat_activity
            WHERE datname = current_database() AND application_name = 'workerd' ORDER BY pid
            """)
    }

    private func new(_ number: UInt64) -> NewJob {
        let request = JobRequest(thread: "mail", selector: "echo", payload: [7])
        return NewJob(
            Job(id: JobID(number), request: request, acceptedAt: 1_000), isParked: false)
    }

    private func claim(_ name: String) -> NameClaim {
        NameClaim(name: Array(name.utf8), isAgain: false, until: 10_000, fingerprint: 1)
    }

    @Test(.timeLimit(.minutes(2)), arguments: ["40001", "40P01", "55P03"], [false, true])
    func `is made anew as a whole, on the same connection`(code: String, asks: Bool) throws {
        let store = try Sharer(address, attempts: directory.file("a"), isShared: false)
        defer { store.close() }
        let first = store.recovery.nextNumber
        let before = try sessions()
        try undo(2, with: code)
        // A name is looked up within the transaction; without one, all of it is sent at once.
        let second: StoreCommand =
            asks ? .acceptOnce(new(first + 1), claim("once")) : .accept(new(first + 1))
        #expect(try store.tell(.accept(new(first)), second) == nil)
        #expect(store.acceptances.allSatisfy { $0.fault == nil })
        #expect(store.acceptances.reduce(0) { $0 + $1.count } == 2)
        #expect(try tries() == (asks ? "4\n" : "3\n"))
        #expect(try sql("SELECT id FROM workerd.jobs ORDER BY id") == "\(first)\n\(first + 1)\n")
        #expect(try sessions() == before)
        #expect(store.loss.get() == nil)
    }

    @Test(.timeLimit(.minutes(2)))
    func `is refused after three tries, and leaves nothing`() throws {
        let store = try Sharer(address, attempts: directory.file("a"), isShared: false)
        defer { store.close() }
        let first = store.recovery.nextNumber
        try undo(1_000, with: "40P01")
        let fault = try #require(
            try store.tell(.accept(new(first)), .acceptOnce(new(first + 1), claim("once"))))
        #expect(fault.kind == .undone)
        #expect("\(fault)".contains("in the way (SQLSTATE 40P01)"))
        #expect(try tries() == "3\n")
        try sql("DROP TRIGGER undo ON workerd.jobs")
        #expect(try store.tell(.acceptOnce(new(first + 2), claim("once"))) == nil)
        #expect(try sql("SELECT id FROM workerd.jobs") == "\(first + 2)\n")
    }
}
