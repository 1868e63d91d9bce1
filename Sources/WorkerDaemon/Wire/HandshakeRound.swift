// The handshakes of sessions with TLS. Each costs the loop's thread a signature, and any stranger
// can ask for one: so each pass goes on with a few of them, and each has a time limit.

internal import RunLoops
internal import Structures

/// One end of a connection, whose handshake goes on in its turn.
protocol HandshakeEnd: AnyObject {
    /// The watch over its socket; nil once it is closed.
    var port: ThreadRunLoop.Port? { get }

    /// Goes on with the handshake.
    func continueHandshake()
}

/// The handshakes of a loop that are under way.
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
    /// Ends whose peers have done their part, in the order in which these have.
    private var due = FIFO<any HandshakeEnd>()
    private var dueEnds: Set<ObjectIdentifier> = []
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

    /// Goes on with a handshake soon; the socket is not watched meanwhile.
    func add(_ end: any HandshakeEnd) {
        end.port?.interest = []
        guard dueEnds.insert(ObjectIdentifier(end)).inserted else { return }
        due.append(end)
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
            guard let end = due.popFirst() else { break }
            dueEnds.remove(ObjectIdentifier(end))
            end.continueHandshake()
        }
        if !due.isEmpty { return source?.signal() ?? () }
        source?.invalidate()
        source = nil
    }
}
