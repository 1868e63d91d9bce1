// Time limits: each is called once when it has passed, and what is taken away leaves nothing
// behind.

import RunLoopsTesting
import Support
import Synchronization
import Testing
import WorkerThreads

/// A clock that the test moves; it counts the sleeps that have begun.
private final class Sundial: Clock, Sendable {
    struct Instant: InstantProtocol {
        let time: Duration

        func advanced(by duration: Duration) -> Instant { Instant(time: time + duration) }

        func duration(to other: Instant) -> Duration { other.time - time }

        static func < (left: Instant, right: Instant) -> Bool { left.time < right.time }
    }

    private struct State {
        var now = Instant(time: .zero)
        var sleepers: [(until: Instant, continuation: CheckedContinuation<Void, Never>)] = []
        var sleepCount = 0
    }

    private let state = Mutex(State())

    var now: Instant { state.withLock { $0.now } }
    var minimumResolution: Duration { .nanoseconds(1) }
    var sleepCount: Int { state.withLock { $0.sleepCount } }

    func sleep(until deadline: Instant, tolerance: Duration?) async throws {
        await withCheckedContinuation { continuation in
            let isPast = state.withLock { state in
                state.sleepCount += 1
                if deadline <= state.now { return true }
                state.sleepers.append((deadline, continuation))
                return false
            }
            if isPast { continuation.resume() }
        }
    }

    /// Lets the task wait until so many sleeps have begun.
    func waitForSleeps(_ count: Int) async { while sleepCount < count { await Task.yield() } }

    func advance(by duration: Duration) {
        let woken = state.withLock { state in
            state.now = state.now.advanced(by: duration)
            let now = state.now
            defer { state.sleepers.removeAll { $0.until <= now } }
            return state.sleepers.filter { $0.until <= now }.map(\.continuation)
        }
        for continuation in woken { continuation.resume() }
    }
}

@Suite struct `Time limits` {
    @Test(.timeLimit(.minutes(2)))
    func `thousands that are taken away in time leave one task that sleeps, and nothing of theirs`()
        async
    {
        let clock = Sundial()
        let limits = TimeLimits(clock)
        let trace = Trace()
        var tokens: [WeakReference<Token>] = []
        for number in 0..<3_000 {
            let token = Token()
            tokens.append(WeakReference(token))
            let cancel = limits.add(after: .seconds(60 + number % 7)) {
                trace.note("passed")
                _ = token
            }
            cancel()
        }
        await clock.waitForSleeps(1)
        #expect(tokens.allSatisfy { $0.object == nil })
        // The sixtieth second is the earliest that was asked for, and the first.
        clock.advance(by: .seconds(60))
        _ = limits.add(after: .seconds(5)) { trace.note("after") }
        await clock.waitForSleeps(2)
        clock.advance(by: .seconds(5))
        while trace.all.isEmpty { await Task.yield() }
        #expect(trace.all == ["after"])
        #expect(clock.sleepCount == 2)
    }

    @Test(.timeLimit(.minutes(2)))
    func `each passes at its date, also one that is added last and is the earliest`() async {
        let clock = Sundial()
        let limits = TimeLimits(clock)
        let trace = Trace()
        for seconds in [30, 10, 20] {
            _ = limits.add(after: .seconds(seconds)) { trace.note("\(seconds)") }
        }
        _ = limits.add(after: .zero) { trace.note("0") }
        while trace.all.isEmpty { await Task.yield() }
        // The limits of 30 and of 10 have a sleep of their own each, and so has the one of none.
        await clock.waitForSleeps(3)
        #expect(trace.all == ["0"])
        for (index, seconds) in [10, 20, 30].enumerated() {
            clock.advance(by: .seconds(10))
            while trace.all.count < index + 2 { await Task.yield() }
            #expect(trace.all.last == "\(seconds)")
            // The second sleep goes on with the limits before the first one's date.
            if index == 0 { await clock.waitForSleeps(4) }
        }
        #expect(trace.all == ["0", "10", "20", "30"])
        #expect(clock.sleepCount == 4)
    }
}
