// Answers that are made of the rows of a listing, without showing these.

internal import Jobs
internal import RESP

/// Takes the rows of a listing, and makes the answer of them.
protocol ListingDigest: AnyObject {
    func add(_ rows: [JobStatus])
    /// The answer, once all rows are added.
    var value: RESPValue { get }
}

/// Counts the jobs that an order means.
final class JobCount: ListingDigest {
    private let order: BulkOrder
    /// Whether the jobs of a thread are this node's.
    private let isOpen: (String) -> Bool
    private var count = 0

    init(_ order: BulkOrder, where isOpen: @escaping (String) -> Bool) {
        self.order = order
        self.isOpen = isOpen
    }

    func add(_ rows: [JobStatus]) { count += rows.count { order.means($0.job, where: isOpen) } }

    var value: RESPValue {
        .map([
            entry("count", .integer(min(count, order.limit))),
            entry("up-to", .integer(Int(order.upTo.number))),
        ])
    }
}

/// Groups failed jobs by their selectors and the patterns of their reasons.
final class FailureGroups: ListingDigest {
    private struct Key: Hashable {
        let selector: String
        let pattern: FailurePattern
    }

    private struct Group {
        /// Nil for the group of all that have no room.
        let key: Key?
        var count = 0
        var firstAt = Int64.max
        var lastAt = Int64.min
        var newest: JobStatus

        mutating func add(_ row: JobStatus) {
            let endedAt = row.job.endedAt ?? row.job.acceptedAt
            count += 1
            firstAt = min(firstAt, endedAt)
            if (endedAt, row.job.id) >= (lastAt, newest.job.id) { newest = row }
            lastAt = max(lastAt, endedAt)
        }

        var group: ToldFailures {
            ToldFailures(
                key.map {
                    ToldFailures.Kind(selector: $0.selector, reason: $0.pattern.description)
                }, count: count, firstAt: Int(firstAt), lastAt: Int(lastAt),
                newest: Int(newest.job.id.number), failure: newest.failureEntry.value)
        }
    }

    private var groups: [Key: Group] = [:]
    private var rest: Group?

    func add(_ rows: [JobStatus]) {
        for row in rows {
            guard let reason = row.job.outcome?.failureReason else { continue }
            let key = Key(selector: row.job.selector, pattern: FailurePattern(reason))
            if groups[key] != nil || groups.count < ToldFailures.countMax {
                groups[key, default: Group(key: key, newest: row)].add(row)
            } else {
                if rest == nil { rest = Group(key: nil, newest: row) }
                rest?.add(row)
            }
        }
    }

    var value: RESPValue {
        ToldFailures.answer(of: (groups.values + (rest.map { [$0] } ?? [])).map(\.group))
    }
}
