// The pushes of a session: messages that no command asked for, between two replies. A client that
// does not read holds them back.

internal import RESP

extension Session {
    /// The unsent bytes from which on pushes are held back.
    private static let pushByteCountMax = 64 << 10

    /// How many pushes are held back, about subjects that count, until the client has read.
    func heldPushCount(where counts: (UInt64) -> Bool) -> Int { heldPushes.count(where: counts) }

    /// Drops the held pushes about these subjects.
    func dropPushes(about subjects: Set<UInt64>) { heldPushes.remove(about: subjects) }

    /// Drops all held pushes.
    func dropPushes() { heldPushes.removeAll() }

    /// Sends the client a message that no command asked for, between two replies.
    ///
    /// - Parameter subject: while the client does not read, a later push takes an earlier one's
    ///   place.
    func push(_ value: RESPValue, about subject: UInt64) {
        guard socket != nil else { return }
        if heldPushes.isEmpty, output.byteCount < Self.pushByteCountMax {
            write(value)
        } else {
            heldPushes.hold(value, about: subject)
        }
        scheduleFlush()
    }

    /// - Returns: whether there was anything to tell.
    func writeHeldPushes() -> Bool {
        guard !heldPushes.isEmpty else { return false }
        while output.byteCount < Self.pushByteCountMax, let push = heldPushes.popFirst() {
            write(push)
        }
        return true
    }
}
