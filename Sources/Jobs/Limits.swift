// The maxima of a job store, each with its reason.

/// The limits of this target; those of a store are defaults that `StoreLimits` can replace.
package enum Limits {
    /// The largest number of jobs that have not ended: about 300 MB of bookkeeping.
    package static let liveCountMax = 1_000_000

    /// The most payload bytes of jobs that have not ended.
    package static let liveByteCountMax = 1 << 30

    /// The largest number of ended jobs kept for those who ask later.
    package static let retainedCountMax = 10_000

    /// The most result bytes of ended jobs kept for those who ask later.
    package static let retainedByteCountMax = 64 << 20

    /// How long an ended job is kept.
    ///
    /// An hour is long enough to fetch a result or look into a failure, and short enough to forget
    /// what was in it.
    package static let retainedMilliseconds: Int64 = 3_600_000

    /// The largest listing: its reader is a person or a page, and the thread has other work.
    package static let listCountMax = 10_000
}

/// How much a store may keep, live and ended.
package struct StoreLimits: Sendable, Hashable {
    /// The largest number of jobs that have not ended; one more is refused.
    package var liveCountMax = Limits.liveCountMax

    /// The most payload bytes of jobs that have not ended; a job beyond is refused.
    package var liveByteCountMax = Limits.liveByteCountMax

    /// The largest number of ended jobs; of more, those that ended first are dropped.
    package var retainedCountMax = Limits.retainedCountMax

    /// The most result bytes of ended jobs; of more, those that ended first are dropped.
    package var retainedByteCountMax = Limits.retainedByteCountMax

    /// The age from which on an ended job is dropped.
    package var retainedMilliseconds = Limits.retainedMilliseconds

    /// Makes the default limits.
    package init() {}
}
