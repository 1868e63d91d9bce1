// Proves which hand-overs count as a stream, for which a thread lets more gather.

import Kernel
import RunLoops
import RunLoopsTesting
import Testing
import WorkerThreads

@Suite struct `Stream pace` {
    /// With one processor alone nothing is waited for.
    private let canGather = SystemThread.processorCount > 1

    @Test func `a client that waits for its answer is served at once, a long row gathers`() {
        #expect(!StreamPace.gather(after: 0))
        #expect(!StreamPace.gather(after: 1))
        #expect(StreamPace.gather(after: 100) == canGather)
    }

    @Test(.timeLimit(.minutes(2)))
    func `a stream gathers until it is plenty, or the thread has slept`() throws {
        try withScriptedLoop { loop, poller in
            var pace = StreamPace()
            #expect(!pace.gather(), "nothing has come yet")
            pace.note(count: 1)
            #expect(!pace.gather(), "a single one")
            pace.note(count: 100)
            #expect(pace.gather() == canGather, "a stream")
            #expect(pace.gather() == canGather, "the thread has not slept since")
            pace.note(count: 100_000)
            #expect(!pace.gather(), "plenty")
            pace.note(count: 100)
            loop.keepAlive()
            poller.at(.seconds(1)) { loop.stop() }
            loop.run()
            #expect(!pace.gather(), "the thread has slept")
        }
    }
}
