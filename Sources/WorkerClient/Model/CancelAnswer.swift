// The daemon's answer to a request to cancel a job.

/// The outcome of a request to cancel a job; an answer that this version has no name for is passed
/// through.
public struct CancelAnswer: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    /// Its name on the wire.
    public let rawValue: String

    /// An answer of this name.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// It had not begun, and never runs.
    public static let cancelled = CancelAnswer(rawValue: "cancelled")
    /// It runs, and was asked to end.
    public static let requested = CancelAnswer(rawValue: "requested")
    /// It has ended.
    public static let tooLate = CancelAnswer(rawValue: "toolate")
    /// It runs, was asked to end or is over its time limit, and does not listen.
    public static let stuck = CancelAnswer(rawValue: "stuck")

    /// The name.
    public var description: String { rawValue }
}
