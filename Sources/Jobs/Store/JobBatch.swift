// What a store tells of jobs: some of a queue with all that they need to run, or what counts of
// each.

/// Some jobs of a queue, and whether there are more behind them.
package struct JobBatch: Sendable {
    package var jobs: [Job] = []
    /// Whether nothing of the queue is behind these.
    package var isEnd = true

    /// Some jobs, and whether there are none behind them.
    package init(jobs: [Job] = [], isEnd: Bool = true) {
        self.jobs = jobs
        self.isEnd = isEnd
    }
}

/// A job as it is counted.
package struct CountedJob: Sendable {
    package let id: JobID
    package let state: JobState
    package let selector: String
    package let byteCount: Int

    /// A job of this number, state, selector and size of its payload.
    package init(id: JobID, state: JobState, selector: String, byteCount: Int) {
        self.id = id
        self.state = state
        self.selector = selector
        self.byteCount = byteCount
    }
}
