// Slows down clients that guess the password, without a thread that waits.

internal import Kernel
internal import RESP
internal import RunLoops

/// Lets guesses through one after another, and later after each wrong one.
///
/// Confined to its loop's thread.
final class PasswordGate {
    private let loop: ThreadRunLoop
    private var book = GuessBook()
    /// Sessions whose guess has waited for its turn.
    private var due: Set<UInt64> = []
    private let warning: RareWarning

    /// A person's slips fit in; a program that guesses has to connect anew.
    private static let wrongCountMax = 5

    init(on loop: ThreadRunLoop, _ log: Log) {
        self.loop = loop
        warning = RareWarning(on: loop, log) { count, peer in
            count == 1
                ? "a wrong password from \(peer)"
                : "\(count) wrong passwords within a minute, the last from \(peer)"
        }
    }

    /// Whether a command with a password has to wait; it is executed again in its turn.
    ///
    /// - Throws: as the function below.
    func postpones(
        _ command: Command, of session: Session, _ service: Service
    ) throws(WireError) -> Bool {
        try postpones(session, service) { [unowned service] session in
            service.execute(command, for: session)
        }
    }

    /// Whether a guess has to wait; it is made again in its turn.
    ///
    /// The session is not read meanwhile.
    ///
    /// - Throws: when too many guesses of its address wait; the session closes.
    func postpones(
        _ session: Session, _ service: Service, again: @escaping (Session) -> Void
    ) throws(WireError) -> Bool {
        if due.remove(session.number) != nil { return false }
        switch book.takeTurn(of: session.ends.network, now: loop.now) {
        case .now: return false
        case .never:
            session.closeWhenAnswered()
            throw WireError(.err, "too many wrong passwords from this address; try again later")
        case .later(let turn):
            session.pauses.insert(.gate)
            let number = session.number
            let waiting = Confined((gate: self, service: service, again: again), to: loop)
            let timer = ThreadRunLoop.Timer(at: turn) { _ in
                let (gate, service, again) = waiting.value
                guard let session = service.sessions[number] else { return }
                gate.due.insert(number)
                session.pauses.remove(.gate)
                again(session)
                gate.due.remove(number)
                session.goOn()
            }
            loop.add(timer)
            return true
        }
    }

    /// Compares in a time that depends on the guess's length only.
    static func isEqual(_ guess: [UInt8], _ secret: [UInt8]) -> Bool {
        var difference = guess.count ^ secret.count
        for (index, byte) in guess.enumerated() {
            difference |= Int(byte ^ secret[index % max(1, secret.count)])
        }
        return difference == 0 && !secret.isEmpty
    }

    /// Remembers and logs a wrong guess; closes the connection after a few.
    func guessedWrong(_ session: Session) {
        book.guessedWrong(session.ends.network, now: loop.now)
        warning.happened(from: session.ends.client)
        session.wrongPasswordCount += 1
        if session.wrongPasswordCount >= Self.wrongCountMax { session.closeWhenAnswered() }
    }
}
