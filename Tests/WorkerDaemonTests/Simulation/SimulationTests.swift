// The daemon under random operations and crashes, compared with a plain model.

import Kernel
import RunLoopsTesting
import Support
import Testing

@Suite struct `Simulation of a daemon` {
    @Test(arguments: Self.seeds)
    func `keeps what it has promised through crashes and restarts`(seed: UInt64) throws {
        let directory = try Scratch()
        let path = directory.path
        let fault = try onNewThread { () -> String? in
            do {
                let simulation = try Simulation(seed: seed, directory: path)
                try simulation.run(Self.stepCount)
                return nil
            } catch {
                return "SIMULATION_SEED=\(seed): \(error)"
            }
        }
        #expect(fault == nil)
    }

    /// Set by `Scripts/simulate`.
    private static let chosenCount = askedNumber("SIMULATION_STEPS")
    private static let runStepCount = 5_000
    static let stepCount = chosenCount.map { min($0, runStepCount) } ?? 400
    static let seeds: [UInt64] = {
        let first = askedNumber("SIMULATION_SEED") ?? 1
        let count = chosenCount.map { ($0 + runStepCount - 1) / runStepCount } ?? 4
        return (0..<count).map { UInt64(first + $0) }
    }()
}
