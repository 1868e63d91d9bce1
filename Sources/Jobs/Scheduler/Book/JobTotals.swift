// The counts of jobs: all since the start by how they ended, which INFO shows, and those of the
// present by state.

/// How many jobs there ever were, whether they are still kept or not.
package struct JobTotals: Hashable, Sendable {
    /// All of them.
    package var accepted: UInt64 = 0

    /// Jobs that ended with a result.
    package var done: UInt64 = 0

    /// Jobs that failed for good.
    package var failed: UInt64 = 0

    /// Jobs that a client cancelled.
    package var cancelled: UInt64 = 0

    /// Jobs that expired before they began.
    package var expired: UInt64 = 0

    /// Starts at zero.
    package init() {}

    /// Counts a job that has ended in `state`.
    package mutating func countEnd(in state: JobState) {
        switch state {
        case .done: done += 1
        case .failed: failed += 1
        case .cancelled: cancelled += 1
        case .expired: expired += 1
        case .delayed, .buffered, .waiting, .running: break
        }
    }
}

/// Counts jobs by state.
struct Tally {
    private var counts = InlineArray<8, Int>(repeating: 0)

    /// The number of jobs in `state`.
    subscript(state: JobState) -> Int {
        get { counts[Self.index(of: state)] }
        set { counts[Self.index(of: state)] = newValue }
    }

    /// The number of jobs in `state`, or of all.
    func count(in state: JobState?) -> Int {
        if let state { return self[state] }
        return counts.indices.reduce(0) { $0 + counts[$1] }
    }

    /// Counts a job in another state than before.
    mutating func move(from before: JobState, to after: JobState) {
        self[before] -= 1
        self[after] += 1
    }

    private static func index(of state: JobState) -> Int {
        switch state {
        case .delayed: 0
        case .buffered: 1
        case .waiting: 2
        case .running: 3
        case .done: 4
        case .failed: 5
        case .cancelled: 6
        case .expired: 7
        }
    }
}
