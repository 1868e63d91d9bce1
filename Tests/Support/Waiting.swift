// Bounded waits for a descriptor of another process or of the kernel, which nothing in this process
// announces.

internal import Glibc

/// The error of an expected event that did not happen, or of an unexpected one.
package struct Unexpected: Error, CustomStringConvertible {
    package let description: String

    package init(_ description: String) { self.description = description }
}

/// The time after which a test gives up: far more than any wait here takes, and less than its time
/// limit, which would not say what it waited for.
package let patienceMilliseconds = 90_000

/// Waits until a descriptor is ready.
///
/// - Returns: whether it is, in time.
package func isReady(
    _ number: CInt, for events: Int32 = POLLIN, within milliseconds: Int = patienceMilliseconds
) -> Bool {
    var request = pollfd(fd: number, events: CShort(events), revents: 0)
    while true {
        let count = unsafe poll(&request, 1, CInt(milliseconds))
        if count < 0 && errno == EINTR { continue }
        return count == 1
    }
}

/// Waits until a descriptor is ready.
///
/// - Throws: that it is not, in time.
package func waitUntilReady(_ number: CInt, for events: Int32 = POLLIN) throws {
    guard isReady(number, for: events) else {
        throw Unexpected("nothing happens on descriptor \(number)")
    }
}
