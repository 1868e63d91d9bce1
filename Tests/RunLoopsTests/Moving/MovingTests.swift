// Items that are moved from one thread's loop to another's, out of their own call or somebody else's.

import Kernel
import RunLoops
import RunLoopsTesting
import Support
import Testing

@Suite(.timeLimit(.minutes(20)))
struct `Items that are moved to another loop` {
    @Test func `an observer that leaves in its own call is told elsewhere when that is over`()
        throws
    {
        let (here, there) = (try RunningLoop(thread: "here"), try RunningLoop(thread: "there"))
        let (moved, told) = (Latch(), Latch())
        let trace = Trace()
        let observer = ThreadRunLoop.Observer(.beforeSources) { observer, _ in
            guard here.loop.isOnThread else { return told.open() }
            here.loop.remove(observer)
            there.loop.add(observer)
            // The second is run in a pass that has begun when it was there.
            for _ in 0..<2 { there.loop.performAndWait {} }
            trace.note("told meanwhile: \(told.isOpen)")
            moved.open()
        }
        here.loop.add(observer)
        moved.wait()
        here.end()
        there.loop.wakeUp()
        told.wait()
        #expect(observer.loop === there.loop)
        there.end()
        #expect(trace.all == ["told meanwhile: false"])
    }

    @Test func `an observer that is told once is so wherever its call moves it to`() throws {
        let (here, there) = (try RunningLoop(thread: "here"), try RunningLoop(thread: "there"))
        let moved = Latch()
        let calls = Counter()
        let observer = ThreadRunLoop.Observer(.beforeSources, repeats: false) { observer, _ in
            calls.increment()
            here.loop.remove(observer)
            there.loop.add(observer)
            there.loop.performAndWait {}
            moved.open()
        }
        here.loop.add(observer)
        moved.wait()
        here.end()
        for _ in 0..<2 { there.loop.performAndWait {} }
        #expect(!observer.isValid && observer.loop == nil)
        there.end()
        #expect(calls.count == 1)
    }
}
