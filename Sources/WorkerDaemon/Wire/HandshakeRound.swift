// The handshakes of sessions with TLS. Each costs the loop's thread a signature, and any stranger
// can ask for one: so each pass goes on with a few of them, and each has a time limit.

internal import RunLoops
internal import Structures

/// The sessions of a loop whose handshake is under way.
///
/// Confined to its loop's thread.
final class HandshakeRound {
    /// How many handshakes go on in one pass of the loop.
    static let countMaxPerPass = 8
    /// How long a handshake may take, from the connection on.
    static let patience = Duration.seconds(10)

    private let loop: ThreadRunLoop
    /// The time limits, by the numbers of the sessions.
    private var timeouts: [UInt64: ThreadRunLoop.Timeout] = [:]
    /// Sessions whose client has done its part, in the order in which it has.
    private var due = FIFO<Session>()
    private var dueNumbers: Set<UInt64> = []
    /// Performed once in a pass, while sessions are due: blocks may be performed twice in one.
    private var source: ThreadRunLoop.Source?

    init(on loop: ThreadRunLoop) { self.loop = loop }

    /// Sets the time limit of a session that has come in.
    func begin(_ session: Session) {
        let late = Confined(session, to: loop)
        timeouts[session.number] = loop.schedule(after: Self.patience) {
            late.value.handshakeIsLate()
        }
    }

    /// Goes on with a session's handshake soon; its socket is not watched meanwhile.
    func add(_ session: Session) {
        session.port?.interest = []
        guard dueNumbers.insert(session.number).inserted else { return }
        due.append(session)
        plan()
    }

    /// Forgets a session whose handshake is done, or that has left.
    func end(_ session: Session) {
        guard let timeout = timeouts.removeValue(forKey: session.number) else { return }
        loop.cancel(timeout)
    }

    private func plan() {
        guard source == nil else { return }
        let round = Confined(self, to: loop)
        let source = ThreadRunLoop.Source { round.value.run() }
        self.source = source
        loop.add(source)
        source.signal()
    }

    private func run() {
        for _ in 0..<Self.countMaxPerPass {
            guard let session = due.popFirst() else { break }
            dueNumbers.remove(session.number)
            session.continueHandshake()
        }
        if !due.isEmpty { return source?.signal() ?? () }
        source?.invalidate()
        source = nil
    }
}
