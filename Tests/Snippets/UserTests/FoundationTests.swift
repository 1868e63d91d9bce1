// A user of Foundation can name these types too: that this file compiles is the test.

import Foundation
import RunLoops
import RunLoopsTesting
import Testing
import WorkerThreads

@Suite struct FoundationTests {
    /// All that is public and no member of something else.
    private let types: [Any.Type] = [
        // RunLoops, and the modules that it exports.
        ThreadRunLoop.self, Confined<Int>.self, ThreadBound<Int>.self, CodeLocation.self,
        ReleasePool.self, Instant.self, SystemClock.self, (any LoopClock).self, Readiness.self,
        SystemError.self,
        // WorkerThreads.
        WorkerThread.self, WorkerPool.self, WorkerExecutor.self, CommandBuffer<Int>.self,
        MessagePort<Int>.self, Question<Int, Int>.self, ReplyPort<Int>.self, PortError.self,
        SendResult.self, Selector<WorkerThread, Int>.self, NoArgument.self, SubmitError.self,
        SubmitKey.self,
        SubmitPriority.self, StopPolicy.self, WhenFull.self, Watchdog.self, LoopEnded.self,
        // RunLoopsTesting.
        ManualClock.self, ScriptedPoller.self, ScriptEnded.self, Trace.self, NotSettled.self,
    ]

    @Test func `no name means something else where Foundation is imported`() throws {
        #expect(types.count == 33)
        let worker = try WorkerThread(name: "squares")
        let squares = MessagePort<Question<Int, Int>>(answering: { $0 * $0 })
        squares.add(to: worker.runLoop)
        #expect(try squares.askAndWait(3) == 9)
    }
}
