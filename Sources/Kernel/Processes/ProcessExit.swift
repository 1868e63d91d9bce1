// Ending the process at once, without its exit handlers.

internal import Glibc

package enum ProcessExit {
    /// Ends the process at once: no thread is waited for, nothing is cleaned up.
    ///
    /// - Thread: any.
    /// - Source: _exit(2).
    package static func now(status: CInt) -> Never {
        _exit(status)
    }
}
