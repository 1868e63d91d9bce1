// The errors of a database server, which it answers in place of a result.

/// An error of a statement or of a connection.
struct ServerError: Error, CustomStringConvertible {
    /// The SQLSTATE, five characters; empty if the connection was lost.
    let code: String
    /// The server's first message, or libpq's.
    let message: String
    /// The table whose rule a row has broken; nil for any other error.
    var table: String?

    /// Of an answer that was not there in time; the statement may be done yet.
    static let lateCode = "WD003"

    /// Whether the server has not answered in time.
    var isLate: Bool { code == Self.lateCode }

    /// Whether there is no connection any more.
    var isLost: Bool {
        // Class 08: connection exceptions; the others: the server or this session is ended.
        code.isEmpty || code.hasPrefix("08")
            || ["57P01", "57P02", "57P03", "57P05", "25P03"].contains(code)
    }

    /// Whether the server has no room: class 53 without "too many connections".
    var isFull: Bool { code == "53100" || code == "53200" }

    /// Whether this user lacks a right.
    var isForbidden: Bool { code == "42501" }

    /// Whether a transaction has found another epoch than this seat's: the row of its number has no
    /// seat (`Seat.noteBatch`).
    var isSeatLost: Bool { code == "23502" && table == "batches" }

    /// Whether another daemon has accepted a submitted job of the transaction: a division by zero
    /// (`ChangedRows.remove`).
    var isContested: Bool { code == "22012" }

    /// Whether the server has undone the transaction for the sake of another one: it could not be
    /// put in order with it, was in a deadlock with it, has waited too long for its lock, or has a
    /// submitted job that the other one has accepted.
    var isUndone: Bool { isContested || ["40001", "40P01", "55P03"].contains(code) }

    /// Whether the statement may succeed at another time: the server has no room for connections,
    /// a lock was not free, the statement was cancelled or in a deadlock.
    var isPassing: Bool { ["40", "53", "55", "57", "58"].contains(code.prefix(2)) }

    var description: String { code.isEmpty || isLate ? message : "\(message) (SQLSTATE \(code))" }
}
