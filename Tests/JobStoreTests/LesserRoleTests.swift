// A daemon whose role does not own the tables: a lack of rights is told at the start, with the
// statements that give them.

import Jobs
import Kernel
import PostgreSQLJobs
import PostgreSQLServer
import Support
import Testing

@Suite(
    .enabled(if: PostgreSQLServer.isInstalled, .init(rawValue: PostgreSQLServer.excuse)),
    .timeLimit(.minutes(2)))
struct `A role that does not own the tables` {
    private let owner: String
    private let address: String
    private let role: String
    private let directory: TestDirectory

    init() throws {
        owner = try PostgreSQLServer.shared.get().makeDatabase()
        let number = owner.drop { $0 != "_" }.dropFirst().prefix { $0.isNumber }
        role = "lesser_\(number)"
        address = owner.replacing("workerd@", with: "\(role)@")
        directory = try TestDirectory()
        try PostgreSQLServer.run("CREATE ROLE \(role) LOGIN", at: owner)
        // The owner makes the tables.
        try open(owner, isShared: false)
    }

    private func open(
        _ address: String, isShared: Bool, threads: [String] = [], standby: SeatStandby? = nil
    ) throws {
        guard let server = ServerAddress(address) else { throw Unexpected("address \(address)") }
        var card = NodeCard(name: "lesser")
        card.threads = threads
        let (journal, _) = try PostgreSQLJournal.open(
            server, card: card, attemptsPath: directory.file("attempts"), limits: StoreLimits(),
            serving: ["echo"], log: StoreLog { _, _ in }, standby: standby, isShared: isShared,
            whenLost: { _ in })
        journal.close(nextNumber: 1)
    }

    /// The statements that the refusal of a start names.
    private func remedies(isShared: Bool = false, threads: [String] = []) throws -> String {
        let fault = #expect(throws: StoreFault.self) {
            try open(address, isShared: isShared, threads: threads)
        }
        #expect(fault?.kind == .unfit)
        let words =
            ": the role \(role) lacks rights, which the owner of the tables can give: "
        let text = "\(try #require(fault))"
        return String(try #require(text.split(separator: words, maxSplits: 1).last))
    }

    @Test(arguments: [false, true]) func `serves with the rights that its refusal names`(
        isShared: Bool
    ) throws {
        let threads = isShared ? ["mail", "mail#1"] : []
        let remedies = try remedies(isShared: isShared, threads: threads)
        #expect(remedies.hasPrefix("GRANT USAGE ON SCHEMA workerd TO \(role); GRANT SELECT, "))
        #expect(remedies.contains("CREATE POLICY") == isShared)
        try PostgreSQLServer.run(remedies, at: owner)
        // A pool with slots moves to them, and back.
        try open(address, isShared: isShared, threads: threads)
        try open(address, isShared: isShared, threads: ["mail"])
        let sharer = try Sharer(address, attempts: directory.file("b"), isShared: isShared)
        defer { sharer.close() }
        #expect(throws: Never.self) { try sharer.accept("a") }
    }

    private static let cases = [
        ("INSERT", "workerd.jobs"), ("UPDATE", "workerd.jobs"), ("DELETE", "workerd.jobs"),
        ("INSERT, DELETE", "workerd.ended"), ("UPDATE", "workerd.unique_names"),
        ("SELECT", "workerd.schedules"), ("INSERT", "workerd.paused"),
        ("UPDATE", "workerd.settings"), ("DELETE", "workerd.batches"),
        ("USAGE", "SCHEMA workerd"), ("USAGE", "SEQUENCE workerd.node_numbers"),
        ("USAGE", "SEQUENCE workerd.seat_numbers"), ("INSERT", "workerd.links"),
        ("EXECUTE", "FUNCTION workerd.slot_of(text, bytea, bigint)"),
    ]

    @Test func `is told of each right that it lacks`() throws {
        let threads = ["mail", "mail#1"]
        try PostgreSQLServer.run(try remedies(isShared: true, threads: threads), at: owner)
        for (right, object) in Self.cases {
            try PostgreSQLServer.run("REVOKE \(right) ON \(object) FROM \(role)", at: owner)
            let told = try remedies(isShared: true, threads: threads)
            #expect(told == "GRANT \(right) ON \(object) TO \(role);")
            try PostgreSQLServer.run(told, at: owner)
        }
        try PostgreSQLServer.run("DROP POLICY workerd ON workerd.links", at: owner)
        #expect(
            try remedies(isShared: true)
                == "CREATE POLICY workerd ON workerd.links TO \(role) USING (true);")
        // A daemon that has all threads needs less.
        for right in ["ALL ON workerd.links", "INSERT ON workerd.seats"] {
            try PostgreSQLServer.run("REVOKE \(right) FROM \(role)", at: owner)
        }
        try open(address, isShared: false)
    }

    @Test func `does not wait for another daemon with too few rights`() throws {
        guard let server = ServerAddress(owner) else { throw Unexpected("address \(owner)") }
        let (first, _) = try PostgreSQLJournal.open(
            server, attemptsPath: directory.file("first"), limits: StoreLimits(),
            serving: ["echo"], log: StoreLog { _, _ in }, whenLost: { _ in })
        defer { first.close(nextNumber: 1) }
        try PostgreSQLServer.run(
            """
            GRANT USAGE ON SCHEMA workerd TO \(role);
            GRANT ALL ON ALL TABLES IN SCHEMA workerd TO \(role);
            GRANT ALL ON ALL SEQUENCES IN SCHEMA workerd TO \(role);
            REVOKE INSERT ON workerd.jobs FROM \(role)
            """, at: owner)
        let hasBegun = Shared(false)
        let standby = SeatStandby(
            begin: { hasBegun.set { $0 = true } }, goesOn: { true }, look: { _ in })
        let fault = #expect(throws: StoreFault.self) {
            try open(address, isShared: false, standby: standby)
        }
        #expect("\(try #require(fault))".hasSuffix(": GRANT INSERT ON workerd.jobs TO \(role);"))
        #expect(!hasBegun.get())
    }

    @Test func `is told of a newer schema before its rights`() throws {
        try PostgreSQLServer.run(
            """
            GRANT USAGE ON SCHEMA workerd TO \(role);
            GRANT SELECT ON workerd.settings TO \(role);
            UPDATE workerd.settings SET value = 99 WHERE name = 'schema_version'
            """, at: owner)
        let fault = #expect(throws: StoreFault.self) { try open(address, isShared: false) }
        #expect(fault?.kind == .newer)
    }
}
