// Perform requests for modes other than the queue's: they wait in the loop as blocks, and here, so
// that a thread that ends before their mode runs can tell the waiting senders.

internal import Synchronization

/// The requests of one thread that wait for a mode, by number.
///
/// The taker of a request, the block that runs or the thread that ends, is the one to answer it.
struct ModeRequests: ~Copyable, Sendable {
    // Not private: the compiler (6.3) must see it where the thread's core is laid out.
    struct State {
        var waiting: [UInt64: PerformRequest] = [:]
        var nextID: UInt64 = 0
        var isClosed = false
    }

    private let state = Mutex(State())

    /// Keeps a request until it is taken.
    ///
    /// - Parameters:
    ///   - thread: the name of its thread, for errors.
    ///   - limit: how many may wait.
    /// - Thread: any thread.
    func add(
        _ request: PerformRequest, thread: String, limit: Int
    ) throws(SubmitError) -> UInt64 {
        try state.withLock { state throws(SubmitError) in
            if state.isClosed { throw .stopped(thread: thread) }
            if state.waiting.count >= limit { throw .full(thread: thread, limit: limit) }
            state.nextID += 1
            state.waiting[state.nextID] = request
            return state.nextID
        }
    }

    /// - Returns: the request, or nil when it has been refused.
    func take(_ id: UInt64) -> PerformRequest? {
        state.withLock { $0.waiting.removeValue(forKey: id) }
    }

    /// Refuses later requests, and those that wait; on the worker's thread, at its end.
    ///
    /// - Returns: how many waited.
    func close(thread: String) -> Int {
        let left = state.withLock { state in
            state.isClosed = true
            defer { state.waiting = [:] }
            return state.waiting.sorted { $0.key < $1.key }.map(\.value)
        }
        return left.refuseAll(.stopped(thread: thread))
    }
}
