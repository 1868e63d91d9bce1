// How the jobs of a Swift handler are tried again; those of a program say it in the configuration.

internal import Jobs
internal import Kernel

/// What follows when an attempt of a job has failed, unless the client who handed it in says otherwise.
///
/// ```swift
/// daemon.register("send", retries: .aside(5)) { job in try send(job.payload) }
/// ```
///
/// The next attempt comes after a pause of about a second, which doubles with each further one.
public struct Retries: Hashable, Sendable {
    /// How many further attempts follow.
    public let count: Int
    /// Whether what follows in the order of the job waits meanwhile.
    public let areBlocking: Bool

    private init(_ count: Int, areBlocking: Bool) {
        let limit = Configuration.Selector.retryCountLimit
        require((0...limit).contains(count), "0 to \(limit) retries, not \(count)")
        self.count = count
        self.areBlocking = areBlocking
    }

    /// The job has failed for good.
    public static let none = Retries(0, areBlocking: false)

    /// So many further attempts; others of the thread go on meanwhile.
    ///
    /// - Parameter count: 0 to 100.
    public static func aside(_ count: Int) -> Retries { Retries(count, areBlocking: false) }

    /// So many further attempts; others of its key wait meanwhile, or those of its thread.
    ///
    /// - Parameter count: 0 to 100.
    public static func blocking(_ count: Int) -> Retries { Retries(count, areBlocking: true) }
}

extension Retries {
    /// The same as a job's client would say it.
    var options: JobOptions {
        self == .none
            ? JobOptions() : JobOptions(retryCountMax: count, retryBlocks: areBlocking)
    }
}

extension Configuration.Selector {
    /// What its jobs say, where their clients do not; but for the time limit, which is that of now.
    var defaults: SharedJobOptions {
        let retries =
            retryManner == .block ? Retries.blocking(retryCountMax) : .aside(retryCountMax)
        var options = retries.options
        options.expireMilliseconds = expire?.milliseconds
        return SharedJobOptions(options)
    }
}
