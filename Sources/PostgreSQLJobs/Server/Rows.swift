// The rows of a result, in PostgreSQL's binary format.

internal import CPostgreSQL
internal import Journals

/// The result of a statement.
///
/// - Thread: its connection's.
@safe final class Rows {
    private let handle: OpaquePointer

    /// Takes over a result.
    init(_ handle: OpaquePointer) { unsafe self.handle = unsafe handle }

    deinit { unsafe PQclear(handle) }

    /// The number of rows.
    var count: Int { Int(unsafe PQntuples(handle)) }

    /// The command and its counts, such as `COMMIT` or `INSERT 0 1`.
    var tag: String {
        guard let text = unsafe PQcmdStatus(handle) else { return "" }
        return unsafe String(cString: text)
    }

    subscript(place: Int) -> Row { Row(rows: self, place: Int32(place)) }

    /// All rows, in order.
    var all: some Sequence<Row> {
        (0..<count).lazy.map { [self] in self[$0] }
    }

    var first: Row? { count == 0 ? nil : self[0] }

    fileprivate func isNull(_ row: Int32, _ column: Int32) -> Bool {
        unsafe PQgetisnull(handle, row, column) == 1
    }

    fileprivate func bytes(_ row: Int32, _ column: Int32) -> [UInt8] {
        guard let start = unsafe PQgetvalue(handle, row, column) else { return [] }
        let count = Int(unsafe PQgetlength(handle, row, column))
        return unsafe start.withMemoryRebound(to: UInt8.self, capacity: count) { start in
            unsafe Array(UnsafeBufferPointer(start: start, count: count))
        }
    }

    fileprivate func integer(_ row: Int32, _ column: Int32) -> Int64 {
        guard let start = unsafe PQgetvalue(handle, row, column) else { return 0 }
        let count = Int(unsafe PQgetlength(handle, row, column))
        var value: Int64 = 0
        for place in 0..<count {
            let byte = unsafe start[place]
            value = place == 0 ? Int64(byte) : value << 8 | Int64(UInt8(bitPattern: byte))
        }
        return value
    }

    fileprivate func text(_ row: Int32, _ column: Int32) -> String {
        guard let start = unsafe PQgetvalue(handle, row, column) else { return "" }
        return unsafe String(cString: start)
    }
}

/// One row of a result.
struct Row: TableRow {
    fileprivate let rows: Rows
    fileprivate let place: Int32

    /// A `smallint`, `integer`, `bigint` or `boolean`.
    func integer(_ column: Int32) -> Int64 {
        rows.isNull(place, column) ? 0 : rows.integer(place, column)
    }

    func optionalInteger(_ column: Int32) -> Int64? {
        rows.isNull(place, column) ? nil : rows.integer(place, column)
    }

    func text(_ column: Int32) -> String { rows.text(place, column) }

    func optionalText(_ column: Int32) -> String? {
        rows.isNull(place, column) ? nil : rows.text(place, column)
    }

    /// The bytes of a `bytea`.
    func bytes(_ column: Int32) -> [UInt8] {
        rows.isNull(place, column) ? [] : rows.bytes(place, column)
    }

    func optionalBytes(_ column: Int32) -> [UInt8]? {
        rows.isNull(place, column) ? nil : rows.bytes(place, column)
    }
}
