// Our run loop against CoreFoundation's: random programs, played on both, must be seen to do the
// same. `Scripts/referee` runs as many as one likes.

import RunLoops
import RunLoopsTesting
import Support
import Testing

/// How far programs were compared.
private struct Tally {
    var programs = 0
    var toTheEnd = 0
    var words = 0
    var plays = 0
    var differences = 0
    /// Timers that our loop plays as time-outs.
    var timeouts = 0
    var rules: [Rule: Int] = [:]
    /// Counts of observed events of ports, timers and the like, by the last words.
    var observed: [String: Int] = [:]

    mutating func add(_ comparison: Comparison) {
        programs += 1
        plays += comparison.plays
        words += comparison.comparedWords.count
        for word in comparison.comparedWords {
            guard let kind = word.split(separator: " ").last else { continue }
            observed[String(kind), default: 0] += 1
        }
        if let rule = comparison.rule { rules[rule, default: 0] += 1 } else { toTheEnd += 1 }
    }

    func count(_ word: String) -> Int { observed[word, default: 0] }

    var description: String {
        let cut = rules.sorted { $0.value > $1.value }.map { "\($0.key.rawValue) \($0.value)" }
        return """
            referee: \(programs) programs, \(plays) plays of each, \(words) words compared, of \
            them \(count("handled")) ports handled, \(count("fires")) timers, \(count("performs")) \
            sources, \(count("runs")) blocks; \(timeouts) timers were time-outs of ours
            referee: \(toTheEnd) compared to the end, others up to a rule: \
            \(cut.joined(separator: ", "))
            """
    }
}

/// Plays programs of consecutive seeds; of each that shows a difference it tells the seed, whether
/// it is one each time, and what the program is when made short.
///
/// - Returns: how far they were compared, when all are played or too many differ.
private func referee(_ count: Int, from seed: UInt64) throws -> Tally {
    var tally = Tally()
    for seed in seed..<(seed + UInt64(count)) {
        var generator = Generator(seed: seed)
        let program = generator.program()
        let comparison = try Comparison.of(program)
        tally.add(comparison)
        tally.timeouts += program.timeoutCount
        if comparison.difference == nil { continue }
        // Of a mutant it is enough to know that it differs.
        if askedNumber("REFEREE_ENOUGH") != nil {
            Issue.record("seed \(seed): the loops differ\n\(comparison.report)")
            break
        }
        try tell(seed, program, comparison)
        tally.differences += 1
        // A fault of the loop shows in many programs; a few say enough.
        if tally.differences >= 5 { break }
    }
    return tally
}

/// Records a difference, with all that is needed to look into it.
private func tell(_ seed: UInt64, _ program: Program, _ comparison: Comparison) throws {
    let rounds = 5
    var again = 0
    for _ in 0..<rounds where try Comparison.of(program).difference != nil { again += 1 }
    var short = program
    var shown = comparison
    if again == rounds {
        short = try Shrinker.shrink(program) { try Comparison.of($0).difference != nil }
        let last = try Comparison.of(short)
        if last.difference != nil { shown = last }
    }
    let kind = again == rounds ? "a real difference" : "the moment has a part in it"
    Issue.record(
        """
        seed \(seed): the loops differ, and again in \(again) of \(rounds) plays: \(kind)
        alone: Scripts/referee 1 \(seed)
        \(short)
        \(shown.report)
        """)
}

@Suite(.serialized) struct `Our loop and CoreFoundation's` {
    @Test(.timeLimit(.minutes(60)))
    func `do the same for random programs`() throws {
        let asked = askedNumber("REFEREE_PROGRAMS")
        let count = asked ?? 500
        let fresh = UInt64.random(in: 0..<1 << 40)
        // The same programs each time, unless it is the search for new ones that was asked for.
        if let seed = askedNumber("REFEREE_SEED") ?? (asked == nil ? 1 : nil) {
            try check(referee(count, from: UInt64(seed)), of: "seeds from \(seed)")
        } else {
            try check(referee(count / 2, from: fresh), of: "fresh seeds from \(fresh)")
            try check(referee(count - count / 2, from: 1), of: "seeds from 1")
        }
    }

    private func check(_ tally: Tally, of seeds: String) {
        print("referee: \(seeds)")
        print(tally.description)
        // A handful may all be of the kind that a rule cuts short.
        guard tally.programs >= 100, askedNumber("REFEREE_ENOUGH") == nil else { return }
        #expect(tally.timeouts > 0, "no timer was played as a time-out")
        #expect(tally.toTheEnd * 2 > tally.programs, "the rules leave too little to compare")
    }
}
