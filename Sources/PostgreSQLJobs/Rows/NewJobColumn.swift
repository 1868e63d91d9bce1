// The columns of new jobs: the table from which the statement is made that inserts a batch of jobs.
//
// The server takes each array apart before it joins the rows. In a small batch, an array costs as
// much as a row. Most jobs have no value in most of the columns. A batch of such jobs alone is sent
// without the arrays of these columns.

internal import Jobs
internal import Journals

/// A column of new jobs.
struct NewJobColumn: Sendable {
    private let name: String
    private let type: ArrayParameter.Element
    /// The expression for a job without a value, if the column may not be NULL.
    private let absent: String?
    /// Appends the value of a job; NULL if it has none.
    private let append: @Sendable (inout ArrayParameter, Job) -> Void

    private init(
        _ name: String, _ type: ArrayParameter.Element, absent: String? = nil,
        _ append: @escaping @Sendable (inout ArrayParameter, Job) -> Void
    ) {
        self.name = name
        self.type = type
        self.absent = absent
        self.append = append
    }

    /// The columns in which each job has a value.
    private static let usual = [
        NewJobColumn("id", .bigint) { $0.append(Int64(clamping: $1.id.number)) },
        NewJobColumn("thread", .text) { $0.append($1.slot) },
        NewJobColumn("selector", .text) { $0.append($1.selector) },
        NewJobColumn("payload", .bytea) { $0.append($1.payload) },
        NewJobColumn("priority", .bigint) { $0.append(Int64($1.priority.rawValue)) },
        NewJobColumn("retries", .bigint) { $0.append(Int64($1.retryCountMax)) },
        NewJobColumn("accepted_at", .bigint) { $0.append($1.acceptedAt) },
    ]
    /// The columns in which most jobs have none.
    private static let rare = [
        NewJobColumn("held", .bigint, absent: "0") {
            $0.append(JobColumns.heldCode(of: $1.state).unlessZero)
        },
        NewJobColumn("attempt", .bigint, absent: "0") { $0.append(Int64($1.attempt).unlessZero) },
        NewJobColumn("retry_blocks", .boolean, absent: "false") {
            $0.append($1.retryBlocks ? true : nil)
        },
        NewJobColumn("timeout_ms", .bigint) { $0.append($1.timeoutMilliseconds) },
        NewJobColumn("due_at", .bigint) { $0.append($1.dueAt) },
        NewJobColumn("expires_at", .bigint) { $0.append($1.expiresAt) },
        NewJobColumn("unique_until", .bigint) { $0.append($1.details.options.uniqueUntil) },
        NewJobColumn("order_key", .bytea) { $0.append($1.key) },
        NewJobColumn("carried", .bytea) { $0.append($1.details.options.carried) },
    ]
    private static let insertUsual = insertion(with: usual)
    private static let insertAll = insertion(with: usual + rare)

    /// The statement that inserts jobs, and its parameters.
    static func insertion(of jobs: [Job]) -> (sql: String, Parameters) {
        func arrays(_ columns: [NewJobColumn]) -> [ArrayParameter] {
            columns.map { column in
                jobs.reduce(into: ArrayParameter(of: column.type, capacity: jobs.count)) {
                    column.append(&$0, $1)
                }
            }
        }
        let rareArrays = arrays(rare)
        let isUsual = rareArrays.allSatisfy(\.isAllNull)
        var parameters = Parameters()
        for array in arrays(usual) + (isUsual ? [] : rareArrays) { parameters.add(array) }
        return (isUsual ? insertUsual : insertAll, parameters)
    }

    private static func insertion(with columns: [NewJobColumn]) -> String {
        let sent = columns.map(\.name)
        let constant = rare.filter { $0.absent != nil && !sent.contains($0.name) }
        let arrays = columns.enumerated().map { "$\($0 + 1)::\($1.type)[]" }
        func list(_ words: [String]) -> String { words.joined(separator: ", ") }
        return """
            INSERT INTO workerd.jobs
                (\(list(sent + constant.map(\.name))), forgiven, released_before)
            SELECT \(list(columns.map(\.value) + constant.compactMap(\.absent))), 0, 0
            FROM unnest(\(list(arrays))) AS new (\(list(sent)))
            """
    }

    /// The value in the new row, as an expression.
    private var value: String { absent.map { "coalesce(\(name), \($0))" } ?? name }
}

extension Int64 {
    fileprivate var unlessZero: Int64? { self == 0 ? nil : self }
}
