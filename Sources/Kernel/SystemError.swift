// The one error of this target: which system call failed, and why.

internal import CLinux
internal import Glibc

/// A system call that the world made fail: the call's name and the error number it left.
///
/// Error numbers that can only mean a mistake of ours (EBADF, EFAULT) trap instead of being thrown.
///
/// - Source: errno(3).
public struct SystemError: Error, Equatable, Sendable, CustomStringConvertible {
    /// The system call, as its man page spells it, with its object where that helps: `bind /run/x`.
    public let operation: String
    /// The error number, positive.
    public let errno: CInt

    /// An error of an operation.
    public init(operation: String, errno: CInt) {
        self.operation = operation
        self.errno = errno
    }

    /// The error that the calling thread's last system call left in `errno`.
    package static func last(_ operation: String) -> SystemError {
        SystemError(operation: operation, errno: Glibc.errno)
    }

    /// Whether the disk, or what this user may have of it, is full.
    package var isLackOfRoom: Bool { errno == ENOSPC || errno == EDQUOT }

    /// Whether something is where a new file was to be made.
    package var isAlreadyThere: Bool { errno == EEXIST }

    /// Whether there is no such file.
    package var isLackOfFile: Bool { errno == ENOENT || errno == ENOTDIR }

    /// Whether there is no such process.
    package var isLackOfProcess: Bool { errno == ESRCH }

    /// `operation: text of the error number`, for people.
    public var description: String { "\(operation): \(reason)" }

    /// The text of the error number: `Permission denied`.
    ///
    /// - Source: strerror_r(3).
    public var reason: String {
        var buffer = [CChar](repeating: 0, count: 256)
        return unsafe buffer.withUnsafeMutableBufferPointer { bytes -> String in
            // Without _GNU_SOURCE this is the variant that fills the buffer and returns an error.
            guard let base = bytes.baseAddress, unsafe strerror_r(errno, base, bytes.count) == 0
            else { return "error \(errno)" }
            return unsafe String(cString: base)
        }
    }
}
