// Attempts that the attempt log has and the store has yet to learn. The log is a ring: without a
// limit, they would be overwritten while the store can't write, and a crash would make jobs that
// have ended run again as if they had never begun.

internal import Synchronization

/// Counts the entries of the attempt log that only the log has.
///
/// - Thread: any thread notes entries and asks; the journal's says which are learnt.
final class AttemptBacklog: Sendable {
    /// The most attempts, and changes of their holders, of which the store knows nothing.
    ///
    /// An attempt has an entry for its beginning and one for its end: so a quarter of the ring is
    /// left for the ends of longer attempts, one for each thread, and for attempts that begin while
    /// the limit is reached.
    static let countMax = AttemptLog.count * 3 / 8

    private let noted = Atomic<Int>(0)
    private let learnt = Atomic<Int>(0)

    /// Whether another attempt may begin.
    ///
    /// Wait-free.
    var hasRoom: Bool {
        noted.load(ordering: .relaxed) - learnt.load(ordering: .relaxed) < Self.countMax
    }

    /// Counts an entry; the journal hears of it later.
    func note() { noted.add(1, ordering: .relaxed) }

    /// Says how many of all entries the store has learnt.
    func learn(_ count: Int) { learnt.store(count, ordering: .relaxed) }
}
