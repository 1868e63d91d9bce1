// How a handler says how far it is.

internal import Jobs

extension JobContext {
    /// Tells whoever asks or watches how far the job is.
    ///
    /// `JOB` shows what was said last while the job runs, and `WATCH` pushes it, at most every 50 ms
    /// and the last in any case. So it may be called in a tight loop: while nobody watches it costs a
    /// lock and a store, and nobody is woken.
    ///
    /// ```swift
    /// daemon.register("convert") { job in
    ///     for page in 0..<50 {
    ///         try job.checkCancellation()
    ///         job.report(progress: Double(page) / 50, text: "page \(page)")
    ///     }
    ///     return "converted"
    /// }
    /// ```
    ///
    /// - Parameters:
    ///   - fraction: from 0 to 1, what is beyond is taken for the end of the range; nil or not a
    ///     number if it is not known.
    ///   - text: what the job is doing, in one line; the first 200 characters are shown.
    /// - Thread: any thread.
    /// - Blocks: never.
    public func report(progress fraction: Double? = nil, text: String? = nil) {
        guard let progress = JobProgress(fraction: fraction, text: text) else { return }
        note(progress)
    }
}
