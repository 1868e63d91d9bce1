// How far a job is, as its handler says. Pure; who is told, and how often, is the scheduler's
// affair.

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
