// A row of a table, whichever library has read it.

/// One row of a result; columns are counted from 0.
///
/// - Thread: its connection's.
package protocol TableRow {
    /// An integer; 0 for null.
    func integer(_ column: Int32) -> Int64

    func optionalInteger(_ column: Int32) -> Int64?

    /// A text; empty for null.
    func text(_ column: Int32) -> String

    func optionalText(_ column: Int32) -> String?

    /// Bytes; none for null.
    func bytes(_ column: Int32) -> [UInt8]

    func optionalBytes(_ column: Int32) -> [UInt8]?
}

extension TableRow {
    /// Whether a truth value is true; false for null.
    package func isTrue(_ column: Int32) -> Bool { integer(column) != 0 }
}
