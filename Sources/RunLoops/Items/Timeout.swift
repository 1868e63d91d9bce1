// A time-out: a closure with a date, for programs that have a hundred thousand of them. It is no
// object: it lies in the heap of its mode, and its owner keeps a number. It knows
// nothing of other threads and of other modes; what needs them is a timer.

public import Kernel
internal import Structures

extension ThreadRunLoop {
    /// An entry in the heap of a mode.
    enum Waiting {
        case timer(Timer)
        case timeout(@Sendable () -> Void)

        var timer: Timer? { if case .timer(let timer) = self { timer } else { nil } }
    }

    /// Names a closure that `schedule(after:)` has put off, until it is called.
    ///
    /// A plain value, and nothing that has to be kept: who will never cancel drops it. Once the
    /// closure was called or cancelled it names nothing, for ever.
    public struct Timeout: Hashable, Sendable {
        let place: TimerHeap<Waiting>.Handle
        /// The place of the mode among those of its loop.
        let mode: UInt32
        /// Of the loop.
        let loop: UInt32
    }

    /// Calls a closure once, at a date, in a run in one mode.
    ///
    /// It is called where and when a timer that fires once would be, in one order with the timers
    /// of the mode, and keeps the mode alive until then. It costs about half of what a `Timer`
    /// does, and one allocation in place of two. What it lacks for that: it is in one mode, which
    /// can't be `.common`; only the loop's own thread schedules and cancels it; and it can't be
    /// cancelled while it is called.
    ///
    /// - Parameters:
    ///   - date: when it is called; a past one means in the next pass.
    ///   - tolerance: how much later it may be, so that neighbours share a wake-up; nil for none.
    ///   - mode: the mode.
    ///   - body: what is called. What it holds is let go of when it was called or cancelled, or
    ///     when the loop ends with its thread: then it is not called.
    ///   - fileID: the caller's file, noted while the loop is measured.
    ///   - line: the caller's line.
    /// - Returns: what to cancel it by.
    /// - Thread: the loop's own thread.
    /// - Blocks: never.
    /// - Complexity: O(log n) in the timers of the mode; on average O(1) for one that is not among
    ///   the first to be called.
    @discardableResult
    public func schedule(
        at date: Instant, tolerance: Duration? = nil, in mode: Mode = .default,
        _ body: consuming @escaping @Sendable () -> Void,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> Timeout {
        preconditionOnLoop()
        if isMeasured { body = telling(consume body, fileID, line) }
        let latest = latest(date, tolerance)
        let index = index(of: mode)
        let place =
            index == 0
            ? defaultState.schedule(consume body, at: date, latest: latest)
            : state(at: index).schedule(consume body, at: date, latest: latest)
        return Timeout(
            place: place, mode: UInt32(truncatingIfNeeded: index), loop: link.number)
    }

    /// Calls a closure once, a while from now, in a run in one mode.
    ///
    /// ```swift
    /// let timeout = loop.schedule(after: .seconds(30)) { request.fail() }
    /// request.whenAnswered { loop.cancel(timeout) }
    /// ```
    ///
    /// - Parameters:
    ///   - delay: by the loop's clock; none or less means in the next pass.
    ///   - tolerance: how much later it may be, so that neighbours share a wake-up; nil for none.
    ///   - mode: the mode; not `.common`.
    ///   - body: what is called, once, unless it is cancelled or the loop ends before.
    ///   - fileID: the caller's file, noted while the loop is measured.
    ///   - line: the caller's line.
    /// - Returns: what to cancel it by.
    /// - Thread: the loop's own thread.
    /// - Blocks: never.
    /// - Complexity: that of `schedule(at:)`.
    @discardableResult
    public func schedule(
        after delay: Duration, tolerance: Duration? = nil, in mode: Mode = .default,
        _ body: consuming @escaping @Sendable () -> Void,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> Timeout {
        schedule(
            at: now.advanced(by: delay), tolerance: tolerance, in: mode, body,
            fileID: fileID, line: line)
    }

    /// The closure of a time-out with a note of where it was scheduled.
    ///
    /// In the closure and not beside it: a time-out of a loop that is not measured is no larger for
    /// it. Out of line, as few are scheduled while the loop is measured.
    @inline(never)
    private func telling(
        _ body: consuming @escaping @Sendable () -> Void, _ fileID: StaticString, _ line: UInt
    ) -> @Sendable () -> Void {
        let location = CodeLocation(fileID: fileID, line: line)
        return { [body] in
            ThreadRunLoop.current.callingMeasured(.timer, from: location, body)
        }
    }

    /// Sees to it that a closure is not called, and lets go of what it holds.
    ///
    /// - Returns: false when it was called or cancelled already, is being called right now, or is
    ///   another loop's.
    /// - Thread: the loop's own thread.
    /// - Blocks: never.
    /// - Complexity: O(1), and now and then O(n) after n others.
    @discardableResult
    public func cancel(_ timeout: Timeout) -> Bool {
        preconditionOnLoop()
        guard hasMode(of: timeout) else { return false }
        return timeout.mode == 0
            ? defaultState.cancel(timeout.place)
            : state(at: Int(timeout.mode)).cancel(timeout.place)
    }

    /// Puts a closure off to another date, or has it called earlier.
    ///
    /// It is as though it were cancelled and scheduled anew: among those of the same date it is the
    /// last one, and it has another name.
    ///
    /// - Parameters:
    ///   - timeout: what it was scheduled as.
    ///   - date: when it is called.
    ///   - tolerance: how much later it may be; nil for none.
    /// - Returns: what to cancel it by from now on; nil when it was called or cancelled already, is
    ///   being called right now, or is another loop's.
    /// - Thread: the loop's own thread.
    /// - Blocks: never.
    public func reschedule(
        _ timeout: Timeout, at date: Instant, tolerance: Duration? = nil
    ) -> Timeout? {
        preconditionOnLoop()
        guard hasMode(of: timeout) else { return nil }
        let state = state(at: Int(timeout.mode))
        guard let waiting = state.timerHeap.remove(timeout.place) else { return nil }
        let place = state.timerHeap.insert(
            fire: date.nanoseconds, latest: latest(date, tolerance), payload: waiting)
        return Timeout(place: place, mode: timeout.mode, loop: timeout.loop)
    }

    /// Puts a closure off to a while from now, or has it called earlier, as `reschedule(_:at:)`
    /// does.
    ///
    /// For a closure that is to be called after so long without an event: called at each event,
    /// once more.
    ///
    /// - Parameters:
    ///   - timeout: what it was scheduled as.
    ///   - delay: by the loop's clock; none or less means in the next pass.
    ///   - tolerance: how much later it may be; nil for none.
    /// - Returns: what to cancel it by from now on; nil when it was called or cancelled already, is
    ///   being called right now, or is another loop's.
    /// - Thread: the loop's own thread.
    /// - Blocks: never.
    public func reschedule(
        _ timeout: Timeout, after delay: Duration, tolerance: Duration? = nil
    ) -> Timeout? {
        reschedule(timeout, at: now.advanced(by: delay), tolerance: tolerance)
    }

    /// Calls a time-out that is due.
    ///
    /// It has left the heap when it is called, so that a nested run does not call it again, but
    /// keeps the mode alive, as a timer does.
    ///
    /// - Returns: whether it was there still.
    func fireTimeout(at place: TimerHeap<Waiting>.Handle, in state: ModeState) -> Bool {
        guard case .timeout(let body) = state.timerHeap.remove(place) else { return false }
        Callout.fireTimeout(body)
        state.loseTimeout()
        return true
    }

    /// Whether it is this loop's, and its mode is there: a loop that ends has none any more but the
    /// default one, in which nothing is left.
    @inline(__always)
    private func hasMode(of timeout: Timeout) -> Bool {
        timeout.loop == link.number && timeout.mode < modeCount
    }

    /// Until when a date may be kept, in nanoseconds.
    private func latest(_ date: Instant, _ tolerance: Duration?) -> Int64 {
        guard let tolerance else { return date.nanoseconds }
        return date.advanced(byNanoseconds: max(0, tolerance.nanosecondsClamped)).nanoseconds
    }
}

extension ModeState {
    /// Takes a closure in that is to be called at a date.
    func schedule(
        _ body: consuming @escaping @Sendable () -> Void, at date: Instant, latest: Int64
    ) -> TimerHeap<ThreadRunLoop.Waiting>.Handle {
        liveCount += 1
        timerCount += 1
        return timerHeap.insert(
            fire: date.nanoseconds, latest: latest, payload: .timeout(consume body))
    }

    /// Lets go of a closure that is not to be called any more.
    ///
    /// - Returns: false when it was called or cancelled already.
    func cancel(_ place: TimerHeap<ThreadRunLoop.Waiting>.Handle) -> Bool {
        let cancelled = timerHeap.remove(place)
        guard cancelled != nil else { return false }
        // Values that it holds may end with it, and look at the loop: by then all is in order.
        withExtendedLifetime(cancelled) { loseTimeout() }
        return true
    }

    /// Counts a time-out that was called or cancelled.
    func loseTimeout() {
        liveCount -= 1
        timerCount -= 1
    }

    /// Lets go of all time-outs; on the loop's thread, when the loop ends.
    func dropTimeouts() {
        // They go when all have left the heap: what they hold may end with them, and cancel others.
        for (place, waiting) in timerHeap.all {
            guard case .timeout = waiting else { continue }
            if timerHeap.remove(place) != nil { loseTimeout() }
        }
    }
}
