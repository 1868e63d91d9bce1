// The daemon's answers to a submit under a unique name and to a cancel.

internal import RESP

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

/// The job of a unique name.
public struct UniqueJob: Sendable, Equatable {
    /// Its number.
    public let id: UInt64
    /// Whether this submit made it; otherwise an earlier one did.
    public let isNew: Bool

    /// The job of a number.
    public init(id: UInt64, isNew: Bool) {
        self.id = id
        self.isNew = isNew
    }
}

extension UniqueJob {
    init(_ reply: RESPValue) throws(WorkerClientError) {
        guard let elements = reply.elements, elements.count == 2, let word = elements[1].text,
            ["new", "known"].contains(word)
        else { throw Read.unexpected(reply, "a job's number, and new or known") }
        id = try Read.id(elements[0])
        isNew = word == "new"
    }
}
