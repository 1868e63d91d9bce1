// The indexes of queues, as conditions on places in them.
//
// Rows of all columns of an index are compared. For a comparison of numbers alone, the server might
// take the index of the numbers. That has the jobs of all threads, and while a transaction of
// another program is open, also those that have ended: a search could read millions of entries.

/// An index of the jobs of queues; the parameters 1 and 2 of a statement are the queue.
struct QueueIndex {
    /// The condition of all its rows.
    private let condition: String
    /// The columns that are equal for all jobs of a queue.
    private let columns: [String]
    private let values: String
    /// The columns that order the jobs of a queue.
    let place: String

    private init(_ condition: String, held: Int? = nil, place: String) {
        self.condition = condition
        self.place = place
        columns = ["thread", "priority"] + (held == nil ? [] : ["held"])
        values = "$1::text, $2::bigint::smallint" + (held.map { ", \($0)::smallint" } ?? "")
    }

    /// The jobs in turn.
    static let inTurn = QueueIndex("held = 0", place: "id")
    /// The delayed jobs in the order in which they are due.
    static let due = QueueIndex("held = 1", place: "due_at, id")
    /// The delayed jobs (1) or the buffered ones (2) in the order of their numbers.
    static func held(_ code: Int) -> QueueIndex {
        QueueIndex("held > 0", held: code, place: "id")
    }

    private var names: String { columns.joined(separator: ", ") }

    /// The condition that a job of the queue is behind a place.
    func isBehind(_ place: String) -> String {
        """
        \(condition) AND (\(names), \(self.place)) > (\(values), \(place))
            AND (\(names)) <= (\(values))
        """
    }

    /// The condition that a job behind another place is before one.
    func isBefore(_ place: String) -> String {
        "(\(names), \(self.place)) < (\(values), \(place))"
    }

    /// The order of the index.
    func order(_ direction: String = "ASC") -> String {
        (columns + [place.replacing(", ", with: " \(direction), ")])
            .map { "\($0) \(direction)" }.joined(separator: ", ")
    }
}
