// Ours once more: a worker thread whose loop's time-outs take part, which are no objects.

internal import Kernel
internal import RunLoops
internal import WorkerThreads

/// `ThreadRunLoop.schedule` and `cancel`.
struct TimeoutLoop: TimerLoop {
    private let base: WorkerLoop

    init() throws { base = try WorkerLoop() }

    func post(_ body: @escaping @Sendable () -> Void) { base.post(body) }
    func stop() { base.stop() }

    func makeTimers(_ board: TimerBoard) -> Timers { Timers(base.worker.runLoop, board) }

    final class Timers: LoopTimers {
        private let loop: ThreadRunLoop
        private let board: TimerBoard
        // SAFETY: that accesses don't overlap is not looked for at run time, where the clock would
        // see it.
        @exclusivity(unchecked) private var timeouts: [ThreadRunLoop.Timeout] = []

        init(_ loop: ThreadRunLoop, _ board: TimerBoard) {
            self.loop = loop
            self.board = board
            unsafe timeouts.reserveCapacity(board.deadlines.count)
        }

        func schedule(_ index: Int, at deadline: Int64) {
            unsafe timeouts.append(
                loop.schedule(at: Instant(nanoseconds: deadline)) { [board] in board.fired(index) })
        }

        func cancel(_ index: Int) { unsafe loop.cancel(timeouts[index]) }
    }
}
