// A file descriptor with one owner. Raw numbers leave this target only where an interface of the
// kernel asks for one.

internal import CLinux
internal import Glibc

/// A file descriptor that is closed when its owner lets go of it.
///
/// - Thread: any thread; the owner sees to it that it is not used after the close.
public struct Descriptor: ~Copyable, Sendable {
    /// The number the kernel knows it by; valid as long as this value lives.
    public let number: CInt

    /// Takes over an open descriptor.
    ///
    /// - Parameter number: an open descriptor that no other code closes.
    public init(owning number: CInt) {
        require(number >= 0, "a descriptor is not negative, is \(number)")
        self.number = number
    }

    /// Leaves the descriptor open to the caller, who closes it.
    consuming func giveAway() -> CInt {
        let number = number
        discard self
        return number
    }

    deinit {
        // close(2): on Linux the descriptor is gone whatever close returns, so it is never retried.
        _ = Glibc.close(number)
    }
}

/// Calls `body` again while it fails with EINTR; then returns its result or throws what it left.
///
/// EBADF and EFAULT are mistakes of this program and trap.
@discardableResult
package func retrying<Result: SignedInteger>(
    _ operation: @autoclosure () -> String, _ body: () -> Result
) throws(SystemError) -> Result {
    while true {
        let result = body()
        if result >= 0 { return result }
        let error = Glibc.errno
        if error == EINTR { continue }
        require(error != EBADF, "\(operation()): bad file descriptor")
        require(error != EFAULT, "\(operation()): bad address")
        throw SystemError(operation: operation(), errno: error)
    }
}
