// When a thread lets more gather before it takes what has come.

import Kernel
import RunLoops
import RunLoopsTesting
import Testing
import WorkerThreads

@Suite struct `Stream pace` {
    /// With one processor alone nothing is waited for.
    private let canGather = SystemThread.processorCount > 1

    @Test func `a long row gathers, a few do not`() {
        #expect(!StreamPace.gather(after: 7))
        #expect(StreamPace.gather(after: 8) == canGather)
    }

    @Test func `a stream gathers, but not what is few, plenty, or comes after a sleep`() throws {
        try withScriptedLoop { loop, poller in
            var pace = StreamPace()
            #expect(!pace.gather())
            for (count, gathers) in [(7, false), (8, true), (255, true), (256, false)] {
                pace.note(count: count)
                #expect(pace.gather() == (gathers && canGather), "\(count)")
            }
            pace.note(count: 8)
            loop.keepAlive()
            poller.at(.seconds(1)) { loop.stop() }
            loop.run()
            #expect(!pace.gather())
        }
    }
}
