// The floor of posting: a lock around an array that the thread takes whole. It can do nothing else,
// no timers, no modes, no order to stop; so it shows what those cost.

internal import Dispatch
internal import Kernel
internal import Synchronization

/// A lock and a batch.
final class BatchPoster: Poster {
    // In a struct: a bare closure in an array costs one more allocation.
    private struct Job: Sendable {
        let body: @Sendable () -> Void
    }

    private struct State {
        var jobs: [Job] = []
        var isStopped = false
    }

    private final class Shared: Sendable {
        let state = Mutex(State())
        let arrived = DispatchSemaphore(value: 0)
    }

    private let shared = Shared()
    private let thread: Mutex<SystemThread?>

    init() throws {
        let shared = shared
        thread = Mutex(try SystemThread(name: "bench") { Self.serve(shared) })
    }

    func post(_ body: @escaping @Sendable () -> Void) {
        let isFirst = shared.state.withLock { state in
            state.jobs.append(Job(body: body))
            return state.jobs.count == 1
        }
        if isFirst { shared.arrived.signal() }
    }

    func stop() {
        shared.state.withLock { $0.isStopped = true }
        shared.arrived.signal()
        let last = thread.withLock { $0.take() }
        last?.join()
    }

    private static func serve(_ shared: Shared) {
        var batch: [Job] = []
        while true {
            shared.arrived.wait()
            let isStopped = shared.state.withLock { state in
                swap(&batch, &state.jobs)
                return state.isStopped
            }
            for job in batch { job.body() }
            batch.removeAll(keepingCapacity: true)
            if isStopped { return }
        }
    }
}
