// Sends the answers of a pass at its end, all together: one block of the loop for all sessions,
// however many have answers.

internal import RunLoops

/// The sessions of a loop that have something to send when its pass ends.
///
/// Confined to its loop's thread.
final class OutputRound {
    private let loop: ThreadRunLoop
    private var sessions: [Session] = []

    init(on loop: ThreadRunLoop) { self.loop = loop }

    /// Lets a session send soon; it is told once for each time that it is added.
    func add(_ session: Session) {
        sessions.append(session)
        guard sessions.count == 1 else { return }
        let round = Confined(self, to: loop)
        loop.perform { round.value.run() }
    }

    private func run() {
        // A session that sends may execute further commands and answer others: in the next round.
        var due: [Session] = []
        swap(&due, &sessions)
        for session in due { session.flushInTurn() }
        due.removeAll(keepingCapacity: true)
        // For its memory.
        if sessions.isEmpty { swap(&due, &sessions) }
    }
}
