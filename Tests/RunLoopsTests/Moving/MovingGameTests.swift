// Random lives of several loops: whatever is added to them, taken out, moved from one to another,
// signalled and made invalid, from outside and by callouts, the promises of the documentation are
// kept.

import RunLoops
import Support
import Testing

@Suite struct `Random lives of loops` {
    /// As `Scripts/lives` says, or enough for a test.
    private static let seeds: Range<Int> = {
        let first = askedNumber("LOOP_LIVES_SEED") ?? 1
        return first..<first + (askedNumber("LOOP_LIVES") ?? 150)
    }()

    @Test(.timeLimit(.minutes(20)), arguments: 1...3, [true, false])
    func `loops and their items keep their promises in any life`(
        loopCount: Int, isCalm: Bool
    ) {
        for seed in Self.seeds {
            var random = SeededRandom(seed: UInt64(seed))
            let program = Move.program(&random)
            let faults = Self.faults(of: program, loopCount: loopCount, isCalm: isCalm)
            if faults.isEmpty { continue }
            // A fault between threads shows once in a while only.
            let shortest = Move.shrink(program) { shorter in
                (0..<20).contains { _ in
                    !Self.faults(of: shorter, loopCount: loopCount, isCalm: isCalm).isEmpty
                }
            }
            Issue.record("seed \(seed): \(faults)\n\(shortest)")
            return
        }
    }

    private static func faults(of program: [Move], loopCount: Int, isCalm: Bool) -> [String] {
        do {
            return try MovingGame.play(program, loopCount: loopCount, isCalm: isCalm)
        } catch {
            return ["\(error)"]
        }
    }
}
