// The pushes of a session: messages that no command asked for, between two replies. A client that
// does not read delays them.

internal import RESP

extension Session {
    /// The unsent bytes from which on pushes wait.
    private static let pushByteCountMax = 64 << 10

    /// How many pushes wait, about subjects that count, until the client has read.
    func latestPushCount(where counts: (UInt64) -> Bool) -> Int {
        latestPushes.count(where: counts)
    }

    /// Drops the waiting pushes about these subjects.
    func dropPushes(about subjects: Set<UInt64>) { latestPushes.remove(about: subjects) }

    /// Drops all waiting pushes.
    func dropPushes() { latestPushes.removeAll() }

    /// Sends the client a message that no command asked for, between two replies.
    ///
    /// - Parameter subject: while the client does not read, a later push takes an earlier one's
    ///   place.
    func push(_ value: RESPValue, about subject: UInt64) {
        guard socket != nil else { return }
        if latestPushes.isEmpty, output.byteCount < Self.pushByteCountMax {
            write(push: value)
        } else {
            latestPushes.put(value, about: subject)
        }
        scheduleFlush()
    }

    /// Only version 3 has pushes: replies that are outstanding may be of the other one.
    func write(push: RESPValue) { write(push, by: ReplyWriter(version: .three)) }

    /// - Returns: whether there was anything to tell.
    func writeLatestPushes() -> Bool {
        guard !latestPushes.isEmpty else { return false }
        while output.byteCount < Self.pushByteCountMax, let push = latestPushes.popFirst() {
            write(push: push)
        }
        return true
    }
}
