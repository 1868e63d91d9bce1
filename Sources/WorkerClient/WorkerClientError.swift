// Errors between a program and the daemon, in words that say what to do. The one error type of this
// library.

/// A command that was not carried out, or whose outcome is not known.
public enum WorkerClientError: Error, Equatable, Sendable {
    /// The daemon said no, or the job did not end well.
    ///
    /// - Parameters:
    ///   - word: for programs: `NOTHREAD`, `NOSELECTOR`, `NOJOB`, `FAILED`, `TIMEOUT`, `CANCELLED`,
    ///     `BUSY`, `NOAUTH`, `WRONGPASS`, `SHUTTINGDOWN`, `ERR`.
    ///   - message: for people.
    case daemon(word: String, message: String)
    /// There is no connection, so the command was not sent, or not all of it, and is not carried
    /// out.
    ///
    /// - Parameters:
    ///   - address: the path of the socket, or `host:port`.
    ///   - reason: what the kernel or the daemon says.
    ///   - advice: what to try.
    case notConnected(address: String, reason: String, advice: String)
    /// No reply came in time; the connection was closed, and whether the command was carried out is
    /// not known.
    case timedOut(after: Duration)
    /// The server does not speak as workerd does; the connection was closed.
    case protocolFault(String)
    /// The connection ended: whether a command without a reply was carried out is not known, nor
    /// what becomes of a job that was watched.
    case closed(String)
    /// More commands, or bytes of commands, are outstanding than the client's limit allows; this
    /// one was not sent.
    case tooManyOutstanding(limit: Int)
}

extension WorkerClientError {
    /// The error of waiting and later calls when the client itself was closed.
    static let closedHere = WorkerClientError.closed("the client was closed")

    /// The end of a client, as it is told to a command that was not sent because of it.
    ///
    /// That the client was closed stays as it is: the program did that itself.
    func asUnsent(to address: WorkerAddress) -> WorkerClientError {
        switch self {
        case .closedHere: self
        case .closed(let reason), .protocolFault(let reason):
            .notConnected(
                address: address.description, reason: "\(reason), which ended this client",
                advice: "make a new one")
        default: self
        }
    }
}

extension WorkerClientError: CustomStringConvertible {
    /// The fault and what to try, in one line.
    public var description: String {
        switch self {
        case .daemon(let word, let message): "\(word) \(message)"
        case .notConnected(let address, let reason, let advice):
            "can't reach workerd at \(address): \(reason); \(advice)"
        case .timedOut(let limit):
            "no reply within \(limit); whether the command was carried out is not known"
        case .protocolFault(let fault): "this is not how workerd answers: \(fault)"
        case .closed(let reason):
            "the connection ended (\(reason)); what became of what was asked for is "
                + "not known"
        case .tooManyOutstanding(let limit):
            "more is outstanding than the limit of \(limit) allows; wait for replies, then try "
                + "again"
        }
    }
}
