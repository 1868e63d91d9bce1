// Our run loop against CoreFoundation's: random programs, played on both, must be seen to do the
// same. `Scripts/referee` runs as many as one likes.

import Foundation
import RunLoops
import RunLoopsTesting
import Testing

/// Plays a program on both machines, again if they differ: the kernel may have kept one of them
/// from running for longer than a brief run lasts.
private func compare(_ program: Program) throws -> Comparison {
    for _ in 0..<3 {
        let comparison = try compareOnce(program)
        if comparison.difference == nil { return comparison }
    }
    return try compareOnce(program)
}

/// Plays a program on both machines, each on a thread of its own.
private func compareOnce(_ program: Program) throws -> Comparison {
    let ours = try onNewThread { Player.play(program, on: OurMachine.self) }
    let theirs = try onNewThread { Player.play(program, on: CoreFoundationMachine.self) }
    return Comparison(ours: ours, theirs: theirs)
}

private func number(_ variable: String) -> UInt64? {
    ProcessInfo.processInfo.environment[variable].flatMap { UInt64($0) }
}

/// How far programs were compared.
private struct Tally {
    var programs = 0
    var toTheEnd = 0
    var words = 0
    var rules: [Rule: Int] = [:]

    mutating func add(_ comparison: Comparison) {
        programs += 1
        words += comparison.ours.count
        if let rule = comparison.rule { rules[rule, default: 0] += 1 } else { toTheEnd += 1 }
    }
}

/// Plays programs of consecutive seeds until one shows a difference, and makes that one short.
private func referee(_ count: Int, from seed: UInt64) throws -> Tally {
    var tally = Tally()
    for seed in seed..<(seed + UInt64(count)) {
        var generator = Generator(seed: seed)
        let program = generator.program()
        let comparison = try compare(program)
        tally.add(comparison)
        if comparison.difference == nil { continue }
        let short = try Shrinker.shrink(program) { try compare($0).difference != nil }
        let report = try compare(short).report
        Issue.record("seed \(seed): the loops differ on\n\(short)\n\(report)")
        return tally
    }
    return tally
}

@Suite(.serialized) struct `Our loop and CoreFoundation's` {
    @Test(.timeLimit(.minutes(60)))
    func `do the same for random programs`() throws {
        let asked = number("REFEREE_PROGRAMS")
        let count = Int(asked ?? 500)
        let fresh = UInt64.random(in: 0..<1 << 40)
        let tally: Tally
        // The same programs each time, unless it is the search for new ones that was asked for.
        if let seed = number("REFEREE_SEED") ?? (asked == nil ? 1 : nil) {
            tally = try referee(count, from: seed)
        } else {
            print("referee: fresh seed \(fresh)")
            _ = try referee(count / 2, from: fresh)
            tally = try referee(count - count / 2, from: 1)
        }
        print(
            "referee: \(tally.programs) programs, \(tally.words) words,",
            "\(tally.toTheEnd) compared to the end, rules \(tally.rules)")
        // A handful may all be of the kind that a rule cuts short.
        guard tally.programs >= 100 else { return }
        #expect(tally.toTheEnd * 2 > tally.programs, "the rules leave too little to compare")
    }
}
