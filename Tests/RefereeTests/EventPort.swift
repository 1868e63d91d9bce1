// An event descriptor: what CFRunLoop's version-1 sources are made of on Linux, and what our ports
// watch here. A counter that is readable when it is not zero.

import Foundation
import Kernel

final class EventPort: Sendable {
    let number: CInt

    private typealias Make = @convention(c) (CUnsignedInt, CInt) -> CInt

    /// The C library's eventfd, by name: Swift's Glibc module leaves out its header.
    private static let make: Make = {
        guard let symbol = dlsym(nil, "eventfd") else {
            preconditionFailure("the C library has no eventfd")
        }
        return unsafeBitCast(symbol, to: Make.self)
    }()

    init() {
        // EFD_CLOEXEC and EFD_NONBLOCK are these flags of open, by eventfd(2).
        number = Self.make(0, CInt(O_CLOEXEC) | CInt(O_NONBLOCK))
        precondition(number >= 0, "eventfd failed with errno \(errno)")
    }

    deinit {
        _ = close(number)
    }

    /// Makes it readable.
    ///
    /// - Thread: any thread.
    func signal() {
        var one: UInt64 = 1
        _ = write(number, &one, 8)
    }

    /// Makes it silent again.
    ///
    /// - Returns: whether it was readable.
    func take() -> Bool {
        var count: UInt64 = 0
        return read(number, &count, 8) == 8
    }
}
