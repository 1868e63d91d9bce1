// The answer to a submit under a unique name.

internal import RESP

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
