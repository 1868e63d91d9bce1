// An alarm on the wall clock, as something to read: it follows the clock when that is set,
// which the timers of a loop, being on the monotonic clock, do not.

internal import CLinux
internal import Glibc

/// A descriptor that becomes readable when the wall clock shows a time, or has been set.
///
/// - Source: timerfd_create(2), CLOCK_REALTIME, TFD_TIMER_CANCEL_ON_SET.
package struct WallAlarm: ~Copyable, Sendable {
    /// Why it became readable.
    package enum Event: Sendable, Equatable {
        /// The time has come.
        case rang
        /// The clock was set; the alarm has to be set anew.
        case clockWasSet
    }

    /// A time that does not come: the alarm tells only that the clock was set.
    package static let never: Int64 = 9_000_000_000_000

    /// The descriptor that the poller watches.
    package let descriptor: Descriptor

    /// Makes one that is not set.
    ///
    /// - Throws: EMFILE, ENFILE, ENOMEM.
    /// - Thread: any.
    /// - Blocks: never.
    package init() throws(SystemError) {
        descriptor = Descriptor(
            owning: try retrying("timerfd_create") {
                timerfd_create(CLOCK_REALTIME, CInt(TFD_NONBLOCK) | CInt(TFD_CLOEXEC))
            })
    }

    /// Sets the alarm in place of what it was set to; a time that has passed rings at once.
    ///
    /// - Parameter unixMilliseconds: since 1970-01-01 00:00 UTC.
    /// - Thread: any.
    /// - Blocks: never.
    package borrowing func set(to unixMilliseconds: Int64) throws(SystemError) {
        var setting = itimerspec()
        // All zero would disarm it, and what is disarmed does not tell that the clock was set.
        let time = min(max(1, unixMilliseconds), Self.never)
        setting.it_value.tv_sec = time_t(time / 1_000)
        setting.it_value.tv_nsec = Int(time % 1_000) * 1_000_000
        let flags = CInt(TFD_TIMER_ABSTIME) | CInt(TFD_TIMER_CANCEL_ON_SET)
        try retrying("timerfd_settime") {
            unsafe timerfd_settime(descriptor.number, flags, &setting, nil)
        }
    }

    /// The event since it was last set; nil if there was none.
    ///
    /// - Thread: any.
    /// - Blocks: never.
    package borrowing func next() throws(SystemError) -> Event? {
        var count: UInt64 = 0
        do throws(SystemError) {
            let result = try unsafe withUnsafeMutableBytes(of: &count) {
                (bytes) throws(SystemError) in
                try unsafe descriptor.read(into: bytes)
            }
            if case .bytes = result { return .rang }
            return nil
        } catch {
            if error.errno == ECANCELED { return .clockWasSet }
            throw error
        }
    }
}
