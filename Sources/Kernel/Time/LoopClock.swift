// The clock as a value. A run loop asks the clock that it was given, never the kernel, so a test
// can hand it one that stands still until told to move.

internal import CLinux
internal import Glibc

/// A source of monotonic time for a run loop.
///
/// - Thread: any thread.
public protocol LoopClock: Sendable {
    /// The current instant; never earlier than one returned before.
    func now() -> Instant

    /// Whether this clock runs by itself, as the kernel's does.
    ///
    /// A loop on a clock that does not sleeps without a deadline and relies on
    /// `whenMoved(_:)` to be woken.
    var runsByItself: Bool { get }

    /// Registers a closure that a clock which is moved by hand calls after each move.
    func whenMoved(_ wake: @escaping @Sendable () -> Void)
}

/// The kernel's monotonic clock.
///
/// - Source: clock_gettime(2), CLOCK_MONOTONIC; a read is a vDSO call, not a switch.
public struct SystemClock: LoopClock {
    /// The one there is.
    public init() {}

    /// The kernel's monotonic time.
    public func now() -> Instant {
        var time = timespec()
        let result = unsafe clock_gettime(CLOCK_MONOTONIC, &time)
        require(result == 0, "the monotonic clock can't be read")
        return Instant(nanoseconds: Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec))
    }

    /// True: it moves by itself.
    public var runsByItself: Bool { true }

    /// Does nothing: this clock is never moved by hand.
    public func whenMoved(_ wake: @escaping @Sendable () -> Void) {}
}

/// Wall-clock time as it passes for one part of a program: the machine's, or one that goes by a
/// clock that is moved by hand.
package struct WallTime: Sendable {
    /// Nanoseconds since 1970-01-01 00:00 UTC.
    private let read: @Sendable () -> Int64
    /// Nil for a clock that alarms of the machine go by.
    private let shared: SharedClock?

    /// The machine's.
    package static let system = WallTime { WallClock.unixNanoseconds() }

    private init(_ shared: SharedClock? = nil, _ read: @escaping @Sendable () -> Int64) {
        self.shared = shared
        self.read = read
    }

    /// The time of a clock that several machines share; the machine's before its first reading.
    package init(of shared: SharedClock) {
        self.init(shared) { shared.unixNanoseconds() ?? WallClock.unixNanoseconds() }
    }

    /// The time that the machine's clock will show at a moment, as far as can be said now.
    ///
    /// - Parameter moment: in Unix milliseconds, of this time.
    /// - Thread: any thread.
    package func onMachine(_ moment: Int64) -> Int64 {
        guard let now = shared?.unixNanoseconds() else { return moment }
        return moment + (WallClock.unixNanoseconds() - now) / 1_000_000
    }

    /// Time that passes with `clock`, and is `unixMilliseconds` when that one shows zero.
    package init(on clock: any LoopClock, from unixMilliseconds: Int64) {
        self.init { unixMilliseconds * 1_000_000 + clock.now().nanoseconds }
    }

    /// Nanoseconds since 1970-01-01 00:00 UTC.
    ///
    /// - Thread: any thread.
    package func unixNanoseconds() -> Int64 { read() }

    /// Milliseconds since 1970-01-01 00:00 UTC: those that are over.
    ///
    /// - Thread: any thread.
    package func unixMilliseconds() -> Int64 { read() / 1_000_000 }

    /// The first whole millisecond that is not before now: what is to come after a while counts
    /// from it, or would come early.
    ///
    /// - Thread: any thread.
    package func unixMillisecondsRoundedUp() -> Int64 { (read() + 999_999) / 1_000_000 }
}

/// Wall-clock time, for records that people and other machines read.
package enum WallClock {
    /// Milliseconds since 1970-01-01 00:00 UTC.
    ///
    /// - Thread: any thread.
    package static func unixMilliseconds() -> Int64 { unixNanoseconds() / 1_000_000 }

    /// Nanoseconds since 1970-01-01 00:00 UTC; enough for them until the year 2262.
    ///
    /// - Thread: any thread.
    package static func unixNanoseconds() -> Int64 {
        var time = timespec()
        let result = unsafe clock_gettime(CLOCK_REALTIME, &time)
        require(result == 0, "the wall clock can't be read")
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }

    /// A time as people and machines read it: `2026-11-21T10:45:22.017Z`.
    ///
    /// - Parameter unixMilliseconds: since 1970-01-01 00:00 UTC.
    /// - Thread: any thread.
    /// - Source: RFC 3339.
    package static func utc(_ unixMilliseconds: Int64) -> String {
        let time = CalendarTime(utc: unixMilliseconds / 1_000)
        func digits(_ number: Int, _ count: Int = 2) -> String {
            let text = String(number)
            return String(repeating: "0", count: max(0, count - text.utf8.count)) + text
        }
        return "\(time.year)-\(digits(time.month))-\(digits(time.day))"
            + "T\(digits(time.hour)):\(digits(time.minute)):\(digits(time.second))"
            + ".\(digits(Int(unixMilliseconds % 1_000), 3))Z"
    }
}
