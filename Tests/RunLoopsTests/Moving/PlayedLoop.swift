// A thread that runs its loop again and again, in the mode that it is told, until it is to end.

import Kernel
import RunLoops
import RunLoopsTesting
import Support
import Synchronization

/// One of the loops of a moving game.
final class PlayedLoop: Sendable {
    static let modes: [ThreadRunLoop.Mode] = [.default, "A"]

    private struct Life {
        var mode = 0
        var isOver = false
    }

    private final class Told: Sendable {
        let life = Mutex(Life())
    }

    let loop: ThreadRunLoop
    private let thread: TestThread
    private let told = Told()
    private let isRunning: Flag

    init(_ number: Int, clock: ManualClock) throws {
        let box = LoopBox()
        let ready = Latch()
        let told = told
        let isRunning = Flag()
        self.isRunning = isRunning
        thread = try TestThread(name: "loop \(number)") {
            let loop = ThreadRunLoop.makeCurrent(clock: clock)
            // A mode without anything is never run.
            let keeper = ThreadRunLoop.Source {}
            for mode in PlayedLoop.modes { loop.add(keeper, to: mode) }
            box.loop = loop
            ready.open()
            while let mode = told.life.withLock({ $0.isOver ? nil : PlayedLoop.modes[$0.mode] }) {
                _ = loop.run(mode: mode)
            }
            isRunning.clear()
        }
        ready.wait()
        guard let loop = box.loop else { throw Unexpected("no loop") }
        self.loop = loop
    }

    /// The mode in which the thread runs the loop, or will.
    var mode: ThreadRunLoop.Mode { told.life.withLock { PlayedLoop.modes[$0.mode] } }
    var isOver: Bool { told.life.withLock { $0.isOver } }

    func turn() {
        told.life.withLock { $0.mode = 1 - $0.mode }
        leaveRuns()
    }

    func end() {
        told.life.withLock { $0.isOver = true }
        leaveRuns()
    }

    private func leaveRuns() {
        // On its thread: one that comes between two runs would be forgotten.
        loop.perform(inModes: PlayedLoop.modes) { [loop] in loop.stopAllRuns() }
    }

    func join() {
        thread.join()
    }

    /// Waits for the thread's end, if it is on its way.
    func joinIfOver() { if !isRunning.isSet { thread.join() } }

    var isAtRest: Bool { isRunning.isSet ? loop.isWaiting : true }
}
