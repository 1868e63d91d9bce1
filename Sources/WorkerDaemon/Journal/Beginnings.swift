// Attempts that have begun and of which the store is told only if they last. Most jobs end before that
// would be written, and then their end says it all. A crash of the process loses nothing of it: the
// attempt log has it already.

internal import Jobs
internal import Structures

/// The beginnings that are not in the store.
///
/// Confined to the journal's thread.
struct Beginnings {
    private struct Noted {
        let id: JobID
        let round: Int
    }

    /// How many are noted before the first is due: with their ends, half of what the attempt log
    /// remembers.
    private static let countMax = 4_096

    private var attempts = JobTable<Attempt>()
    /// All that were noted, in their order, and maybe forgotten since.
    private var noted = FIFO<Noted>()
    private var round = 0

    var isEmpty: Bool { attempts.isEmpty }

    /// An attempt has begun.
    mutating func note(_ id: JobID, _ attempt: Attempt) {
        attempts[id] = attempt
        noted.append(Noted(id: id, round: round))
    }

    /// The store is told otherwise what has become of a job.
    mutating func forget(_ id: JobID) { attempts.removeValue(forKey: id) }

    /// Some time has passed: what was noted before the last such moment is due.
    mutating func nextRound() { round += 1 }

    /// Takes out those that have lasted.
    mutating func takeDue() -> [JournalCommand] {
        var due: [JournalCommand] = []
        while let first = noted.first,
            first.round + 1 < round || noted.count > Self.countMax || attempts[first.id] == nil
        {
            _ = noted.popFirst()
            if let attempt = attempts.removeValue(forKey: first.id) {
                due.append(.start(first.id, attempt))
            }
        }
        return due
    }

    /// Takes out all.
    mutating func takeAll() -> [JournalCommand] {
        var all: [JournalCommand] = []
        while let first = noted.popFirst() {
            if let attempt = attempts.removeValue(forKey: first.id) {
                all.append(.start(first.id, attempt))
            }
        }
        return all
    }
}
