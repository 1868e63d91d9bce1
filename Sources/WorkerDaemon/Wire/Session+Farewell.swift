// The end of a session in order, when the daemon goes down.

extension Session {
    /// Reads in one go at the end; a client may send without a pause.
    private static let lastReadCountMax = 16

    /// Executes the commands that have arrived, and closes the connection once they are answered.
    ///
    /// - Parameter awaitsFirst: whether a client that has sent nothing yet may send its first
    ///   command: it came in a moment ago, and would have been the next daemon's.
    func takeLeave(awaitsFirst: Bool) {
        for _ in 0..<Self.lastReadCountMax {
            guard isOpen, !isHeldBack, receive() else { break }
        }
        if commandCount > 0 || !awaitsFirst { closeWhenAnswered() }
    }
}
