// What a command promises its client when the answer is not there yet. It knows nothing of jobs.

internal import RESP

/// The reply to a command, which may be known at once or later.
///
/// Its place among the replies is reserved only when the command has turned out to be fine: an error
/// that is thrown takes a place of its own.
final class Pledge {
    private let session: Session
    private var slot: Session.Slot?
    private var value: RESPValue?

    init(_ session: Session) { self.session = session }

    /// The place that is reserved.
    var number: UInt64 { (slot ?? reserve()).number }

    private func reserve() -> Session.Slot {
        let reserved = session.reserve()
        slot = reserved
        return reserved
    }

    /// Gives the reply.
    func fill(_ result: Result<RESPValue, some Error>) {
        let reply: RESPValue =
            switch result {
            case .success(let value): value
            case .failure(let error): WireError(error).reply
            }
        if let slot { session.fill(slot, with: reply) } else { value = reply }
    }

    /// The reply if it is there; else its place is kept, and nil.
    func take() -> RESPValue? {
        if value == nil { _ = reserve() }
        return value
    }
}
