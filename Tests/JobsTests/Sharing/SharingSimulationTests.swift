// Random histories of several daemons that share the threads of one database: real schedulers and
// real plans on a model of the database, with a ledger of all that clients and workers see beside
// them. No thread, no server, no clock (`Scripts/simulate --nodes`).

import Jobs
import Kernel
import StoreTwin
import Support
import Testing

@Suite struct `Several daemons in random histories` {
    private static func number(_ name: String) -> Int? {
        Program.inheritedEnvironment()[name].flatMap { Int($0) }
    }

    private static let count = number("NODES_HISTORIES")
    private static let firstSeed = number("NODES_SEED") ?? 1
    private static let stepCount = 500

    @Test(.timeLimit(.minutes(60)))
    func `keep their promises`() throws {
        var counts: [String: Int] = [:]
        var stepCount = 0
        for seed in Self.firstSeed..<(Self.firstSeed + (Self.count ?? 10)) {
            let simulation = NodesSimulation(seed: UInt64(seed))
            do {
                try simulation.run(Self.stepCount)
            } catch {
                throw HistoryFault("seed \(seed): \(error)")
            }
            counts.merge(simulation.ledger.counts, uniquingKeysWith: +)
            stepCount += simulation.stepCount
        }
        // All was met, or the histories try too little.
        guard Self.count ?? 10 >= 10 else { return }
        let rare = ["given busy", "lendable", "given to idle", "waited on"]
        for word in [
            "accepted", "begun", "done", "failed", "cancelled", "taken", "given", "given idle",
            "lost", "cut", "frozen", "left", "compared", "taken back", "refused", "volatile",
            "waited", "scheduled", "run", "passed", "lost with its machine", "there again",
        ] + (Self.count ?? 10 >= 60 ? rare : []) {
            #expect(counts[word, default: 0] > 0, "nothing was \(word)")
        }
        guard Self.count != nil else { return }
        print("\(stepCount) steps:", counts.sorted { $0.key < $1.key })
    }

    /// All but those that take hundreds of histories.
    private static let faults =
        count == nil
        ? [
            SharingFault.keepsEpoch, .givesBusyThreads, .keepsNumbers, .claimsUnconfirmed,
            .forgetsPauses, .countsNoBeginnings, .keepsStarts, .forgetsLog, .beginsUnrecorded,
            .runsAnywhere,
        ] : SharingFault.allCases

    @Test(.timeLimit(.minutes(60)), arguments: faults)
    func `show a fault that is planted`(_ fault: SharingFault) {
        let finding = (1...UInt64(600)).first { seed in
            do {
                try NodesSimulation(seed: seed, fault).run(Self.stepCount)
                return false
            } catch {
                if Self.count != nil { print("\(fault.rawValue): seed \(seed): \(error)") }
                return true
            }
        }
        #expect(finding != nil)
    }
}
