// The life of a worker thread as a pure value, step by step and against a plain model.

import RunLoops
import Support
import Testing
import WorkerThreads

@Suite struct `Life cycle` {
    @Test func `a thread begins in the default mode and keeps running`() {
        let life = LifeCycle()
        #expect(life.mode == .default)
        #expect(life.shouldKeepRunning)
    }

    @Test func `a pause changes the mode, a second one changes nothing`() {
        var life = LifeCycle()
        let paused = [life.pause(), life.pause()]
        #expect(paused == [true, false])
        #expect(life.mode == .paused)
        let resumed = [life.resume(), life.resume()]
        #expect(resumed == [true, false])
        #expect(life.mode == .default)
    }

    @Test func `a stop ends a pause and leaves nothing to pause or resume`() {
        var life = LifeCycle()
        let changed = [life.pause(), life.stop(.finishQueued), life.pause(), life.resume()]
        #expect(changed == [true, true, false, false])
        #expect(life.mode == .draining)
        #expect(!life.shouldKeepRunning)
    }

    @Test func `a stop can be hurried, not slowed down`() {
        var life = LifeCycle()
        let policies: [StopPolicy] = [.finishQueued, .finishQueued, .finishCurrent, .finishQueued]
        let changed = policies.map { life.stop($0) }
        #expect(changed == [true, false, true, false])
        #expect(life.stop == .finishCurrent)
    }

    @Test func `letting go stops a thread, but does not hurry a stop`() {
        var held = LifeCycle()
        let changed = held.letGo()
        #expect(changed)
        #expect(held.stop == .finishQueued)
        var stopping = LifeCycle()
        _ = stopping.stop(.finishQueued)
        let hurried = stopping.letGo()
        #expect(!hurried)
        #expect(stopping.stop == .finishQueued)
    }

    @Test(arguments: [1, 2, 3] as [UInt64])
    func `any sequence of calls agrees with the model`(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        for _ in 0..<200 {
            var life = LifeCycle()
            var stops: [StopPolicy] = []
            var isPaused = false
            for _ in 0..<12 {
                let call = Int.random(in: 0..<5, using: &random)
                let before = life
                let changed =
                    switch call {
                    case 0: life.pause()
                    case 1: life.resume()
                    case 2: life.stop(.finishQueued)
                    case 3: life.stop(.finishCurrent)
                    default: life.letGo()
                    }
                if call < 2, stops.isEmpty { isPaused = call == 0 }
                if call == 2 { stops.append(.finishQueued) }
                if call == 3 { stops.append(.finishCurrent) }
                if call == 4, stops.isEmpty { stops.append(.finishQueued) }
                let stop = stops.contains(.finishCurrent) ? .finishCurrent : stops.first
                #expect(life.stop == stop)
                #expect(life.shouldKeepRunning == stops.isEmpty)
                let mode: ThreadRunLoop.Mode =
                    stops.isEmpty ? (isPaused ? .paused : .default) : .draining
                #expect(life.mode == mode)
                #expect(changed == (life != before))
            }
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `changes while the thread is busy cost it one look at its life`() throws {
        let worker = try WorkerThread(name: "steered")
        let gate = try worker.hold()
        // Kept one by one, they would be in the way of one another for minutes.
        for _ in 0..<500_000 {
            worker.pause()
            worker.resume()
        }
        gate.open()
        try worker.submitAndWait {}
        worker.stop()
        worker.join()
    }
}
