// Several worker threads whose time a test moves, and a way to wait until all of them have done
// what they gave one another to do.

internal import Glibc
public import Kernel
internal import RunLoops
public import WorkerThreads

extension Collection<WorkerThread> {
    /// Waits until there is a moment at which all of these threads sleep, or have ended.
    ///
    /// What the caller submitted before, and whatever these threads have handed to one another for
    /// it, has run by then. Settled one after another, the first might get new work from the
    /// second.
    ///
    /// ```swift
    /// try [sender, receiver].settle()
    /// ```
    ///
    /// - Parameter limit: how long to wait, in real time.
    /// - Throws: ``NotSettled`` when one of them was still busy by then.
    /// - Thread: any thread but these.
    /// - Blocks: until it is so.
    public func settle(within limit: Duration = .seconds(60)) throws(NotSettled) {
        let clock = SystemClock()
        let deadline = clock.now().advanced(by: limit)
        while !areSettledTogether {
            guard clock.now() < deadline else {
                let busy = first { !$0.isSettled } ?? first
                throw NotSettled(thread: busy?.name ?? "", limit: limit)
            }
            _ = sched_yield()
        }
    }

    /// Whether all of them sleep at one moment: each is seen asleep twice, in the same sleep, and
    /// all of them once before the first is looked at again.
    private var areSettledTogether: Bool {
        let sleeps = map(\.runLoop.counters.sleepCount)
        guard allSatisfy({ $0.isSettled }), allSatisfy({ $0.isSettled }) else { return false }
        return map(\.runLoop.counters.sleepCount) == sleeps
    }
}

extension WorkerPool {
    /// Starts a pool of equal members whose loops go by a clock that is moved by hand.
    ///
    /// All else is as in production, and as it is with one worker and such a clock.
    ///
    /// - Parameters:
    ///   - name: addresses the pool.
    ///   - count: how many threads, at least 1.
    ///   - maxQueued: how many items may wait in all.
    ///   - whenFull: what happens to a submitted item when so many wait.
    ///   - clock: the time by which its threads go.
    /// - Throws: EAGAIN when the system has no room for so many threads; none is left running.
    /// - Thread: any thread.
    /// - Blocks: never; the threads begin by themselves.
    public convenience init(
        name: String, count: Int = 1, maxQueued: Int = .max, whenFull: WhenFull = .refuse,
        clock: ManualClock
    ) throws(SystemError) {
        let clock: any LoopClock = clock
        try self.init(
            name: name, count: count, maxQueued: maxQueued, whenFull: whenFull, clock: clock)
    }

    /// Starts a pool whose members have names of their own, and a clock that is moved by hand.
    ///
    /// - Parameters:
    ///   - name: addresses the pool.
    ///   - threads: a name for each member, all different.
    ///   - maxQueued: how many items may wait in all.
    ///   - whenFull: what happens to a submitted item when so many wait.
    ///   - clock: the time by which its threads go.
    /// - Throws: EAGAIN when the system has no room for so many threads; none is left running.
    /// - Thread: any thread.
    /// - Blocks: never; the threads begin by themselves.
    public convenience init(
        name: String, threads: [String], maxQueued: Int = .max, whenFull: WhenFull = .refuse,
        clock: ManualClock
    ) throws(SystemError) {
        let clock: any LoopClock = clock
        try self.init(
            name: name, threads: threads, maxQueued: maxQueued, whenFull: whenFull, clock: clock)
    }

    /// Waits until the pool's threads have done everything that there was to do, and sleep, or have
    /// ended.
    ///
    /// - Parameter limit: how long to wait, in real time.
    /// - Throws: ``NotSettled`` when one of them was still busy by then.
    /// - Thread: any thread but a member's.
    /// - Blocks: until it is so.
    public func settle(within limit: Duration = .seconds(60)) throws(NotSettled) {
        try members.settle(within: limit)
    }
}
