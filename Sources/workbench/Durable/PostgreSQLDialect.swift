// The part of PostgreSQL's protocol that a prepared INSERT needs. One Sync follows all jobs that
// are written together, so they are one transaction: libpq's pipeline mode sends the same bytes.
//
// Source: PostgreSQL's documentation, "Frontend/Backend Protocol", versions 3.0.

/// Jobs as rows of a table, in PostgreSQL's own protocol.
struct PostgreSQLDialect: StoreDialect {
    /// The table in the database of `initdb`.
    static let table =
        "CREATE TABLE jobs (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, "
        + "payload bytea NOT NULL)"
    static let user = "postgres"

    let greeting: [UInt8]
    private let job: [UInt8]
    private let sync: [UInt8]
    /// Inserted rows whose transaction is not yet reported as committed.
    private var uncommittedCount = 0
    private var readyCount = 0

    init() {
        // Without a type: the startup message, version 3.0.
        var startup = Self.number(196_608)
        for word in ["user", Self.user, "database", "postgres"] { startup += Self.text(word) }
        startup.append(0)
        sync = Self.message("S", [])
        let insert = "INSERT INTO jobs (payload) VALUES ($1) RETURNING id"
        greeting =
            Self.number(startup.count + 4) + startup
            + Self.message("P", Self.text("put") + Self.text(insert) + Self.short(0)) + sync
        // The unnamed portal of the statement "put", with one binary parameter, and binary results.
        let bind =
            Self.text("") + Self.text("put") + Self.short(1) + Self.short(1) + Self.short(1)
            + Self.number(StoredPayload.byteCount) + StoredPayload.bytes + Self.short(1)
            + Self.short(1)
        job = Self.message("B", bind) + Self.message("E", Self.text("") + Self.number(0))
    }

    mutating func takeGreeting(_ replies: inout ReplyBytes) throws(WorkbenchError) -> Bool {
        _ = try takeAccepted(&replies)
        // One after the startup, one after the statement.
        return readyCount == 2
    }

    func write(_ count: Int, to output: inout [UInt8]) {
        for _ in 0..<count { output += job }
        output += sync
    }

    mutating func takeAccepted(_ replies: inout ReplyBytes) throws(WorkbenchError) -> Int {
        var count = 0
        while replies.count >= 5 {
            let length = (1...4).reduce(0) { $0 << 8 | Int(replies[$1]) }
            guard replies.count > length else { break }
            switch replies[0] {
            case UInt8(ascii: "E"):
                throw WorkbenchError("PostgreSQL answered \(replies.text(5..<length + 1))")
            case UInt8(ascii: "C"): uncommittedCount += 1
            case UInt8(ascii: "Z"):
                count += uncommittedCount
                uncommittedCount = 0
                readyCount += 1
            default: break
            }
            replies.drop(length + 1)
        }
        return count
    }

    private static func message(_ type: Unicode.Scalar, _ body: [UInt8]) -> [UInt8] {
        [UInt8(ascii: type)] + number(body.count + 4) + body
    }

    private static func number(_ value: Int) -> [UInt8] {
        [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: value >> $0) }
    }

    private static func short(_ value: Int) -> [UInt8] { Array(number(value).suffix(2)) }

    private static func text(_ text: String) -> [UInt8] { Array(text.utf8) + [0] }
}
