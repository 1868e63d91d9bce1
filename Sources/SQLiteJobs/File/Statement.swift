// One prepared statement: values in by number, rows out by column.

internal import Jobs
internal import CSQLite
internal import Journals

/// A prepared statement.
///
/// - Thread: its connection's.
@safe final class Statement: TableRow {
    private let handle: OpaquePointer
    /// Keeps the connection open while the statement exists.
    private let database: Database
    /// Tells SQLite to copy a value before the call returns.
    private static var transient: sqlite3_destructor_type {
        unsafe unsafeBitCast(-1, to: sqlite3_destructor_type.self)
    }

    init(_ handle: OpaquePointer, of database: Database) {
        unsafe self.handle = unsafe handle
        self.database = database
    }

    deinit {
        _ = unsafe sqlite3_finalize(handle)
    }

    /// Sets the parameter of this number, counted from 1.
    func bind(_ number: Int32, _ value: Int64?) throws(StoreFault) {
        if let value {
            try database.check(unsafe sqlite3_bind_int64(handle, number, value))
        } else {
            try database.check(unsafe sqlite3_bind_null(handle, number))
        }
    }

    /// Sets the parameter of this number, counted from 1.
    func bind(_ number: Int32, _ value: String?) throws(StoreFault) {
        guard var value else { return try bind(number, nil as Int64?) }
        guard !value.isEmpty else {
            // An empty text may have no address, which SQLite would take for null.
            let code = unsafe sqlite3_bind_text(handle, number, "", 0, Self.transient)
            return try database.check(code)
        }
        let code = value.withUTF8 { bytes in
            unsafe bytes.withMemoryRebound(to: CChar.self) { bytes in
                unsafe sqlite3_bind_text(
                    handle, number, bytes.baseAddress, Int32(bytes.count), Self.transient)
            }
        }
        try database.check(code)
    }

    /// Sets the parameter of this number, counted from 1.
    func bind(_ number: Int32, _ value: [UInt8]?) throws(StoreFault) {
        guard let value else { return try bind(number, nil as Int64?) }
        guard !value.isEmpty else {
            return try database.check(unsafe sqlite3_bind_zeroblob(handle, number, 0))
        }
        let code = unsafe value.withUnsafeBytes { bytes in
            unsafe sqlite3_bind_blob64(
                handle, number, bytes.baseAddress, UInt64(bytes.count), Self.transient)
        }
        try database.check(code)
    }

    /// Sets the parameter of this number to bytes that are not copied, and runs the statement.
    ///
    /// The statement must return no rows.
    func run(_ number: Int32, _ value: [UInt8]?) throws(StoreFault) {
        guard let value, !value.isEmpty else {
            try bind(number, value)
            return try run()
        }
        // The bytes are lent for the length of the call: afterwards nothing refers to them.
        let result = unsafe value.withUnsafeBytes { bytes -> Result<Void, StoreFault> in
            Result { () throws(StoreFault) in
                try database.check(
                    unsafe sqlite3_bind_blob64(
                        handle, number, bytes.baseAddress, UInt64(bytes.count), nil))
                defer { _ = unsafe sqlite3_bind_null(handle, number) }
                try run()
            }
        }
        try result.get()
    }

    /// Sets the parameter of this number, unless it has this value from the run before.
    func bind(_ number: Int32, _ value: String?, kept: inout KeptText) throws(StoreFault) {
        guard !kept.isKnown || value != kept.value else { return }
        kept.isKnown = false
        try bind(number, value)
        kept = KeptText(isKnown: true, value: value)
    }

    /// The latest value of a parameter.
    struct KeptText {
        var isKnown = false
        var value: String?
    }

    /// Goes to the next row.
    ///
    /// - Returns: whether there is one; without, the statement can be used again.
    func step() throws(StoreFault) -> Bool {
        let code = unsafe sqlite3_step(handle)
        if code == SQLITE_ROW { return true }
        let fault = code == SQLITE_DONE ? nil : database.fault(code)
        _ = unsafe sqlite3_reset(handle)
        if let fault { throw fault }
        return false
    }

    /// Runs a statement that returns no rows.
    func run() throws(StoreFault) {
        while try step() {}
    }

    /// Drops the rows that were not read.
    func reset() { _ = unsafe sqlite3_reset(handle) }

    /// The integer in a column of this row; 0 for null.
    func integer(_ column: Int32) -> Int64 { unsafe sqlite3_column_int64(handle, column) }

    /// The integer in a column of this row; nil for null.
    func optionalInteger(_ column: Int32) -> Int64? {
        isNull(column) ? nil : integer(column)
    }

    /// The text in a column of this row; empty for null.
    func text(_ column: Int32) -> String { String(decoding: bytes(column), as: UTF8.self) }

    /// The text in a column of this row; nil for null.
    func optionalText(_ column: Int32) -> String? { isNull(column) ? nil : text(column) }

    /// The bytes in a column of this row; empty for null.
    func bytes(_ column: Int32) -> [UInt8] {
        guard let start = unsafe sqlite3_column_blob(handle, column) else { return [] }
        let count = Int(unsafe sqlite3_column_bytes(handle, column))
        return unsafe Array(UnsafeRawBufferPointer(start: start, count: count))
    }

    /// The bytes in a column of this row; nil for null.
    func optionalBytes(_ column: Int32) -> [UInt8]? { isNull(column) ? nil : bytes(column) }

    private func isNull(_ column: Int32) -> Bool {
        unsafe sqlite3_column_type(handle, column) == SQLITE_NULL
    }
}
