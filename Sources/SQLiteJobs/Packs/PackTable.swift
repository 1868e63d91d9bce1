// A table of packs: its rows are ordered by the largest number in them. Since the numbers of a pack
// are close together, the pack that contains a number is among the next rows.

internal import Jobs

/// Packs in a table of a database.
///
/// - Thread: its connection's.
final class PackTable {
    /// A pack as the table stores it.
    struct Row {
        var pack: Pack
        /// The queue of all of its jobs; nil if it is in the records.
        let queue: QueueName?
    }

    private let database: Database
    private let name: String
    private let hasQueue: Bool
    private let insertion: Statement
    private let change: Statement
    private let deletion: Statement
    private let search: Statement
    private let lookup: Statement
    private var prepared: StatementCache
    private var thread = Statement.KeptText()

    /// - Parameter hasQueue: whether the jobs of a pack have the same queue, which is in its row.
    init(_ name: String, hasQueue: Bool, in database: Database) throws(StoreFault) {
        self.database = database
        self.name = name
        self.hasQueue = hasQueue
        prepared = StatementCache(of: database)
        insertion = try database.prepare(
            """
            INSERT INTO \(name)
            (last_id, first_id, kept, records\(hasQueue ? ", thread, priority" : ""))
            VALUES (?, ?, ?, ?\(hasQueue ? ", ?, ?" : ""))
            """)
        change = try database.prepare("UPDATE \(name) SET kept = ? WHERE last_id = ?")
        deletion = try database.prepare("DELETE FROM \(name) WHERE last_id = ?")
        search = try database.prepare(
            Self.select(name, hasQueue)
                + " WHERE last_id >= ?1 AND last_id < ?2 AND first_id <= ?1 ORDER BY last_id")
        lookup = try database.prepare(Self.select(name, hasQueue) + " WHERE last_id = ?")
    }

    private static func select(_ name: String, _ hasQueue: Bool) -> String {
        "SELECT kept, records\(hasQueue ? ", thread, priority" : "") FROM \(name)"
    }

    /// The statement of the packs that meet a condition; its rows are for `row`.
    func packs(_ condition: String) throws(StoreFault) -> Statement {
        try prepared.statement(Self.select(name, hasQueue) + " " + condition)
    }

    /// The largest number in the table; 0 without one.
    func lastNumber() throws(StoreFault) -> UInt64 {
        UInt64(try database.integer("SELECT coalesce(max(last_id), 0) FROM \(name)") ?? 0)
    }

    /// Adds a pack.
    func insert(_ row: Row) throws(StoreFault) {
        try insertion.bind(1, Int64(row.pack.last))
        try insertion.bind(2, Int64(row.pack.first))
        try insertion.bind(3, row.pack.keptBytes)
        if let queue = row.queue {
            try insertion.bind(5, queue.thread, kept: &thread)
            try insertion.bind(6, Int64(queue.priority.rawValue))
        }
        try insertion.run(4, row.pack.bytes)
    }

    /// Writes the mask of a pack; a pack without a counting record is deleted.
    func update(_ pack: Pack) throws(StoreFault) {
        if pack.keptCount == 0 { return try delete(last: pack.last) }
        try change.bind(1, pack.keptBytes)
        try change.bind(2, Int64(pack.last))
        try change.run()
    }

    /// Deletes the pack with this largest number.
    func delete(last: UInt64) throws(StoreFault) {
        try deletion.bind(1, Int64(last))
        try deletion.run()
    }

    /// The pack with a counting record of this number.
    func row(with id: UInt64) throws(StoreFault) -> Row? {
        guard id <= UInt64(Int64.max) - Pack.spanMax else { return nil }
        try search.bind(1, Int64(id))
        try search.bind(2, Int64(id + Pack.spanMax))
        defer { search.reset() }
        while try search.step() {
            let row = try row(search)
            if row.pack.index(of: id) != nil { return row }
        }
        return nil
    }

    /// The pack with this largest number.
    func row(last: UInt64) throws(StoreFault) -> Row? {
        try lookup.bind(1, Int64(last))
        defer { lookup.reset() }
        return try lookup.step() ? try row(lookup) : nil
    }

    /// The pack in the present row of a statement of `packs`.
    func row(_ statement: Statement) throws(StoreFault) -> Row {
        let pack = try whole { () throws(DamagedRecord) in
            try Pack(statement.bytes(1), kept: statement.bytes(0))
        }
        guard hasQueue else { return Row(pack: pack, queue: nil) }
        let priority = Priority(rawValue: Int(statement.integer(3))) ?? .normal
        return Row(pack: pack, queue: QueueName(thread: statement.text(2), priority: priority))
    }

    /// Returns the value of `body`, or throws that the file is damaged.
    func whole<Value>(_ body: () throws(DamagedRecord) -> Value) throws(StoreFault) -> Value {
        do throws(DamagedRecord) {
            return try body()
        } catch {
            throw StoreFault(
                .corrupt, path: database.path, detail: "a row of the table \(name) is not whole")
        }
    }
}
