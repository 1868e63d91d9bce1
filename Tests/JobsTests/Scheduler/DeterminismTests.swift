// The scheduler is a function of its inputs: the same ones, at the same times, have the same
// effects.

import Jobs
import Testing

@Suite struct `The scheduler's effects` {
    @Test(arguments: SchedulerSimulation.Store.allCases)
    func `follow from its inputs`(store: SchedulerSimulation.Store) throws {
        for seed in 100..<105 as Range<UInt64> {
            let (first, second) = (
                SchedulerSimulation(seed: seed, store), SchedulerSimulation(seed: seed, store)
            )
            try first.run(200)
            try second.run(200)
            let difference = zip(first.steps, second.steps).first { $0 != $1 }
            #expect(difference == nil, "seed \(seed)")
        }
    }
}
