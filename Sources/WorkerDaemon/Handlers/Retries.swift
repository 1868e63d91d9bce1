// The retries of a Swift handler's jobs; those of a program are in its configuration.

internal import Jobs
internal import Kernel

/// The retries after a failed attempt, unless the client that submitted the job gives its own.
///
/// ```swift
/// daemon.register("send", retries: .aside(5)) { job in try send(job.payload) }
/// ```
///
/// The first retry comes after a pause of about a second, which doubles with each further one.
public struct Retries: Hashable, Sendable {
    /// The number of retries.
    public let count: Int
    /// Whether the following jobs in the job's order wait meanwhile.
    public let areBlocking: Bool

    private init(_ count: Int, areBlocking: Bool) {
        let limit = Configuration.Selector.retryCountLimit
        require((0...limit).contains(count), "0 to \(limit) retries, not \(count)")
        self.count = count
        self.areBlocking = areBlocking
    }

    /// No retries: a failed job has failed for good.
    public static let none = Retries(0, areBlocking: false)

    /// Retries during which the other jobs of the thread go on.
    ///
    /// - Parameter count: 0 to 100.
    public static func aside(_ count: Int) -> Retries { Retries(count, areBlocking: false) }

    /// Retries during which the other jobs of the job's key wait; without a key, those of its
    /// thread.
    ///
    /// - Parameter count: 0 to 100.
    public static func blocking(_ count: Int) -> Retries { Retries(count, areBlocking: true) }
}

extension Retries {
    /// The retries as options of a job.
    var options: JobOptions {
        self == .none
            ? JobOptions() : JobOptions(retryCountMax: count, retryBlocks: areBlocking)
    }
}

extension Configuration.Selector {
    /// The default options of its jobs, without the time limit, which is looked up when a job runs.
    var defaults: SharedJobOptions {
        let retries =
            retryManner == .block ? Retries.blocking(retryCountMax) : .aside(retryCountMax)
        var options = retries.options
        options.expireMilliseconds = expire?.milliseconds
        return SharedJobOptions(options)
    }
}
