// Our contender: a worker thread, its perform queue and the timers of its run loop.

internal import Kernel
internal import RunLoops
internal import WorkerThreads

/// `WorkerThread.submit`, `ThreadRunLoop.Timer`.
struct WorkerLoop: TimerLoop {
    let worker: WorkerThread

    init() throws { worker = try WorkerThread(name: "bench") }

    // As a user writes it: the call owns a closure that is made in it, and hands it on without
    // counting references.
    @inline(__always)
    func postBare() {
        do throws(SubmitError) { try worker.post { WorkTally.shared.note(1) } } catch {
            refused(error)
        }
    }

    @inline(__always)
    func post(_ tally: WorkTally, _ index: Int) {
        do throws(SubmitError) { try worker.post { tally.note(index) } } catch { refused(error) }
    }

    private func refused(_ error: SubmitError) -> Never {
        fatalError("the worker refuses work: \(error)")
    }

    func post(_ body: @escaping @Sendable () -> Void) {
        do throws(SubmitError) { try worker.post(body) } catch { refused(error) }
    }

    func stop() {
        worker.stop()
        worker.join()
    }

    func makeTimers(_ board: TimerBoard) -> Timers { Timers(worker.runLoop, board) }

    final class Timers: LoopTimers {
        private let loop: ThreadRunLoop
        private let board: TimerBoard
        // SAFETY: the run-time check of overlapping accesses is off, because the clock would see
        // it.
        @exclusivity(unchecked) private var timers: [ThreadRunLoop.Timer] = []

        init(_ loop: ThreadRunLoop, _ board: TimerBoard) {
            self.loop = loop
            self.board = board
            unsafe timers.reserveCapacity(board.deadlines.count)
        }

        func schedule(_ index: Int, at deadline: Int64) {
            let timer = ThreadRunLoop.Timer(at: Instant(nanoseconds: deadline)) { [board] _ in
                board.fired(index)
            }
            loop.add(timer)
            unsafe timers.append(timer)
        }

        func cancel(_ index: Int) { unsafe timers[index].invalidate() }
    }
}

/// A worker whose mode has a descriptor in it, so that its loop sleeps in epoll.
struct WatchingLoop: Loop {
    private let base: WorkerLoop
    private let pipe: PipeBox

    /// The descriptors live as long as the loop; nothing is ever written.
    private final class PipeBox: Sendable {
        let pipe: Pipe

        init() throws { pipe = try Pipe(nonBlocking: .readEnd) }
    }

    init() throws {
        let base = try WorkerLoop()
        let pipe = try PipeBox()
        let (loop, descriptor) = (base.worker.runLoop, pipe.pipe.readEnd.number)
        try base.worker.submitAndWait {
            try loop.add(ThreadRunLoop.Port(watching: descriptor) { _, _ in })
        }
        self.base = base
        self.pipe = pipe
    }

    func post(_ body: @escaping @Sendable () -> Void) { base.post(body) }
    func stop() { base.stop() }
}

/// `CommandBuffer.add` and `fire`, both for every command.
struct CommandBufferLoop: CommandLoop {
    private let worker: WorkerThread
    private let buffer: CommandBuffer<LoopCommand>

    init() throws {
        worker = try WorkerThread(name: "bench")
        buffer = CommandBuffer { commands in
            for command in commands { command.perform() }
        }
        let loop = worker.runLoop
        // Through the worker, so that the buffer is in its loop when this returns.
        try worker.submitAndWait { [buffer] in buffer.add(to: loop) }
    }

    @inline(__always)
    func send(_ command: LoopCommand) {
        guard buffer.add(command) else { fatalError("the buffer refuses commands") }
        buffer.fire()
    }

    func stop() {
        worker.stop()
        worker.join()
    }
}

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
        // SAFETY: the run-time check of overlapping accesses is off, because the clock would see
        // it.
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
