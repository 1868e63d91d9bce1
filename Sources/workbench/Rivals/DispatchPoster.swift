// The rival that most Swift programmers would reach for: a serial queue of libdispatch.

internal import Dispatch

/// `DispatchQueue.async` on a serial queue.
struct DispatchPoster: Poster {
    private let queue = DispatchQueue(label: "bench")

    func post(_ body: @escaping @Sendable () -> Void) { queue.async(execute: body) }

    func stop() { queue.sync {} }
}
