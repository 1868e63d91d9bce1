// Jobs that wait for another attempt, and whose last one is not in the database yet. A daemon that
// takes over counts one attempt for each job that may have begun, so no further one may begin
// before the database has the last one.

internal import Jobs
internal import Synchronization

/// The jobs whose last attempt is not committed.
///
/// - Thread: any.
final class UncommittedAttempts: Sendable {
    /// For each job, how many of its records are on their way.
    private let counts = Mutex<[UInt64: Int]>([:])

    /// Notes a command that is about to be given to the journal.
    func note(_ command: borrowing StoreCommand) {
        switch command {
        case .retry(let id, _, _), .putBack(let id, _, _, _):
            counts.withLock { $0[id.number, default: 0] += 1 }
        default: break
        }
    }

    /// The records of these attempts are committed; an id stands for each record.
    func committed(_ ids: [JobID]) {
        guard !ids.isEmpty else { return }
        counts.withLock { counts in
            for id in ids {
                let left = (counts[id.number] ?? 0) - 1
                counts[id.number] = left > 0 ? left : nil
            }
        }
    }

    /// Whether the last attempt of a job is not committed.
    func includes(_ id: UInt64) -> Bool { counts.withLock { $0[id] != nil } }
}
