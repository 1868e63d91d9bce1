// The answer to the sender of an item, given once, and on which a game can wait.

import Glibc
import Kernel
import RunLoopsTesting
import Synchronization
import WorkerThreads

/// The outcome of an item, as its sender heard it.
enum LifeOutcome: Sendable, Equatable {
    /// It was taken; for a sender that waits for its end, it has run.
    case done
    case cancelled
    case refused(SubmitError)
    case failed

    init(_ error: any Error) {
        switch error {
        case let refusal as SubmitError: self = .refused(refusal)
        case is CancellationError: self = .cancelled
        default: self = .failed
        }
    }
}

/// Where a sender leaves what it was told.
///
/// Takes no lock but its own: it is told while the books are open.
final class LifeAnswer: Sendable {
    private let stored = Mutex<LifeOutcome?>(nil)

    /// The outcome that was told; nil as long as nothing was.
    var outcome: LifeOutcome? { stored.withLock { $0 } }

    func tell(_ outcome: LifeOutcome) { stored.withLock { $0 = outcome } }

    /// Waits until something was told, far longer than it takes.
    ///
    /// - Returns: nil when nothing was told.
    func wait() -> LifeOutcome? {
        waitUntil { outcome != nil }
        return outcome
    }
}

/// Waits until something is so, or long enough to say that it will never be.
///
/// - Returns: whether it is.
@discardableResult
func waitUntil(_ isSo: () -> Bool) -> Bool {
    let clock = SystemClock()
    let deadline = clock.now().advanced(by: .seconds(10))
    while !isSo() {
        guard clock.now() < deadline else { return false }
        SystemThread.yield()
    }
    return true
}

/// Runs what tasks do that wait for an item, once they have been suspended: the threads that tasks
/// share may all be playing.
enum LifeAudience {
    private static let worker = Result {
        // A leak checker that runs at the process's end can't see the blocks of an inbox.
        atexit { LifeAudience.end() }
        return try WorkerThread(name: "audience")
    }

    private static func end() {
        guard case .success(let worker) = worker else { return }
        worker.stop()
        worker.join()
    }

    /// Begins in place, so that the item has its turn when this returns.
    static func task(
        _ answer: LifeAnswer,
        _ submit: nonisolated(nonsending) @escaping @Sendable () async throws -> Void
    ) throws -> Task<Void, Never> {
        try Task.immediate(executorPreference: worker.get().executor) {
            do {
                try await submit()
                answer.tell(.done)
            } catch {
                answer.tell(LifeOutcome(error))
            }
        }
    }
}
