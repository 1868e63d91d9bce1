// Statements that are prepared when first needed. Not part of the database, which they keep open:
// it would keep itself alive.

internal import Jobs

/// Keeps prepared statements by their text.
///
/// - Thread: its connection's.
struct StatementCache {
    private let database: Database
    private var statements: [String: Statement] = [:]

    init(of database: Database) { self.database = database }

    /// Returns the statement of a text.
    mutating func statement(_ sql: String) throws(StoreFault) -> Statement {
        if let statement = statements[sql] { return statement }
        let statement = try database.prepare(sql)
        statements[sql] = statement
        return statement
    }
}
