// One thread's part in a pool: a custom source that takes work from the pool's queues, one item
// after another, for as long as there is some.

internal import Kernel
internal import RunLoops
internal import Structures
internal import Synchronization

/// The queues of a pool, shared by its members and whoever submits.
final class PoolQueues: Sendable {
    let board: Mutex<PoolBoard<PerformRequest>>
    let limit: Int

    init(memberCount: Int, limit: Int) {
        board = Mutex(PoolBoard(memberCount: memberCount))
        self.limit = limit
    }
}

/// A pool's source in one worker's loop.
final class PoolMember: WorkerAttachment, @unchecked Sendable {
    // SAFETY: `source` is written once, on the worker's thread, before `wake` can find it: a member
    // is woken only after it rested, which its source did. The rest is immutable or guarded.

    private let index: Int
    private let queues: PoolQueues
    private let core: WorkerCore
    private var source: ThreadRunLoop.Source?

    /// Items run in one go before timers and ports get their turn again.
    private static let batchCount = 256

    init(index: Int, queues: PoolQueues, core: WorkerCore) {
        self.index = index
        self.queues = queues
        self.core = core
    }

    /// Lets the member look at the queues.
    ///
    /// - Thread: any thread.
    func wake() {
        source?.signal()
        core.loop.wakeUp()
    }

    func workerAttached(_ core: WorkerCore) {
        let source = ThreadRunLoop.Source { [unowned self] in performBatch() }
        self.source = source
        for mode: ThreadRunLoop.Mode in [.default, .draining] { core.loop.add(source, to: mode) }
        source.signal()
    }

    func workerLifeChanged(_ core: WorkerCore) {
        let isPaused = core.life.withLock { $0.mode == .paused }
        if isPaused {
            let heir = queues.board.withLock { $0.leave(index) }
            if let heir { wakeOther?(heir) }
        } else {
            queues.board.withLock { $0.comeBack(index) }
            source?.signal()
        }
    }

    func hasWork(for core: WorkerCore) -> Bool {
        queues.board.withLock { $0.hasWork(for: index) }
    }

    func workerEnded(_ core: WorkerCore) {
        let left = queues.board.withLock { $0.end(index) }
        core.abandonedCount.add(left.count, ordering: .relaxed)
        for case .answered(let answered) in left { answered.refuse(.stopped(thread: core.name)) }
        source?.invalidate()
    }

    /// Wakes another member of the pool; set by the pool before any thread can pause.
    var wakeOther: (@Sendable (Int) -> Void)?

    private func performBatch() {
        for _ in 0..<Self.batchCount {
            if core.isToYield { break }
            guard let request = queues.board.withLock({ $0.next(for: index) }) else { return }
            request.perform()
        }
        // More may wait: for the next pass, or for when this mode runs again.
        source?.signal()
        core.loop.wakeUp()
    }
}
