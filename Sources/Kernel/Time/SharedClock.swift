// The wall clock of a server, for machines that share it: none of them goes by its own, which may
// be hours off, or set.
//
// Between two readings it passes as the time since this machine's start does, which no one sets.

internal import CLinux
internal import Glibc
internal import Synchronization

/// A wall clock of another machine, by its latest reading.
///
/// - Thread: any thread.
/// - Source: clock_gettime(2), CLOCK_BOOTTIME.
package final class SharedClock: Sendable {
    /// A reading that differs less from the time that was expected changes nothing: answers take a
    /// while, and clocks that are kept right differ by milliseconds.
    package static let tolerance = Duration.milliseconds(250)
    private static let unknown = Int64.min

    /// By how many nanoseconds it is ahead of the time since this machine's start.
    private let lead = Atomic<Int64>(SharedClock.unknown)
    /// How long the reading took that has set it: by half of that it may be wrong.
    private let doubt = Atomic<Int64>(0)
    private let whenSet = Mutex<(@Sendable () -> Void)?>(nil)
    private let sinceStart: @Sendable () -> Int64

    /// A clock that shows this machine's time until it is read for the first time.
    package convenience init() { self.init { SharedClock.nanosecondsSinceStart() } }

    /// - Parameter sinceStart: nanoseconds that pass as they do on the other machine.
    package init(_ sinceStart: @escaping @Sendable () -> Int64) { self.sinceStart = sinceStart }

    /// The nanoseconds since this machine's start, those of its sleep included.
    private static func nanosecondsSinceStart() -> Int64 {
        var time = timespec()
        let result = unsafe clock_gettime(CLOCK_BOOTTIME, &time)
        require(result == 0, "the time since the machine's start can't be read")
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }

    /// The moment to be given to `wasRead` as the earliest one.
    package func beforeReading() -> Int64 { sinceStart() }

    /// Takes a reading: then the clock shows that time, if it was off by more than the tolerance,
    /// or if the reading took less than half as long as the one before that set it.
    ///
    /// - Thread: that of all readings.
    /// - Parameters:
    ///   - unixNanoseconds: the reading, in nanoseconds since 1970-01-01 00:00 UTC.
    ///   - earliest: a moment before it, of `beforeReading`.
    package func wasRead(_ unixNanoseconds: Int64, after earliest: Int64) {
        let latest = sinceStart()
        let before = lead.load(ordering: .acquiring)
        let tolerance = Self.tolerance.nanosecondsClamped
        var isExpected = false
        if before != Self.unknown {
            let expected = (earliest + before - tolerance)...(latest + before + tolerance)
            isExpected = expected.contains(unixNanoseconds)
        }
        let span = latest - earliest
        // Relaxed: only the thread of readings uses it.
        if isExpected, span >= doubt.load(ordering: .relaxed) / 2 { return }
        doubt.store(span, ordering: .relaxed)
        lead.store(unixNanoseconds - (earliest + span / 2), ordering: .releasing)
        if before != Self.unknown, !isExpected { whenSet.withLock { $0 }?() }
    }

    /// Sets the closure that is called, on the thread of a reading, when the clock has been set: as
    /// a reading says, after the first one.
    package func whenSet(_ body: @escaping @Sendable () -> Void) { whenSet.withLock { $0 = body } }

    /// Nanoseconds since 1970-01-01 00:00 UTC; nil before the first reading.
    func unixNanoseconds() -> Int64? {
        let lead = lead.load(ordering: .acquiring)
        return lead == Self.unknown ? nil : sinceStart() + lead
    }
}
