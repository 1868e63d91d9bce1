// Groups of failed jobs as FAILURES tells of them, of one node or put together from several.

internal import RESP

/// Failed jobs of one selector whose reasons are alike.
struct ToldFailures {
    /// The most groups of an answer; further failures are one more group.
    static let countMax = 500

    /// The selector and the pattern of the reasons; nil for the group of all that have no room.
    let kind: Kind?
    private(set) var count: Int
    private(set) var firstAt: Int
    private(set) var lastAt: Int
    /// The job that failed last, and the beginning of its reason.
    private(set) var newest: Int
    private(set) var failure: RESPValue

    struct Kind: Hashable {
        let selector: String
        let reason: String
    }

    init(
        _ kind: Kind?, count: Int, firstAt: Int, lastAt: Int, newest: Int, failure: RESPValue
    ) {
        self.kind = kind
        self.count = count
        self.firstAt = firstAt
        self.lastAt = lastAt
        self.newest = newest
        self.failure = failure
    }

    /// Reads a group of another node's answer; nil if it is none.
    init?(_ row: RESPValue) {
        guard let count = row["count"]?.integer, let firstAt = row["first"]?.integer,
            let lastAt = row["last"]?.integer, let newest = row["newest"]?.integer
        else { return nil }
        let selector = row["selector"]?.text
        self.init(
            selector.map { Kind(selector: $0, reason: row["reason"]?.text ?? "") }, count: count,
            firstAt: firstAt, lastAt: lastAt, newest: newest, failure: row["failure"] ?? .null)
    }

    private var value: RESPValue {
        .map([
            entry("selector", kind.map { text($0.selector) } ?? .null),
            entry("reason", kind.map { text($0.reason) } ?? .null),
            entry("count", .integer(count)),
            entry("first", .integer(firstAt)), entry("last", .integer(lastAt)),
            entry("newest", .integer(newest)), entry("failure", failure),
        ])
    }

    private mutating func add(_ other: ToldFailures) {
        count += other.count
        firstAt = min(firstAt, other.firstAt)
        if (other.lastAt, other.newest) > (lastAt, newest) {
            (lastAt, newest, failure) = (other.lastAt, other.newest, other.failure)
        }
    }

    /// The answer: the largest groups first, and all others as one more.
    static func answer(of groups: [ToldFailures]) -> RESPValue {
        var merged: [Kind: ToldFailures] = [:]
        var rest: ToldFailures?
        func addToRest(_ group: ToldFailures) {
            let other = ToldFailures(
                nil, count: group.count, firstAt: group.firstAt, lastAt: group.lastAt,
                newest: group.newest, failure: group.failure)
            if rest == nil { rest = other } else { rest?.add(other) }
        }
        for group in groups {
            if let kind = group.kind {
                if merged[kind] == nil { merged[kind] = group } else { merged[kind]?.add(group) }
            } else {
                addToRest(group)
            }
        }
        let sorted = merged.values.sorted { ($0.count, $0.lastAt) > ($1.count, $1.lastAt) }
        sorted.dropFirst(countMax).forEach(addToRest)
        return .array((sorted.prefix(countMax) + (rest.map { [$0] } ?? [])).map(\.value))
    }
}
