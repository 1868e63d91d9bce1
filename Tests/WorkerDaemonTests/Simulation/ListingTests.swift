// Answers of JOBS while jobs are on their way from the journal into memory.

import Jobs
import RESP
import RunLoopsTesting
import StoreTwin
import Support
import Testing
import WorkerDaemon

@Suite struct `A listing` {
    @Test(arguments: [4, 8_192])
    func `has what waits also when it is asked for before anything was brought`(
        countMax: Int
    ) throws {
        try playScene(WindowLimits(countMax: countMax)) { world in
            try world.ask(["PAUSE", "one"]) { _ in }
            for token in 1...20 { try world.submit([], [], token: token) }
            try world.crash {}
            try world.ask(["JOBS"]) { reply in
                let count = reply.elements?.count
                guard count == 20 else { throw SimulationFault("\(reply)") }
            }
            try world.settle()
        }
    }
}
