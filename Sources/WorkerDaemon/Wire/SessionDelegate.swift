// The commands and requests of a session are executed by its delegate, and it hears of its output.

internal import HTTP
internal import RESP
internal import TLS

/// Executes the commands that a session reads.
protocol SessionDelegate: AnyObject {
    /// Whether a client that has many bytes to read is not to ask for more: all clients together
    /// have too many.
    var hasNoRoom: Bool { get }
    /// Executes a command; answers through the session, now or later.
    func execute(_ command: Command, for session: Session)
    /// Executes a part of a request, as a command; or refuses it.
    func execute(_ part: Result<RequestPart, HTTPRefusal>, for session: Session)
    /// So many bytes of answers are in memory for the client to read them, and of others for an
    /// earlier answer; few count as none.
    func session(_ session: Session, hasUnread byteCount: Int, early earlyByteCount: Int)
    /// All that was answered is written, and more answers are outstanding.
    func sessionWroteAll(_ session: Session)
    /// The handshake of a session with TLS has ended: well, or with a fault, and the session ends.
    func handshakeEnded(_ session: Session, _ fault: TLSError?)
    /// The client of a session without TLS has begun a handshake of TLS; the session ends.
    func handshakeRefused(_ session: Session)
    /// The session has ended, for this reason.
    func sessionEnded(_ session: Session, reason: String)
}
