// The latest jobs that were accepted or ended in the database. If a standby is promoted that was
// behind, they tell which of them it lacks.

internal import Jobs
internal import Structures
internal import Wording

/// The latest committed changes, the oldest first.
///
/// - Thread: the journal's.
final class RecentWork {
    /// How many changes are kept at most.
    static let countMax = 20_000

    private struct Change {
        let batch: Int64
        let id: UInt64
        let isEnd: Bool
    }

    private var changes = FIFO<Change>()
    /// The changes of the open transaction.
    private var open: [(id: UInt64, isEnd: Bool)] = []
    /// The latest transaction of which a change was forgotten.
    private var forgottenThrough = Int64.min

    /// A transaction begins; the one before was committed or has changed nothing.
    func begin() { open.removeAll(keepingCapacity: true) }

    /// The open transaction accepts a job.
    func accept(_ id: JobID) { open.append((id.number, false)) }

    /// The open transaction ends a job.
    func end(_ id: JobID) { open.append((id.number, true)) }

    /// The transaction was committed.
    func commit(_ batch: Int64) {
        for change in open {
            if changes.count >= Self.countMax, let oldest = changes.popFirst() {
                forgottenThrough = oldest.batch
            }
            changes.append(Change(batch: batch, id: change.id, isEnd: change.isEnd))
        }
        open.removeAll(keepingCapacity: true)
    }

    /// The changes of all transactions behind one.
    func losses(after batch: Int64) -> LostWork {
        var lost = LostWork()
        var accepted: Set<UInt64> = []
        for change in changes where change.batch > batch {
            if !change.isEnd {
                lost.accepted.append(change.id)
                accepted.insert(change.id)
            } else if !accepted.contains(change.id) {
                lost.endCount += 1
            }
        }
        lost.isAll = forgottenThrough <= batch
        return lost
    }
}

/// Changes that clients were told of, and that a database lacks.
struct LostWork: Equatable {
    /// The numbers of accepted jobs, in the order of their acceptance.
    var accepted: [UInt64] = []
    /// The number of other jobs whose end is missing.
    var endCount = 0
    /// Whether there are no more.
    var isAll = true

    private static let shownCountMax = 5

    /// For the log.
    var description: String {
        guard !accepted.isEmpty || endCount > 0 else {
            return isAll ? "it lacks nothing" : "what it lacks is no longer known"
        }
        let bound = isAll ? "" : "at least "
        var parts: [String] = []
        if !accepted.isEmpty {
            let shown = accepted.prefix(Self.shownCountMax).map(String.init)
            let more = accepted.count > Self.shownCountMax ? ", …" : ""
            parts.append(
                bound + counted(accepted.count, "accepted job")
                    + " (\(shown.joined(separator: ", "))\(more))")
        }
        if endCount > 0 {
            let owner = endCount == 1 ? "a job, which may run" : "jobs, which may run"
            parts.append(bound + counted(endCount, "end") + " of \(owner) again")
        }
        return "it lacks " + parts.joined(separator: ", and ")
    }
}
