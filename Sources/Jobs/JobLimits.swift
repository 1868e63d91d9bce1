// The maxima of a job store, each with its reason.

/// The limits of this target; those of a store are defaults that `StoreLimits` can replace.
package enum JobLimits {
    /// The largest number of jobs that have not ended: about 300 MB of bookkeeping.
    package static let liveCountMax = 1_000_000

    /// The most payload bytes of jobs that have not ended.
    package static let liveByteCountMax = 1 << 30

    /// The largest number of ended jobs kept for later questions.
    package static let retainedCountMax = 10_000

    /// The most result bytes of ended jobs kept for later questions.
    package static let retainedByteCountMax = 64 << 20

    /// How long an ended job is kept.
    ///
    /// An hour is long enough to fetch a result or look into a failure, and short enough to keep no
    /// payload for long.
    package static let retainedMilliseconds: Int64 = 3_600_000

    /// The largest number of failed jobs kept to be looked into and run again.
    package static let failedCountMax = 10_000

    /// The most bytes of failed jobs, payloads and reasons together.
    package static let failedByteCountMax = 64 << 20

    /// How long a failed job is kept: a week, so that a weekend is not too long.
    package static let failedMilliseconds: Int64 = 7 * 24 * 3_600_000

    /// For how long the name of a `UNIQUE` job is remembered.
    package static let uniqueMilliseconds: Int64 = 24 * 3_600_000

    /// The largest listing: its reader is a person or a page, and the thread has other work.
    package static let listCountMax = 10_000
}

/// How much a store may keep, live and ended.
package struct StoreLimits: Sendable, Hashable {
    /// The largest number of jobs that have not ended; one more is refused.
    package var liveCountMax = JobLimits.liveCountMax

    /// The most payload bytes of jobs that have not ended; a job beyond is refused.
    package var liveByteCountMax = JobLimits.liveByteCountMax

    /// The largest number of ended jobs; of more, those that ended first are dropped.
    package var retainedCountMax = JobLimits.retainedCountMax

    /// The most result bytes of ended jobs; of more, those that ended first are dropped.
    package var retainedByteCountMax = JobLimits.retainedByteCountMax

    /// The age at which an ended job that did not fail is dropped.
    package var retainedMilliseconds = JobLimits.retainedMilliseconds

    /// The largest number of failed jobs; of more, those that failed first are dropped.
    package var failedCountMax = JobLimits.failedCountMax

    /// The most bytes of failed jobs; of more, those that failed first are dropped.
    package var failedByteCountMax = JobLimits.failedByteCountMax

    /// The age at which a failed job is dropped.
    package var failedMilliseconds = JobLimits.failedMilliseconds

    /// For how long the name of a `UNIQUE` job is remembered, and as long as it has not ended.
    package var uniqueMilliseconds = JobLimits.uniqueMilliseconds

    /// Makes the default limits.
    package init() {}

    /// The moment until which a unique name keeps the job's outcome; nil if it does not.
    ///
    /// A failed job is kept within limits of its own.
    package func keptByName(
        _ details: JobDetails, endedAs state: JobState, at endedAt: Int64
    ) -> Int64? {
        guard state != .failed, let until = details.options.uniqueUntil, until > endedAt
        else { return nil }
        return max(until, endedAt + retainedMilliseconds)
    }

    /// Whether a job has ended so long ago that it is dropped.
    package func haveExpired(for job: Job, at now: Int64) -> Bool {
        guard let endedAt = job.endedAt else { return false }
        if let until = keptByName(job.details, endedAs: job.state, at: endedAt) {
            return until <= now
        }
        return now - endedAt >= (job.state == .failed ? failedMilliseconds : retainedMilliseconds)
    }
}
