// The usual choice of Swift programmers: libdispatch. Its serial queues have no thread of their
// own.

internal import Dispatch
internal import Synchronization

/// `DispatchQueue.async` on a serial queue, `DispatchSourceTimer`.
struct DispatchLoop: TimerLoop {
    private let queue = DispatchQueue(label: "bench")

    @inline(__always)
    func postBare() { queue.async { WorkTally.shared.note(1) } }

    @inline(__always)
    func post(_ tally: WorkTally, _ index: Int) { queue.async { tally.note(index) } }

    func post(_ body: @escaping @Sendable () -> Void) { queue.async(execute: body) }

    func stop() { queue.sync {} }

    func makeTimers(_ board: TimerBoard) -> Timers { Timers(queue, board) }

    final class Timers: LoopTimers {
        private let queue: DispatchQueue
        private let board: TimerBoard
        // SAFETY: the run-time check of overlapping accesses is off, because the clock would see
        // it.
        @exclusivity(unchecked) private var timers: [any DispatchSourceTimer] = []

        init(_ queue: DispatchQueue, _ board: TimerBoard) {
            self.queue = queue
            self.board = board
            unsafe timers.reserveCapacity(board.deadlines.count)
        }

        func schedule(_ index: Int, at deadline: Int64) {
            let timer = DispatchSource.makeTimerSource(flags: .strict, queue: queue)
            timer.schedule(
                deadline: DispatchTime(uptimeNanoseconds: UInt64(deadline)),
                leeway: .nanoseconds(0))
            timer.setEventHandler { [board] in board.fired(index) }
            timer.resume()
            unsafe timers.append(timer)
        }

        func cancel(_ index: Int) { unsafe timers[index].cancel() }
    }
}

/// A lock around an array, and a source that tells the queue that the array is not empty.
final class DispatchCommandLoop: CommandLoop, @unchecked Sendable {
    // SAFETY: `source` is set once; adding to a source is safe from any thread.
    private let queue = DispatchQueue(label: "bench")
    private let source: any DispatchSourceUserDataAdd
    private let commands = Mutex<[LoopCommand]>([])

    init() {
        source = DispatchSource.makeUserDataAddSource(queue: queue)
        source.setEventHandler { [unowned self] in
            var batch: [LoopCommand] = []
            commands.withLock { swap(&batch, &$0) }
            for command in batch { command.perform() }
        }
        source.resume()
    }

    func send(_ command: LoopCommand) {
        commands.withLock { $0.append(command) }
        source.add(data: 1)
    }

    func stop() {
        source.cancel()
        queue.sync {}
    }
}
