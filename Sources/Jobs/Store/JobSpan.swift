// From which end a listing of jobs goes, and between which numbers. Pure.

/// The jobs between two numbers, in the order in which a listing looks at them.
package struct JobSpan: Hashable, Sendable {
    /// Which jobs come first.
    package enum Order: Hashable, Sendable {
        case newestFirst
        case oldestFirst
    }

    package let order: Order
    /// Only jobs with larger numbers.
    package var after: JobID
    /// Only jobs with smaller numbers.
    package var before: JobID

    /// All jobs, unless said otherwise.
    package init(
        _ order: Order = .newestFirst, after: JobID = JobID(0), before: JobID = .max
    ) {
        self.order = order
        self.after = after
        self.before = before
    }

    package var isAscending: Bool { order == .oldestFirst }

    /// Where a search has arrived that has read all: beyond the last job.
    package var end: JobID { isAscending ? .max : JobID(0) }

    package func contains(_ id: JobID) -> Bool { after < id && id < before }

    /// Whether a job is listed before another one.
    package func precedes(_ id: JobID, _ other: JobID) -> Bool {
        isAscending ? id < other : other < id
    }

    /// The place to which all were read if a job was not.
    package func place(shortOf id: JobID) -> JobID {
        JobID(isAscending ? id.number - 1 : id.number + 1)
    }

    /// The place that is reached first.
    package func first(_ place: JobID, _ other: JobID) -> JobID {
        isAscending ? min(place, other) : max(place, other)
    }

    /// Removes the listed jobs from the span, up to and including a place.
    package mutating func goOn(behind place: JobID) {
        if isAscending { after = place } else { before = place }
    }

    /// The first jobs in the order of the listing.
    package func sorted(_ jobs: [Job], limit: Int) -> [Job] {
        Array(jobs.sorted { precedes($0.id, $1.id) }.prefix(limit))
    }
}
