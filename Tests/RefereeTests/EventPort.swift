// The descriptors of the ports that are compared: event descriptors, which CFRunLoop's version-1
// sources are made of on Linux, and pipes, which hold a message for each signal.

import Foundation
import Kernel

/// A descriptor that is readable while a signal waits: a counter, or a pipe with a message for
/// each.
final class EventPort: Sendable {
    /// The descriptor that a loop watches.
    let number: CInt
    /// Where messages are written; nil for a counter.
    private let writing: CInt?

    private typealias Make = @convention(c) (CUnsignedInt, CInt) -> CInt

    /// The C library's eventfd, by name: Swift's Glibc module leaves out its header.
    private static let make: Make = {
        guard let symbol = dlsym(nil, "eventfd") else {
            preconditionFailure("the C library has no eventfd")
        }
        return unsafeBitCast(symbol, to: Make.self)
    }()

    /// - Parameter carriesData: whether each signal is there until it was taken by itself; else
    ///   they are one mark.
    init(carriesData: Bool = false) {
        if carriesData {
            var ends: [CInt] = [-1, -1]
            let result = pipe(&ends)
            precondition(result == 0, "pipe failed with errno \(errno)")
            for end in ends {
                _ = fcntl(end, F_SETFD, FD_CLOEXEC)
                _ = fcntl(end, F_SETFL, O_NONBLOCK)
            }
            number = ends[0]
            writing = ends[1]
        } else {
            // EFD_CLOEXEC and EFD_NONBLOCK are these flags of open, by eventfd(2).
            number = Self.make(0, CInt(O_CLOEXEC) | CInt(O_NONBLOCK))
            precondition(number >= 0, "eventfd failed with errno \(errno)")
            writing = nil
        }
    }

    deinit {
        _ = close(number)
        if let writing { _ = close(writing) }
    }

    /// Makes it readable, or adds a message.
    ///
    /// - Thread: any thread.
    func signal() {
        var one: UInt64 = 1
        _ = write(writing ?? number, &one, 8)
    }

    /// Takes the mark, or the oldest message.
    ///
    /// - Returns: whether it was readable.
    func take() -> Bool {
        var count: UInt64 = 0
        return read(number, &count, 8) == 8
    }
}
