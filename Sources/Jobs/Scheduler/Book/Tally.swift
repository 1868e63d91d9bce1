// How many jobs are in which state.

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
