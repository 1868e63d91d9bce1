// Counts of attempts by their outcome, for Prometheus.

internal import Jobs

/// Counts of attempts, and how long they waited and ran.
///
/// Confined to its driver's thread.
final class AttemptFigures {
    /// How an attempt ended.
    enum End: String, CaseIterable {
        case done, failed
        case timedOut = "timed-out"
        case cancelled

        init(_ outcome: Outcome) {
            self =
                switch outcome {
                case .done: .done
                case .failed: .failed
                case .timedOut: .timedOut
                // A job that expires has no attempt.
                case .cancelled, .expired: .cancelled
                }
        }
    }

    /// The last 15 minutes of each thread.
    let timelines: Timelines
    private(set) var pools: LabelValues
    private(set) var selectors: LabelValues
    /// The selectors of `ends`, which has a series for each outcome.
    private(set) var endSelectors: LabelValues
    /// By pool.
    private(set) var waits: [ClassicHistogram]
    private(set) var busySeconds: [Double]
    /// By selector.
    private(set) var runs: [ClassicHistogram]
    /// By selector, then by outcome.
    private(set) var ends: [[UInt64]]
    private(set) var retryCount: UInt64 = 0
    /// Submits that were refused, by the reason.
    private(set) var refusals: [Refusal: UInt64] = [:]

    /// Why a job was not taken.
    enum Refusal: String, CaseIterable {
        case full
        case store
        case conflict
        case noThread = "no-thread"
        case noSelector = "no-selector"
        case shuttingDown = "shutting-down"

        /// Nil for an error of another kind.
        init?(_ error: JobError) {
            switch error {
            case .full: self = .full
            case .refused, .storeFailed: self = .store
            case .nameTaken: self = .conflict
            case .unknownThread, .stoppedThread, .foreignThread, .leftForRestart: self = .noThread
            case .unknownSelector: self = .noSelector
            case .shuttingDown: self = .shuttingDown
            default: return nil
            }
        }
    }

    /// - Parameters:
    ///   - groups: the threads of each pool, in the scheduler's order.
    ///   - selectors: the names of the selectors, in the same.
    init(groups: [WorkerGroup], selectors: [String]) {
        timelines = Timelines(groups)
        let pools = groups.map(\.name)
        // A histogram has a series for each bucket; label sets are counted without.
        self.pools = LabelValues(pools)
        self.selectors = LabelValues(selectors)
        endSelectors = LabelValues(selectors, factor: End.allCases.count)
        waits = self.pools.all.map { _ in ClassicHistogram() }
        busySeconds = self.pools.all.map { _ in 0 }
        runs = self.selectors.all.map { _ in ClassicHistogram() }
        ends = endSelectors.all.map { _ in End.allCases.map { _ in 0 } }
    }

    /// Has series for more pools and selectors from now on: those before keep their places.
    func grow(groups: [WorkerGroup], selectors: [String]) {
        timelines.grow(groups)
        pools = LabelValues(groups.map(\.name))
        self.selectors = LabelValues(selectors)
        endSelectors = LabelValues(selectors, factor: End.allCases.count)
        while waits.count < self.pools.all.count { waits.append(ClassicHistogram()) }
        while busySeconds.count < self.pools.all.count { busySeconds.append(0) }
        while runs.count < self.selectors.all.count { runs.append(ClassicHistogram()) }
        while ends.count < endSelectors.all.count { ends.append(End.allCases.map { _ in 0 }) }
    }

    /// Counts an attempt that has ended.
    func note(_ completion: Completion, of entry: JobEntry) {
        timelines.note(completion, of: entry.group)
        let pool = pools.place(of: entry.group.index)
        let job = entry.job
        let seconds = Double(completion.endedAt - completion.startedAt) / 1_000
        busySeconds[pool] += max(0, seconds)
        runs[selectors.place(of: entry.selectorIndex)].note(seconds: seconds)
        // Of a further attempt, dueAt is the end of the pause before it.
        let since = max(job.dueAt ?? 0, job.acceptedAt)
        waits[pool].note(seconds: Double(completion.startedAt - since) / 1_000)
        let end = End(completion.outcome)
        let place = End.allCases.firstIndex(of: end) ?? 0
        ends[endSelectors.place(of: entry.selectorIndex)][place] += 1
        if completion.attemptNumber > 1 { retryCount += 1 }
    }

    /// Counts a job that was not taken.
    func note(_ error: JobError) {
        if let refusal = Refusal(error) { refusals[refusal, default: 0] += 1 }
    }
}
