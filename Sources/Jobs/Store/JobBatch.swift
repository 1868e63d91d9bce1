// Jobs as a store tells them: whole jobs of a queue, ready to run, or the counted part of each.

/// Consecutive jobs of a queue, and whether they are its last.
package struct JobBatch: Sendable {
    package var jobs: [Job] = []
    /// Whether these are the last jobs of the queue.
    package var isEnd = true

    /// Makes a batch of jobs.
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
