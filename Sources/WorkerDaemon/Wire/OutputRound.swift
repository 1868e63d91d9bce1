// The common part of the sessions of a loop. The answers of a pass are sent at its end: one
// block of the loop for all sessions, however many have answers. And they read into the same
// memory, one after another: an idle connection has none.

internal import RunLoops

/// The sessions of a loop that have something to send when its pass ends.
///
/// Confined to its loop's thread.
final class OutputRound {
    private let loop: ThreadRunLoop
    /// Memory for the input of the session that reads next.
    var spareInput: [UInt8] {
        _read { yield unsafe uncheckedSpareInput }
        _modify { yield unsafe &uncheckedSpareInput }
    }
    private var sessions: [Session] {
        _read { yield unsafe uncheckedSessions }
        _modify { yield unsafe &uncheckedSessions }
    }
    // SAFETY: confined to the loop's thread; a change of one calls nothing that looks at it. Each
    // command looks at both.
    @exclusivity(unchecked) private var uncheckedSpareInput: [UInt8] = []
    @exclusivity(unchecked) private var uncheckedSessions: [Session] = []
    /// Whether a client that waits for answers is not to ask for more: too many bytes await their
    /// commit.
    var throttlesClients = false

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
