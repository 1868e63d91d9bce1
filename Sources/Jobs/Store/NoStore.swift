// The store of `store: memory`: nothing is kept. It answers like an empty store, so that every
// request takes the same path with a store and without.

internal import Synchronization

/// A store that keeps nothing.
package final class NoStore: JobStore {
    private struct State {
        var questions: [StoreAnswer] = []
        var answer: (@Sendable ([StoreAnswer]) -> Void)?
    }

    private let state = Mutex(State())

    package init() {}

    package var name: String { "memory" }
    package var kind: StoreKind { .memory }

    package func add(_ command: consuming StoreCommand) {
        let command = command
        state.withLock { state in
            if case .answer(let to) = command {
                state.answer = to
            } else if let answer = Self.answer(to: command) {
                state.questions.append(answer)
            }
        }
    }

    package func fire() {
        let (answers, tell) = state.withLock { state in
            defer { state.questions = [] }
            return (state.questions, state.answer)
        }
        if !answers.isEmpty { tell?(answers) }
    }

    package func record(_ command: consuming StoreCommand) {}

    package func noteStart(_ id: UInt64, _ attempt: Attempt) {}

    package func noteDone(_ id: UInt64, attempt: Int, result: [UInt8]) -> Bool { true }

    package func noteHolder(_ id: UInt64, attempt: Int, _ holder: JobHolder?) {}

    package func backup(
        _ name: String, in directory: String?, replaces: Bool
    ) throws(BackupError) -> any StoreBackup {
        throw BackupError(
            .invalid,
            "jobs are in memory only, so there is nothing to back up: set store to keep them in a "
                + "file")
    }

    package func close(nextNumber: UInt64) {
        state.withLock { $0.answer = nil }
    }

    /// The answers of a store without jobs.
    private static func answer(to command: StoreCommand) -> StoreAnswer? {
        switch command {
        case .confirm(let ticket), .keepSchedule(_, let ticket),
            .dropSchedule(_, _, let ticket), .keepDue(_, let ticket), .move(_, let ticket):
            .confirmed(ticket: ticket, nil)
        case .settle(_, _, _, let ticket): .settled(ticket: ticket, .success(FailedJobsAnswer()))
        case .fire(let part, let ticket):
            .fired(ticket: ticket, part, .success(BufferRelease()))
        case .cancel(_, _, let ticket): .cancelled(ticket: ticket, .success([:]))
        case .cancelPart(_, let ticket):
            .cancelledPart(ticket: ticket, .success(BulkCancelAnswer()))
        case .load(let queue, _, _): .loaded(queue, .success(JobBatch()))
        case .loadDelayed(let queue, let place, _, _):
            .loadedDelayed(queue, after: place, .success(JobBatch()))
        case .find(_, let ticket): .found(ticket: ticket, .success(nil))
        case .findPayload(_, let ticket): .payload(ticket: ticket, .success(nil))
        case .findExpired(_, _, _, let ticket):
            .expiring(ticket: ticket, .success(ExpiringJobs()))
        case .findNamed(_, let ticket): .named(ticket: ticket, .success(nil))
        case .claim(_, let ticket): .claimed(ticket: ticket, .success(ClaimedJobs()))
        case .list(let listing, let ticket):
            .listed(ticket: ticket, .success(ListedJobs(searched: listing.span.end)))
        case .accept, .acceptOnce, .run, .pause, .askToEnd, .begun, .start, .hold, .end, .putBack,
            .retry,
            .reserve, .release, .answer, .limit, .serve, .settleSubmitted:
            nil
        }
    }
}
