// Sleeping on a word of memory, and waking its sleepers: the one place that calls futex(2).

internal import CLinux
internal import Glibc
internal import Synchronization

/// A word on which threads sleep; it is stored in an object.
///
/// - Source: futex(2).
extension Atomic where Value == UInt32 {
    /// Sleeps if the word has a value.
    ///
    /// The kernel compares the word itself, so a change and a `wakeSleepers` that come before the
    /// sleep are not lost. Traps with a message if the kernel refuses to sleep.
    ///
    /// - Returns: false once the deadline has passed. True for any other reason, a signal among
    ///   them: look at the word again.
    /// - Thread: any thread.
    /// - Blocks: until another thread wakes it, at most until the deadline.
    borrowing func sleep(while value: UInt32, until deadline: Instant = .distantFuture) -> Bool {
        let result: CInt
        if deadline == .distantFuture {
            result = unsafe clinux_futex_wait(address, value, nil)
        } else {
            // A deadline before the origin would be an invalid time: it has passed anyway.
            let due = Swift.max(deadline.nanoseconds, 0)
            var time = timespec(
                tv_sec: Int(due / 1_000_000_000), tv_nsec: Int(due % 1_000_000_000))
            result = unsafe clinux_futex_wait(address, value, &time)
        }
        if result == -ETIMEDOUT { return false }
        // EAGAIN: the word changed before the kernel looked.
        require(
            result == 0 || result == -EAGAIN || result == -EINTR,
            "futex wait failed with errno \(-result)")
        return true
    }

    /// Wakes threads that sleep on the word.
    ///
    /// - Parameter count: how many at most.
    /// - Thread: any thread.
    /// - Blocks: never.
    borrowing func wakeSleepers(_ count: CInt) {
        _ = unsafe clinux_futex_wake(address, count)
    }

    private var address: UnsafeRawPointer {
        // SAFETY: an Atomic stored in an object never moves, and its storage is the bare four
        // bytes.
        unsafe withUnsafePointer(to: self) { unsafe UnsafeRawPointer($0) }
    }
}
