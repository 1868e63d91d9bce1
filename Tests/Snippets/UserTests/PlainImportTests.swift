// The kit alone is enough: a file that imports it can name and use the types it is about.

import RunLoopsTesting
import Testing

@Suite struct PlainImportTests {
    @Test func `the kit's import brings loops, workers and instants`() throws {
        let passed: Instant = try withScriptedLoop { loop, poller in
            loop.add(ThreadRunLoop.Timer(at: loop.now.advanced(by: .seconds(2))) { _ in })
            let result: ThreadRunLoop.RunResult = loop.run()
            precondition(result == .finished)
            return poller.manualClock.now()
        }
        #expect(passed == Instant(nanoseconds: 2_000_000_000))
        let worker = try WorkerThread(name: "plain", clock: ManualClock())
        #expect(try worker.submitAndWait { WorkerThread.currentName } == "plain")
    }
}
