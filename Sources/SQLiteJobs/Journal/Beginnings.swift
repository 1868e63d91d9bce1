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
        let attempt: Attempt
        let round: Int
    }

    /// How many are noted before the first is due: with their ends, half of what the attempt log
    /// remembers.
    private static let countMax = 4_096

    /// Attempts in their order, of which the first one is not over.
    private var noted = FIFO<Noted>()
    /// Those behind the first that are over, and how many attempts of each: most end in their order, so
    /// that there are none.
    private var over = JobTable<Int>()
    /// Those that were due, until they are over.
    private var taken = JobTable<Int>()
    private var round = 0

    var isEmpty: Bool { noted.isEmpty }

    /// An attempt has begun.
    mutating func note(_ id: JobID, _ attempt: Attempt) {
        noted.append(Noted(id: id, attempt: attempt, round: round))
    }

    /// The store is told otherwise what has become of an attempt.
    mutating func forget(_ id: JobID) {
        if noted.first?.id == id {
            _ = noted.popFirst()
            forgetThoseOver()
        } else if let count = taken[id] {
            taken[id] = count > 1 ? count - 1 : nil
        } else if !noted.isEmpty {
            over[id] = (over[id] ?? 0) + 1
        }
    }

    private mutating func forgetThoseOver() {
        guard !over.isEmpty else { return }
        while let first = noted.first, let count = over[first.id] {
            over[first.id] = count > 1 ? count - 1 : nil
            _ = noted.popFirst()
        }
        // Whatever else was told to be over was never noted.
        if noted.isEmpty { over = JobTable() }
    }

    /// Some time has passed: what was noted before the last such moment is due.
    mutating func nextRound() { round += 1 }

    /// Takes out those that have lasted.
    mutating func takeDue() -> [StoreCommand] {
        var due: [StoreCommand] = []
        while let first = noted.first, first.round + 1 < round || noted.count > Self.countMax {
            takeFirst(into: &due)
        }
        return due
    }

    /// Takes out all.
    mutating func takeAll() -> [StoreCommand] {
        var all: [StoreCommand] = []
        while !noted.isEmpty { takeFirst(into: &all) }
        return all
    }

    private mutating func takeFirst(into begun: inout [StoreCommand]) {
        guard let first = noted.popFirst() else { return }
        taken[first.id] = (taken[first.id] ?? 0) + 1
        begun.append(.start(first.id, first.attempt))
        forgetThoseOver()
    }
}
