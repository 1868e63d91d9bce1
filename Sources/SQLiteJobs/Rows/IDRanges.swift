// Rows that are deleted one after the other, mostly in the order of their numbers: one statement
// for each run of numbers in place of one for each row.

internal import Jobs

/// Numbers to delete, collected into ranges.
struct IDRanges {
    private var first: UInt64 = 0
    private var last: UInt64 = 0

    /// Deletes a row, at once or with later ones.
    ///
    /// - Parameter statement: deletes from its first parameter through its second.
    mutating func add(_ id: JobID, _ statement: Statement) throws(StoreFault) {
        if last != 0, id.number == last + 1 {
            last = id.number
        } else {
            try finish(statement)
            (first, last) = (id.number, id.number)
        }
    }

    /// Deletes the collected rows.
    mutating func finish(_ statement: Statement) throws(StoreFault) {
        guard last != 0 else { return }
        try statement.bind(1, Int64(first))
        try statement.bind(2, Int64(last))
        try statement.run()
        last = 0
    }
}
