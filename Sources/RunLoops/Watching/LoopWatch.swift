// The measuring side of a loop: what its thread does now and since when, written by that thread at
// each change and read by any. It is made when it is first asked for, and knows no watchers.
//
// `state`: 0 between callouts, or not known yet · 1 asleep · 2… a callout (`CalloutKind`)
//
// LoopWatch.E1 a record is read whole
//    enter: sequence.store(odd), fields.store, sequence.store(even)
//    read: sequence.load, fields.load, sequence.load
//    A field's release carries the odd number before it. A reader of a new field finds another
//    number in its last load than before, and reads again. Without it a location could be put
//    together from two.
// LoopWatch.E2 no hang is missed
//    leaving sleep: sequence.store(even), alarm.load │ arm: alarm.store(true), then read
//    Sequentially consistent: either the loop sees the alarm and tells its guardian, or the
//    guardian sees that the loop is no longer asleep.
// LoopWatch.E3 closed with its loop
//    end: requests.close, fence, then watch.load, and close
//    makeWatch: watch.storeIfNil, fence, then hasEnded, and close
//    Fences sequentially consistent: one of the two closes it, or both. Else a thread that has
//    ended would be asked where it is, by a number that the system has given to another.

package import Kernel
internal import Structures
internal import Synchronization

/// The object that looks after a measured loop.
package protocol LoopGuardian: AnyObject, Sendable {
    /// The loop has left its sleep after the alarm was armed; on the loop's thread.
    func loopWoke()
    /// A callout is over that took longer than the limit; on the loop's thread.
    func calloutEnded(
        _ callout: ThreadRunLoop.RunningCallout, number: UInt64, after duration: Duration)
    /// The loop's thread ends, or another guardian looks after the loop; on any thread.
    func loopEnded()
}

/// The activity of a loop's thread, now and since it is measured.
package final class LoopWatch: @unchecked Sendable {
    // SAFETY: `current` and `isReachable` are touched on the loop's thread only; the rest is safe
    // from any thread.

    /// One thing that the thread does without a break.
    struct Stretch {
        static let between: UInt8 = 0
        static let asleep: UInt8 = 1

        let state: UInt8
        var location: CodeLocation?
    }

    private struct Place: ~Copyable {
        let address = Atomic<UInt>(0)
        let byteCount = Atomic<Int>(0)
        let line = Atomic<UInt>(0)

        func store(_ location: CodeLocation?) {
            address.store(location?.address ?? 0, ordering: .releasing)  // LoopWatch.E1
            byteCount.store(location?.byteCount ?? 0, ordering: .releasing)  // LoopWatch.E1
            line.store(location?.line ?? 0, ordering: .releasing)  // LoopWatch.E1
        }

        func load() -> CodeLocation? {
            let location = CodeLocation(
                address: address.load(ordering: .acquiring),  // LoopWatch.E1
                byteCount: byteCount.load(ordering: .acquiring),  // LoopWatch.E1
                line: line.load(ordering: .acquiring))  // LoopWatch.E1
            return location.line == 0 ? nil : location
        }
    }

    private struct Reached {
        var guardian: (any LoopGuardian)?
        var hasEnded = false
    }

    private let clock: any LoopClock
    private let link: ThreadRunLoop.LoopLink
    private var current = Stretch(state: Stretch.between)
    /// Whether the thread lets itself be asked where it is.
    private var isReachable = false
    private let sequence = Atomic<UInt64>(0)
    private let state = Atomic<UInt8>(Stretch.between)
    private let since: Atomic<Int64>
    private let place = Place()
    private let asleep = Atomic<Int64>(0)
    private let busy = Atomic<Int64>(0)
    private let longest = Atomic<Int64>(0)
    private let longestState = Atomic<UInt8>(Stretch.between)
    private let longestPlace = Place()
    /// Whether the thread may have done what was not measured before the next change.
    ///
    /// It matters to all but a sleep, in which nothing else happens.
    private let isFresh = Atomic<Bool>(true)
    /// Whether the loop ever was measured: who only wants to know where its thread is needs this,
    /// too.
    private let wasMeasured = Atomic<Bool>(false)
    /// Set by a guardian that wants to know when the loop leaves its sleep.
    private let alarm = Atomic<Bool>(false)
    private let limit = Atomic<Int64>(.max)
    private let reached = Mutex(Reached())
    private let latencies = Mutex(Histogram())

    init(clock: any LoopClock, link: ThreadRunLoop.LoopLink) {
        self.clock = clock
        self.link = link
        since = Atomic(clock.now().nanoseconds)
    }

    // MARK: On the loop's thread

    /// Begins something else; give what this returns to `end`.
    func begin(_ stretch: Stretch) -> Stretch {
        if !isReachable {
            isReachable = true
            ThreadBacktrace.allowOnThisThread()
        }
        let outer = current
        enter(stretch)
        return outer
    }

    /// Goes on with what there was before.
    func end(_ outer: Stretch) { enter(outer) }

    /// Notes that something which was posted begins now.
    package func noteStart(of posted: Posted) {
        let waited = posted.instant.duration(to: clock.now())
        latencies.withLock { $0.record(waited.nanosecondsClamped) }
    }

    private func enter(_ next: Stretch) {
        let now = clock.now()
        let left = current
        let began = Instant(nanoseconds: since.load(ordering: .relaxed))
        let isKnown = left.state == Stretch.asleep || !isFresh.load(ordering: .relaxed)
        let elapsed = isKnown ? max(0, now.nanoseconds - began.nanoseconds) : 0
        let number = sequence.load(ordering: .relaxed)
        current = next
        sequence.store(number &+ 1, ordering: .relaxed)  // LoopWatch.E1
        add(elapsed, of: left)
        isFresh.store(false, ordering: .releasing)  // LoopWatch.E1
        state.store(next.state, ordering: .releasing)  // LoopWatch.E1
        since.store(now.nanoseconds, ordering: .releasing)  // LoopWatch.E1
        place.store(next.location)
        guard left.state == Stretch.asleep else {
            sequence.store(number &+ 2, ordering: .releasing)  // LoopWatch.E1
            if elapsed >= limit.load(ordering: .relaxed) { tellEnd(left, began, number, elapsed) }
            return
        }
        // LoopWatch.E1, LoopWatch.E2
        sequence.store(number &+ 2, ordering: .sequentiallyConsistent)
        guard alarm.load(ordering: .sequentiallyConsistent) else { return }  // LoopWatch.E2
        if alarm.exchange(false, ordering: .sequentiallyConsistent) { guardian?.loopWoke() }
    }

    private func add(_ elapsed: Int64, of left: Stretch) {
        if left.state == Stretch.asleep {
            // LoopWatch.E1
            asleep.store(asleep.load(ordering: .relaxed) &+ elapsed, ordering: .releasing)
        } else {
            // LoopWatch.E1
            busy.store(busy.load(ordering: .relaxed) &+ elapsed, ordering: .releasing)
        }
        guard left.state > Stretch.asleep, elapsed > longest.load(ordering: .relaxed) else {
            return
        }
        longest.store(elapsed, ordering: .releasing)  // LoopWatch.E1
        longestState.store(left.state, ordering: .releasing)  // LoopWatch.E1
        longestPlace.store(left.location)
    }

    private func tellEnd(_ left: Stretch, _ began: Instant, _ number: UInt64, _ elapsed: Int64) {
        guard let kind = ThreadRunLoop.CalloutKind(rawValue: left.state) else { return }
        guardian?.calloutEnded(
            ThreadRunLoop.RunningCallout(kind: kind, postedFrom: left.location, since: began),
            number: number, after: .nanoseconds(elapsed))
    }

    /// Counts what the thread has done until now, and nothing from now on; it ends.
    func finish() {
        enter(Stretch(state: Stretch.between))
        restart()
    }

    /// Makes the thread unreachable; it ends.
    func close() {
        let guardian = reached.withLock { reached in
            reached.hasEnded = true
            defer { reached.guardian = nil }
            return reached.guardian
        }
        guardian?.loopEnded()
    }

    // MARK: On any thread

    /// The activity of a loop's thread at a moment.
    package struct Reading {
        /// Tells this from what the thread does before and afterwards.
        package let number: UInt64
        package let isAsleep: Bool
        package let callout: ThreadRunLoop.RunningCallout?
        package let since: Instant
        /// Whether it has done only that since then.
        fileprivate let isKnown: Bool
        fileprivate let asleep: Int64
        fileprivate let busy: Int64
        fileprivate let longest: ThreadRunLoop.LongestCallout?
    }

    /// Reads the activity of the thread now.
    package func read() -> Reading {
        while true {
            // LoopWatch.E1, LoopWatch.E2
            let before = sequence.load(ordering: .sequentiallyConsistent)
            if before & 1 == 0 {
                let reading = readFields(before)
                if sequence.load(ordering: .relaxed) == before { return reading }  // LoopWatch.E1
            }
            SystemThread.yield()
        }
    }

    private func readFields(_ number: UInt64) -> Reading {
        let state = state.load(ordering: .acquiring)  // LoopWatch.E1
        let since = Instant(nanoseconds: since.load(ordering: .acquiring))  // LoopWatch.E1
        let location = place.load()
        let isAsleep = state == Stretch.asleep
        let isKnown = isAsleep || !isFresh.load(ordering: .acquiring)  // LoopWatch.E1
        let kind = isKnown ? ThreadRunLoop.CalloutKind(rawValue: state) : nil
        // LoopWatch.E1
        let longestDuration = Duration.nanoseconds(longest.load(ordering: .acquiring))
        let longestKind = longestState.load(ordering: .acquiring)  // LoopWatch.E1
        let longestLocation = longestPlace.load()
        return Reading(
            number: number, isAsleep: isAsleep,
            callout: kind.map { .init(kind: $0, postedFrom: location, since: since) },
            // LoopWatch.E1
            since: since, isKnown: isKnown, asleep: asleep.load(ordering: .acquiring),
            busy: busy.load(ordering: .acquiring),  // LoopWatch.E1
            longest: ThreadRunLoop.CalloutKind(rawValue: longestKind).map {
                .init(kind: $0, postedFrom: longestLocation, duration: longestDuration)
            })
    }

    /// All that was measured so far; nil if nothing ever was.
    func measurements(isOn: Bool) -> ThreadRunLoop.Measurements? {
        guard wasMeasured.load(ordering: .relaxed) else { return nil }
        let reading = read()
        let isGoingOn = isOn && reading.isKnown
        let going =
            isGoingOn ? max(0, reading.since.duration(to: clock.now()).nanosecondsClamped) : 0
        return ThreadRunLoop.Measurements(
            asleep: .nanoseconds(reading.asleep + (reading.isAsleep ? going : 0)),
            busy: .nanoseconds(reading.busy + (reading.isAsleep ? 0 : going)),
            longestCallout: reading.longest,
            submitToStart: .init(histogram: latencies.withLock { $0 }))
    }

    /// Begins anew after a time in which nothing was measured.
    func restart() {
        isFresh.store(true, ordering: .relaxed)
        wasMeasured.store(true, ordering: .relaxed)
    }

    private var guardian: (any LoopGuardian)? { reached.withLock { $0.guardian } }

    /// Gives the loop a guardian.
    ///
    /// - Parameter limit: callouts that take longer are told of.
    /// - Returns: false when its thread has ended.
    package func setGuardian(_ guardian: any LoopGuardian, limit: Duration) -> Bool {
        let former = reached.withLock { reached -> (any LoopGuardian)? in
            guard !reached.hasEnded else { return guardian }
            self.limit.store(limit.nanosecondsClamped, ordering: .relaxed)
            defer { reached.guardian = guardian }
            return reached.guardian
        }
        if let former, former !== guardian { former.loopEnded() }
        return former !== guardian
    }

    /// Whether a guardian still looks after the loop.
    package func isGuarded(by guardian: any LoopGuardian) -> Bool {
        reached.withLock { $0.guardian === guardian }
    }

    /// Dismisses the loop's guardian.
    ///
    /// - Parameter guardian: only this one; nil for any.
    package func dismissGuardian(_ guardian: (any LoopGuardian)? = nil) {
        let former = reached.withLock { reached -> (any LoopGuardian)? in
            if let guardian, reached.guardian !== guardian { return nil }
            limit.store(.max, ordering: .relaxed)
            defer { reached.guardian = nil }
            return reached.guardian
        }
        former?.loopEnded()
    }

    /// Asks to be told when the loop leaves its sleep.
    ///
    /// - Returns: false when it is not asleep (any more): then the loop does not tell.
    package func arm() -> Bool {
        alarm.store(true, ordering: .sequentiallyConsistent)  // LoopWatch.E2
        if read().isAsleep { return true }
        // If the loop was quicker, its guardian is told of what it knows already.
        alarm.store(false, ordering: .sequentiallyConsistent)
        return false
    }

    /// Where the thread is, if it still does what it did.
    ///
    /// - Parameter number: of what it did.
    /// - Returns: return addresses, the innermost first; empty when it has gone on or ended, or
    ///   does not answer.
    /// - Thread: any but the loop's.
    /// - Blocks: until the thread has answered; it waits for that with its end.
    package func addresses(during number: UInt64) -> [UInt] {
        // Under the lock: a thread that has ended may have left its number to another.
        reached.withLock { reached in
            if reached.hasEnded { return [] }
            let thread = SystemThread.ID(number: link.threadNumber.load(ordering: .relaxed))
            let (addresses, stamp) = ThreadBacktrace.addresses(of: thread, stampedBy: sequence)
            return stamp == number ? addresses : []
        }
    }
}
