// Random lives of worker threads and pools: what is handed to them, and told them, in any order,
// from outside and by their own items, keeps the promises of the documentation.

import Support
import Testing
import WorkerThreads

@Suite struct `Random lives` {
    /// As `Scripts/lives` says, or enough for a test.
    private static let seeds: Range<Int> = {
        let first = askedNumber("WORKER_LIVES_SEED") ?? 1
        return first..<first + (askedNumber("WORKER_LIVES") ?? 150)
    }()

    @Test(.timeLimit(.minutes(20)), arguments: [true, false])
    func `a worker keeps its promises in any life`(isCalm: Bool) async throws {
        try await play(LifeMove.program) { try LifeGame.play($0, isCalm: isCalm) }
    }

    @Test(.timeLimit(.minutes(20)), arguments: [WhenFull.refuse, .wait, .dropOldest], 1...3)
    func `a worker that holds little keeps its promises in any life`(
        whenFull: WhenFull, limit: Int
    ) async throws {
        for isCalm in [true, false] {
            try await play(LifeMove.program) {
                try LifeGame.play(
                    $0, room: LifeRoom(limit: limit, whenFull: whenFull), isCalm: isCalm)
            }
        }
    }

    @Test(.timeLimit(.minutes(20)), arguments: 1...3, [true, false])
    func `a pool keeps its promises in any life`(memberCount: Int, isCalm: Bool) async throws {
        try await play {
            PoolMove.program(&$0, memberCount: memberCount)
        } game: {
            try PoolGame.play($0, memberCount: memberCount, isCalm: isCalm)
        }
    }

    @Test(.timeLimit(.minutes(20)), arguments: [WhenFull.refuse, .wait, .dropOldest], 1...3)
    func `a pool that holds little keeps its promises in any life`(
        whenFull: WhenFull, memberCount: Int
    ) async throws {
        for (limit, isCalm) in [(1, true), (2, false), (3, true), (3, false)] {
            let room = LifeRoom(limit: limit, whenFull: whenFull)
            try await play {
                PoolMove.program(&$0, memberCount: memberCount)
            } game: {
                try PoolGame.play($0, memberCount: memberCount, room: room, isCalm: isCalm)
            }
        }
    }

    /// Plays many programs; of the first one in which a promise is broken tells the shortest that
    /// breaks one.
    ///
    /// On a thread of its own: those that tasks share are for the tasks of the games.
    private func play<Move: GameMove>(
        _ program: @escaping @Sendable (inout SeededRandom) -> [Move],
        game: @escaping @Sendable ([Move]) throws -> [String]
    ) async throws {
        let player = try WorkerThread(name: "player")
        let failure = try await player.submit {
            try Self.firstFailure(of: program, in: game)
        }
        if let failure { Issue.record("\(failure)") }
    }

    private static func firstFailure<Move: GameMove>(
        of program: (inout SeededRandom) -> [Move], in game: ([Move]) throws -> [String]
    ) throws -> String? {
        for seed in seeds {
            var random = SeededRandom(seed: UInt64(seed))
            let program = program(&random)
            let faults = try game(program)
            if faults.isEmpty { continue }
            // A fault between two threads shows once in a while only.
            let shortest = try Move.shrink(program) { shorter in
                try (0..<20).contains { _ in try !game(shorter).isEmpty }
            }
            return "seed \(seed): \(faults)\n\(shortest)"
        }
        return nil
    }
}
