// Dates of Swift's continuous clock where a loop wants its own.

extension ThreadRunLoop {
    /// The instant of this loop's clock that is as far from now as another one is by the continuous
    /// clock.
    ///
    /// - Thread: any thread.
    public func instant(_ instant: ContinuousClock.Instant) -> Instant {
        now.advanced(by: ContinuousClock.now.duration(to: instant))
    }

    /// Runs the loop in a mode until a date of the continuous clock, at most.
    ///
    /// See `run(mode:until:returnAfterSourceHandled:)`.
    ///
    /// - Thread: the loop's own thread.
    /// - Blocks: until the run ends.
    public func run(
        mode: Mode = .default, until deadline: ContinuousClock.Instant,
        returnAfterSourceHandled: Bool = false
    ) -> RunResult {
        run(
            mode: mode, until: instant(deadline),
            returnAfterSourceHandled: returnAfterSourceHandled)
    }

    /// Calls a closure once, at a date of the continuous clock, in a run in one mode.
    ///
    /// See `schedule(at:tolerance:in:_:)`. The date is turned into one of the loop's clock at once.
    ///
    /// - Parameters:
    ///   - date: when it is called; a past one means in the next pass.
    ///   - tolerance: how much later it may be, so that neighbours share a wake-up; nil for none.
    ///   - mode: the mode; not `.common`.
    ///   - body: what is called, once, unless it is cancelled or the loop ends before.
    ///   - fileID: the caller's file, noted while the loop is measured.
    ///   - line: the caller's line.
    /// - Returns: what to cancel it by.
    /// - Thread: the loop's own thread.
    /// - Blocks: never.
    /// - Complexity: that of the one with a date of the loop's clock.
    @discardableResult
    public func schedule(
        at date: ContinuousClock.Instant, tolerance: Duration? = nil, in mode: Mode = .default,
        _ body: consuming @escaping @Sendable () -> Void,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> Timeout {
        schedule(
            at: instant(date), tolerance: tolerance, in: mode, body, fileID: fileID, line: line)
    }
}

extension ThreadRunLoop.Timer {
    /// A timer for a date of the continuous clock, in a loop that goes by the system's clock.
    ///
    /// - Parameters:
    ///   - fireDate: when it fires first; past, it fires in the next pass, and its grid is kept.
    ///   - interval: time between firings; nil or zero fires once.
    ///   - tolerance: how much later it may fire; at most half the interval is used.
    ///   - handler: called on the loop's thread.
    public convenience init(
        at fireDate: ContinuousClock.Instant, every interval: Duration? = nil,
        tolerance: Duration = .zero, handler: consuming @escaping Handler
    ) {
        self.init(at: Instant(fireDate), every: interval, tolerance: tolerance, handler: handler)
    }
}
