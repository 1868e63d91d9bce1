// Clients that measure at the same time, each on a thread of its own.

internal import Dispatch
internal import Kernel
internal import Synchronization

/// The meeting point of clients: each signals when it is ready to start and when it is done.
final class Meeting: Sendable {
    /// The measurements of one client.
    struct Outcome: Sendable {
        /// In nanoseconds.
        var times: [Int64] = []
        var hash: UInt64 = 0
        var failure: String?
    }

    let ready = DispatchSemaphore(value: 0)
    let start = Latch()
    let done = DispatchSemaphore(value: 0)
    let outcomes = Mutex<[Outcome]>([])
}
