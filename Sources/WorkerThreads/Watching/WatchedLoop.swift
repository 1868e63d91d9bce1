// One loop as its watchdog sees it.

internal import Kernel
internal import RunLoops
internal import Synchronization

/// A loop that a watchdog looks after.
final class WatchedLoop: LoopGuardian, @unchecked Sendable {
    // SAFETY: `reported` and `restsUntil` are touched on the watchdog's thread only; the rest never
    // changes or is atomic.

    let watch: LoopWatch
    private let name: String
    private let limit: Duration
    private let report: @Sendable (Watchdog.Report) -> Void
    private let kennel: Kennel
    private let hasWoken = Atomic<Bool>(false)
    /// The number of the callout that was reported last.
    private var reported: UInt64?
    /// Until when it is not armed though it sleeps: it was just awake, and may be so often.
    private var restsUntil = Instant.distantPast

    init(
        name: String, watch: LoopWatch, limit: Duration,
        report: @escaping @Sendable (Watchdog.Report) -> Void, kennel: Kennel
    ) {
        self.name = name
        self.watch = watch
        self.limit = limit
        self.report = report
        self.kennel = kennel
    }

    // MARK: On the watchdog's thread

    /// Reports what hangs.
    ///
    /// - Returns: when to look again.
    func look(at now: Instant) -> Instant {
        if hasWoken.exchange(false, ordering: .acquiringAndReleasing) {
            restsUntil = now.advanced(by: limit)
        }
        let reading = watch.read()
        if reading.isAsleep {
            if restsUntil > now { return restsUntil }
            return watch.arm() ? .distantFuture : now.advanced(by: limit)
        }
        // Between two callouts, or not known yet: in a moment it is.
        guard let callout = reading.callout else { return now.advanced(by: limit) }
        let due = callout.since.advanced(by: limit)
        if due > now { return due }
        if reported != reading.number {
            reported = reading.number
            reportHang(callout, reading.number, callout.since.duration(to: now))
        }
        // It tells when it is over.
        return .distantFuture
    }

    private func reportHang(
        _ callout: ThreadRunLoop.RunningCallout, _ number: UInt64, _ duration: Duration
    ) {
        let addresses = watch.addresses(during: number)
        report(
            Watchdog.Report(
                thread: name, callout: callout, duration: duration, isOver: false,
                backtrace: Symbols.describe(addresses)))
    }

    // MARK: On the loop's thread

    func loopWoke() {
        hasWoken.store(true, ordering: .releasing)
        kennel.wake()
    }

    func calloutEnded(
        _ callout: ThreadRunLoop.RunningCallout, number: UInt64, after duration: Duration
    ) {
        let over = Watchdog.Report(
            thread: name, callout: callout, duration: duration, isOver: true, backtrace: [])
        kennel.submit { [report] in report(over) }
        kennel.wake()
    }

    func loopEnded() { kennel.remove(self) }
}
