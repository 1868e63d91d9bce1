// Attempts that have begun, of which the store learns only if they last. Most jobs end before their
// beginning would be written, and then the record of their end is enough. A crash of the process
// loses nothing: the attempt log has the beginning already.

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

    /// The number of beginnings before the first is due: a third of the attempts that the attempt
    /// log may have alone.
    private static let countMax = AttemptBacklog.countMax / 3

    /// Attempts in their order; the first one is not over.
    private var noted = FIFO<Noted>()
    /// The number of ended attempts by job, of those behind the first.
    ///
    /// Most attempts end in their order, so that there are none.
    private var over: [JobID: Int] = [:]
    /// The attempts that were due, until they are over.
    private var taken: [JobID: Int] = [:]
    private var round = 0

    var isEmpty: Bool { noted.isEmpty }

    /// How many there are at most.
    var count: Int { noted.count }

    /// Adds an attempt that has begun.
    mutating func note(_ id: JobID, _ attempt: Attempt) {
        noted.append(Noted(id: id, attempt: attempt, round: round))
    }

    /// Removes an attempt whose fate the store learns otherwise.
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
        // Every other ended attempt was never added.
        if noted.isEmpty { over = [:] }
    }

    /// Begins a new round: the attempts of the rounds before the last are due.
    mutating func nextRound() { round += 1 }

    /// Removes the attempts that have lasted, and returns their records.
    mutating func takeDue() -> [StoreCommand] {
        var due: [StoreCommand] = []
        while let first = noted.first, first.round + 1 < round || noted.count > Self.countMax {
            takeFirst(into: &due)
        }
        return due
    }

    /// Removes all attempts, and returns their records.
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
