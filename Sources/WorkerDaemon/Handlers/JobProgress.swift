// How far a job is, as its handler says. Pure; who is told, and how often, is the desk's affair.

internal import Wording

/// What a handler has said last about how far it is.
package struct JobProgress: Sendable, Equatable {
    /// From 0 to 1; nil if the handler did not say.
    package let fraction: Double?
    /// What it is doing; nil if the handler did not say.
    package let text: String?

    /// How much of a text is shown.
    package static let textScalarCountMax = 200

    /// - Returns: nil if neither says anything.
    package init?(fraction: Double?, text: String?) {
        self.fraction = fraction.flatMap { $0.isNaN ? nil : min(max($0, 0), 1) }
        self.text = text
        if self.fraction == nil && text == nil { return nil }
    }

    /// The text in one line that is not too long, for a reply.
    ///
    /// Made when somebody asks, so that a handler can report in a tight loop.
    package var shownText: String? {
        text.map { inOneLine($0, scalarCountMax: Self.textScalarCountMax) }
    }
}

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
