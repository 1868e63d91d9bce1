// Scenes that tests play with a daemon of a simulation: on a thread of their own, since the daemon
// lives on the thread that makes it.

import Jobs
import RESP
import RunLoopsTesting
import Support
import Testing
import WorkerDaemon

/// Plays a scene on the thread of a daemon of its own; what it throws is why the test fails.
///
/// - Parameters:
///   - window: how many of the jobs that wait are in the daemon's memory.
///   - hasTwin: whether jobs are kept by the twin of the store in a file.
func playScene(
    _ window: WindowLimits = WindowLimits(), hasTwin: Bool = false, key: String? = nil,
    _ scene: @escaping @Sendable (World) throws -> Void
) throws {
    let directory = try Scratch()
    let path = directory.path
    let fault = try onNewThread { () -> String? in
        do {
            let world = try World(path, window, hasTwin: hasTwin, key: key)
            defer { world.close() }
            try scene(world)
            return nil
        } catch {
            return "\(error)"
        }
    }
    #expect(fault == nil)
}

extension World {
    /// Hands in a job for thread `one`.
    func submit(
        _ first: [CommandArgument], _ more: [String], token: Int
    ) throws {
        let options = first + more.map { .text($0) }
        try ask(["PERFORM", "one", "play"] + options + [.integer(token)]) { reply in
            if let word = reply.errorWord { throw SimulationFault(word) }
        }
        try settle()
    }

    /// The number of a job, which is the only one that has begun.
    func takeStart(of token: Int) throws -> UInt64 {
        let begun = stage.takeEntries()
        guard begun.map(\.token) == [token], let id = begun.first?.id else {
            throw SimulationFault("\(begun) have begun at \(clock.now()), not \(token)")
        }
        return id
    }
}
