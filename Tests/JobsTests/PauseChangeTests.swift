// Two changes of pauses as one: it does the same as both.

import Jobs
import Support
import Testing

@Suite struct `Changes of pauses` {
    private static let names = ["mail", "mail/1", "mail/2", "images", "images/1", "post"]

    private static func apply(_ change: PauseChange, to paused: Set<String>) -> Set<String> {
        let left = paused.filter { name in
            let isOfPool = change.poolGoingOn.map { name == $0 || name.hasPrefix("\($0)/") }
            return !change.goingOn.contains(name) && isOfPool != true
        }
        return left.union(change.paused)
    }

    private static func change(_ random: inout SeededRandom) -> PauseChange {
        let name = names[random.below(names.count)]
        return switch random.below(3) {
        case 0: PauseChange(paused: [name])
        case 1: PauseChange(paused: [], goingOn: [name])
        default: PauseChange(paused: [], poolGoingOn: random.chance(50) ? "mail" : "images")
        }
    }

    @Test func `merged do the same as one after another, and do not grow`() {
        var random = SeededRandom(seed: 5)
        for _ in 0..<200 {
            let before = Set(Self.names.filter { _ in random.chance(50) })
            var merged = PauseChange(paused: [])
            var expected = before
            for _ in 0..<40 {
                let next = Self.change(&random)
                guard let both = merged.followed(by: next) else { continue }
                merged = both
                expected = Self.apply(next, to: expected)
                #expect(Self.apply(merged, to: before) == expected)
            }
            #expect(merged.paused.count <= Self.names.count)
            #expect(merged.goingOn.count <= Self.names.count)
        }
    }
}
