// The handler of a simulation: a job that begins is told here, and runs until it is said how it
// ends.

import Kernel
import Synchronization
import WorkerDaemon

/// Where the jobs of a simulation run.
///
/// - Thread: any thread.
final class Stage: Sendable {
    /// How a job ends.
    enum End: Equatable {
        /// With so many bytes.
        case done(byteCount: Int)
        case failed
        /// Because it was asked to.
        case interrupted
    }

    /// A job that has begun.
    struct Entry: Sendable {
        /// The client's name for it, in the payload.
        let token: Int
        let id: UInt64
        let attempt: Int
        let thread: String
    }

    private final class Player: Sendable {
        let isOver = Latch()
        let end = Mutex(End.interrupted)
    }

    private struct State {
        var entries: [Entry] = []
        var players: [Int: (player: Player, thread: String)] = [:]
        var isClosed = false
    }

    private let state = Mutex(State())

    /// Runs a job.
    ///
    /// - Blocks: until `end` is called for it.
    func play(_ job: JobContext, on thread: String) throws -> String {
        guard let token = Int(job.text) else { throw JobFailure("'\(job.text)' is no token") }
        let player = Player()
        let isClosed = state.withLock { state in
            guard !state.isClosed else { return true }
            state.entries.append(
                Entry(token: token, id: job.id, attempt: job.attempt, thread: thread))
            state.players[token] = (player, thread)
            return false
        }
        if isClosed { throw CancellationError() }
        player.isOver.wait()
        switch player.end.withLock({ $0 }) {
        case .done(let byteCount): return String(repeating: "r", count: byteCount)
        case .failed: throw JobFailure("it was to fail")
        case .interrupted: throw CancellationError()
        }
    }

    /// Lets a job that runs end.
    func end(_ token: Int, _ end: End) {
        guard let player = state.withLock({ $0.players.removeValue(forKey: token)?.player })
        else { return }
        player.end.withLock { $0 = end }
        player.isOver.open()
    }

    /// The jobs that have begun since this was called last, in the sequence in which they did.
    func takeEntries() -> [Entry] {
        state.withLock { state in
            defer { state.entries.removeAll() }
            return state.entries
        }
    }

    /// Whether a job runs on a thread and waits for its end.
    func isPlaying(on thread: String) -> Bool {
        state.withLock { $0.players.values.contains { $0.thread == thread } }
    }

    /// Whether a job runs on one of some threads.
    func isPlaying(onOneOf isMeant: (String) -> Bool) -> Bool {
        state.withLock { $0.players.values.contains { isMeant($0.thread) } }
    }

    /// Ends all that run, and lets nothing begin, until `open`.
    func close() {
        let tokens = state.withLock { state in
            state.isClosed = true
            return Array(state.players.keys)
        }
        for token in tokens { end(token, .interrupted) }
    }

    /// Lets jobs begin again; forgets what was told before.
    func open() {
        state.withLock { state in
            state.isClosed = false
            state.entries.removeAll()
        }
    }
}
