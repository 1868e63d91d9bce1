// Random inputs to the scheduler itself, with every store, and with a model beside it: no thread,
// no file, no clock. Thousands of histories a second in an optimised build
// (`Scripts/simulate --scheduler`).

import Jobs
import Kernel
import Support
import Testing

@Suite struct `The scheduler in random histories` {
    private static let count =
        Program.inheritedEnvironment()["SCHEDULER_HISTORIES"]
        .flatMap { Int($0) } ?? 30
    private static let firstSeed =
        Program.inheritedEnvironment()["SCHEDULER_SEED"]
        .flatMap { UInt64($0) } ?? 1

    @Test(.timeLimit(.minutes(60)), arguments: SchedulerSimulation.Store.allCases)
    func `keeps its promises`(store: SchedulerSimulation.Store) throws {
        var counts: [String: Int] = [:]
        for seed in Self.firstSeed..<(Self.firstSeed + UInt64(Self.count)) {
            let simulation = SchedulerSimulation(seed: seed, store)
            do {
                try simulation.run(400)
            } catch {
                throw HistoryFault("seed \(seed), \(store): \(error)")
            }
            counts.merge(simulation.counts, uniquingKeysWith: +)
        }
        // Each kind of end was met, or the histories try too little.
        for word in ["done", "failed", "retried", "cancelled", "expired", "blocked", "repeated"] {
            #expect(counts[word, default: 0] > 0, "no job was \(word)")
        }
        for word in ["opened", "closed", "removed", "resumed"] {
            #expect(counts[word, default: 0] > 0, "nothing was \(word)")
        }
        if store != .none {
            for word in [
                "crashed", "released", "shut down", "left", "held over", "given back", "vanished",
            ] {
                #expect(counts[word, default: 0] > 0)
            }
        }
        // So was each kind of change.
        let isStoring = store != .none
        for kind in JobChange.Kind.allCases {
            let isMet = counts["told \(kind.rawValue)", default: 0] > 0
            switch kind {
            // No history has these.
            case .stuck, .timedOut, .dropped: break
            case .putBack: #expect(isMet || !isStoring)
            default: #expect(isMet, "no change is told as \(kind.rawValue)")
            }
        }
        #expect(counts["missed", default: 0] > 0)
        if store == .refusing { #expect(counts["refused", default: 0] > 0) }
    }
}
