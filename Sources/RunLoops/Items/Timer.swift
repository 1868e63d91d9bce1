// A timer: a date, and for a repeating one the grid of dates that follows from it.

public import Kernel
internal import Structures
internal import Synchronization

extension ThreadRunLoop {
    /// Something that the loop calls at a date, once or again and again.
    ///
    /// Where there are very many, each for one date and most of them cancelled before it, use
    /// `schedule(after:)`, which makes no object.
    ///
    /// A repeating timer keeps to its grid: called late, it is called once for all the dates that
    /// it missed, and is next due on the original grid. A timer that is called is no source: a run
    /// that returns after a source goes on.
    ///
    /// - Source: CFRunLoopTimer; Apple, Threading Programming Guide, "Timer Sources".
    public final class Timer: Item, @unchecked Sendable {
        // SAFETY: everything that can change is confined as `Item` says; the thread that adds it
        // first may be any thread, and fixes its date under a lock.

        /// The closure called on the loop's thread.
        public typealias Handler = @Sendable (Timer) -> Void

        /// Time between two dates of the grid; nil for a timer that fires once.
        public var interval: Duration? {
            intervalNanoseconds > 0 ? .nanoseconds(intervalNanoseconds) : nil
        }
        /// How much later than its date it may fire, so that neighbours share one wake-up; of what
        /// it is set to, at most half the interval is used.
        ///
        /// - Thread: the loop's own thread once it is in a loop.
        /// - Source: CFRunLoopTimerSetTolerance.
        public var tolerance: Duration {
            get { .nanoseconds(toleranceNanoseconds) }
            set { changeTolerance(newValue) }
        }
        // First, where `Item` leaves room: a million timers are 16 MB smaller for it.
        /// Whether its handler tells where it was added.
        private var tellsPlace = false
        /// Whether `date` is the delay that it was made with, counted from the origin.
        ///
        /// Cleared when it is first added (releasing): a thread that finds it clear may read the
        /// date.
        private let isYetToBegin = Atomic<Bool>(false)
        /// The number of the loop that calls it right now; 0 for none.
        private var callingLoop: UInt32 = 0
        private let intervalNanoseconds: Int64
        private var toleranceNanoseconds: Int64
        private var date: Instant
        private var handler: Handler?
        /// Its places in the heaps of its modes, as many as it has modes; none while it is called.
        ///
        /// Which belongs to which mode is asked of the heaps: each of the few that are in several
        /// modes is found where its place says so, and the others need not keep it.
        ///
        /// SAFETY: that accesses don't overlap is not looked for at run time; nothing is called out
        /// to while it is being changed.
        @exclusivity(unchecked)
        private var uncheckedPlaces = ShortList<TimerHeap<Waiting>.Handle>()

        private var places: ShortList<TimerHeap<Waiting>.Handle> {
            _read { yield unsafe uncheckedPlaces }
            _modify { yield unsafe &uncheckedPlaces }
        }

        /// A timer that is in no loop yet.
        ///
        /// - Parameters:
        ///   - fireDate: when it fires first; past, it fires in the next pass, and its grid is
        ///     kept.
        ///   - interval: time between firings; nil or zero fires once.
        ///   - tolerance: how much later it may fire; at most half the interval is used.
        ///   - handler: called on the loop's thread.
        public init(
            at fireDate: Instant, every interval: Duration? = nil, tolerance: Duration = .zero,
            handler: consuming @escaping Handler
        ) {
            date = fireDate
            intervalNanoseconds = max(0, interval?.nanosecondsClamped ?? 0)
            // Most have none, and a Duration is twice as wide as what it is made of here.
            toleranceNanoseconds =
                tolerance == .zero ? 0 : Self.usable(tolerance, intervalNanoseconds)
            self.handler = consume handler
            super.init()
        }

        /// How much of a tolerance is used, in nanoseconds.
        private static func usable(_ tolerance: Duration, _ interval: Int64) -> Int64 {
            // More than half an interval would let two firings fall together.
            let most = interval > 0 ? interval / 2 : Int64.max
            return min(max(0, tolerance.nanosecondsClamped), most)
        }

        /// A timer that is first due a while after it is added to a loop, by that loop's clock.
        ///
        /// - Parameters:
        ///   - delay: counts from the call that first adds it; none or less fires in the next pass.
        ///   - interval: time between firings; nil or zero fires once.
        ///   - tolerance: how much later it may fire; at most half the interval is used.
        ///   - handler: called on the loop's thread.
        public convenience init(
            after delay: Duration, every interval: Duration? = nil, tolerance: Duration = .zero,
            handler: @escaping Handler
        ) {
            self.init(
                at: Instant(nanoseconds: 0).advanced(by: delay), every: interval,
                tolerance: tolerance, handler: handler)
            isYetToBegin.store(true, ordering: .relaxed)
        }

        /// Lets the delay that it was made with begin, if it did not before.
        ///
        /// - Thread: the one that adds it.
        @inline(__always)
        func begin(in loop: ThreadRunLoop) {
            if isYetToBegin.load(ordering: .acquiring) { fixDate(in: loop) }
        }

        @inline(never)
        private func fixDate(in loop: ThreadRunLoop) {
            // Two threads may add it at the same moment: the delay is added once.
            locked {
                guard isYetToBegin.load(ordering: .relaxed) else { return }
                date = loop.now.advanced(byNanoseconds: date.nanoseconds)
                isYetToBegin.store(false, ordering: .releasing)
            }
        }

        /// When it fires next; setting it moves the grid of a repeating timer along.
        ///
        /// Set from inside the timer's own call, only a date later than the one it was called for
        /// counts. One that was made with a delay, and is in no loop yet, shows the date that it
        /// would have if it were added now to a loop that goes by the kernel's clock.
        ///
        /// - Thread: the loop's own thread once it is in a loop.
        /// - Source: CFRunLoopTimerSetNextFireDate.
        public var fireDate: Instant {
            get {
                guard isYetToBegin.load(ordering: .acquiring) else { return date }
                return SystemClock().now().advanced(byNanoseconds: date.nanoseconds)
            }
            set { move(to: newValue) }
        }

        /// Calls the timer if it is still due, and puts it back on its grid.
        ///
        /// While it is called it waits in no heap, so that a nested run neither calls it again nor
        /// wakes for it.
        ///
        /// - Returns: whether it was called.
        func fireIfDue(at now: Instant, in loop: ThreadRunLoop) -> Bool {
            guard isValid, callingLoop == 0, date <= now, let handler else { return false }
            let calledFor = date
            callingLoop = loop.link.number
            for state in states { stopWaiting(in: state) }
            Callout.fireTimer(self, handler)
            if intervalNanoseconds == 0 || !isValid {
                // Also one that another thread has made invalid meanwhile: a loop that ends is not
                // told of it.
                invalidate()
            } else if endCall(for: calledFor, in: loop) {
                for state in states { wait(in: state, until: date) }
            }
            return true
        }

        /// Puts a repeating timer that was called back on its grid, unless it has been moved to
        /// another loop meanwhile: then its next date is for that one's thread to say.
        ///
        /// - Returns: whether it is to wait in this loop again.
        private func endCall(for calledFor: Instant, in loop: ThreadRunLoop) -> Bool {
            let now = loop.now
            // While it is in no loop another thread may be about to put it into its own.
            return locked {
                let home = states.first?.link
                guard home == nil || home === loop.link, callingLoop == loop.link.number else {
                    return false
                }
                callingLoop = 0
                if date <= calledFor {
                    date = calledFor.nextOnGrid(every: intervalNanoseconds, after: now)
                }
                return home != nil && isValid
            }
        }

        /// Takes over a repeating timer that another loop still calls, out of whose call it was
        /// moved.
        ///
        /// - Returns: false when this loop calls it: it waits when that is over. The call of one
        ///   that fires once is its last.
        private func takeOver(for loop: ThreadRunLoop) -> Bool {
            guard callingLoop != loop.link.number, intervalNanoseconds > 0 else { return false }
            callingLoop = 0
            let now = loop.now
            if date <= now { date = date.nextOnGrid(every: intervalNanoseconds, after: now) }
            return true
        }

        /// Has it told of its calls where it was first added to a loop that was measured.
        func noteAdded(at location: CodeLocation) {
            // A timer that is yet to be added may be made invalid on any thread.
            locked {
                guard isValid, !tellsPlace, let handler else { return }
                tellsPlace = true
                self.handler = { timer in
                    guard let loop = timer.loop else { return handler(timer) }
                    loop.callingMeasured(.timer, from: location) { handler(timer) }
                }
            }
        }

        override func enter(_ state: ModeState, of loop: ThreadRunLoop) throws(SystemError) {
            state.timerCount += 1
            if callingLoop == 0 || takeOver(for: loop) {
                wait(in: state, until: date)
            } else if callingLoop != loop.link.number {
                // Another loop calls it for the last time: here it is to be found if this one ends
                // before.
                wait(in: state, until: .distantFuture)
            }
        }

        override func leave(_ state: ModeState) {
            state.timerCount -= 1
            stopWaiting(in: state)
        }

        override func letGo() {
            handler = nil
        }

        /// The latest instant at which it may fire if it waits for a date.
        private func latest(for date: Instant) -> Instant {
            date.advanced(byNanoseconds: toleranceNanoseconds)
        }

        private func wait(in state: ModeState, until date: Instant) {
            places.append(
                state.timerHeap.insert(
                    fire: date.nanoseconds, latest: latest(for: date).nanoseconds,
                    payload: .timer(self)))
        }

        private func stopWaiting(in state: ModeState) {
            let place =
                places.takeOnly() ?? places.removeFirst(where: { isPlace($0, in: state) })
            if let place { _ = state.timerHeap.remove(place) }
        }

        /// Whether a place is that in the heap of this mode.
        ///
        /// The same number may be its place in two heaps; then either of the two will do.
        private func isPlace(_ place: TimerHeap<Waiting>.Handle, in state: ModeState) -> Bool {
            guard case .timer(let timer) = state.timerHeap.payload(of: place) else { return false }
            return timer === self
        }

        private func move(to newDate: Instant) {
            let loop = loop
            loop?.preconditionOnLoop("the fireDate of a timer that is in a loop")
            isYetToBegin.store(false, ordering: .relaxed)
            date = newDate
            if loop != nil { waitAnew() }
        }

        private func changeTolerance(_ tolerance: Duration) {
            let loop = loop
            loop?.preconditionOnLoop("the tolerance of a timer that is in a loop")
            toleranceNanoseconds = Self.usable(tolerance, intervalNanoseconds)
            if loop != nil { waitAnew() }
        }

        /// Tells the heaps that it waits in of a new date or tolerance; while it is called it waits
        /// in none.
        private func waitAnew() {
            guard callingLoop == 0 else { return }
            for state in states {
                guard let place = places.first(where: { isPlace($0, in: state) }) else { continue }
                _ = state.timerHeap.update(
                    place, fire: date.nanoseconds, latest: latest(for: date).nanoseconds)
            }
        }
    }
}
