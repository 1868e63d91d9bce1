// The version of the protocol in which each reply of a session is written. A change holds for the
// replies to the commands behind it; earlier ones may still be outstanding.

internal import RESP

/// The versions of a session's replies.
struct ReplyVersions {
    /// The version of the replies to commands that come from now on.
    private(set) var latest = ProtocolVersion.two
    /// Writes the reply of the first place that has none.
    private(set) var writer = ReplyWriter(version: .two)
    /// Changes behind outstanding replies, by the numbers of the first places for which they hold.
    private var changes: [UInt64: ProtocolVersion] = [:]

    /// Changes the version.
    ///
    /// - Parameters:
    ///   - place: the first one whose reply is written in the new version.
    ///   - first: the first place that has no reply.
    mutating func change(to version: ProtocolVersion, from place: UInt64, first: UInt64) {
        latest = version
        if place == first { writer.version = version } else { changes[place] = version }
    }

    /// Notes that all places before this one have their replies.
    mutating func begin(_ place: UInt64) {
        if !changes.isEmpty, let version = changes.removeValue(forKey: place) {
            writer.version = version
        }
    }

    /// The writer of a later place's reply.
    func writer(of place: UInt64) -> ReplyWriter {
        let last = changes.keys.filter { $0 <= place }.max()
        return last.flatMap { changes[$0] }.map { ReplyWriter(version: $0) } ?? writer
    }
}
