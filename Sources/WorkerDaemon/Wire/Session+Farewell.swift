// The end of a session in order: when its client is done with, or the daemon goes down.

extension Session {
    /// Takes nothing more from the client; closes once all that it asked before is answered and
    /// out.
    func closeWhenAnswered() {
        hasInputEnded = true
        scheduleFlush()
    }

    /// Closes the connection once everything that was answered is out.
    func closeWhenSent() {
        closesWhenSent = true
        scheduleFlush()
    }

    /// Sends the answers that are here, and closes the connection; executes nothing more.
    func breakOff(_ reason: String) {
        hasInputEnded = true
        goOn()
        close(reason)
    }

    /// Reads in one go at the end; a client may send without a pause.
    private static let lastReadCountMax = 16

    /// Executes the commands that have arrived, and closes the connection once they are answered.
    ///
    /// - Parameter awaitsFirst: whether a client that has sent nothing yet may send its first
    ///   command: it came in a moment ago, and would have been the next daemon's.
    func takeLeave(awaitsFirst: Bool) {
        for _ in 0..<Self.lastReadCountMax {
            guard isOpen, !isThrottled, skipMark(), receive() else { break }
        }
        if commandCount > 0 || !awaitsFirst { closeWhenAnswered() }
    }
}
