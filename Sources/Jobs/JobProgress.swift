// The reports of a job's handler while it runs: its progress, and how much its program has written.
// Pure: the scheduler decides which clients are told, and how often.

internal import Wording

/// A handler's latest report of its progress.
package struct JobProgress: Sendable, Equatable {
    /// The finished part, from 0 to 1; nil if the handler did not say.
    package let fraction: Double?
    /// The current step in words; nil if the handler did not say.
    package let text: String?

    /// The longest text that is shown.
    package static let textScalarCountMax = 200

    /// - Returns: nil if neither says anything.
    package init?(fraction: Double?, text: String?) {
        self.fraction = fraction.flatMap { $0.isNaN ? nil : min(max($0, 0), 1) }
        self.text = text
        if self.fraction == nil && text == nil { return nil }
    }

    /// The text as one line of limited length, for a reply.
    ///
    /// Made when a client asks, so that a handler can report in a tight loop.
    package var shownText: String? {
        text.map { inOneLine($0, scalarCountMax: Self.textScalarCountMax) }
    }
}

/// The counts of bytes that an attempt's program has written, by stream.
package struct WrittenBytes: Sendable, Equatable {
    /// Bytes of standard output.
    package var output = 0
    /// Bytes of standard error.
    package var errors = 0

    /// Nothing written.
    package init() {}
}
