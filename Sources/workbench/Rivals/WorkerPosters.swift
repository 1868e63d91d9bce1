// Ours: a worker thread's perform queue, and a command buffer on a worker thread.

internal import RunLoops
internal import WorkerThreads

/// `WorkerThread.submit`.
struct WorkerPoster: Poster {
    private let worker: WorkerThread

    init() throws { worker = try WorkerThread(name: "bench") }

    func post(_ body: @escaping @Sendable () -> Void) {
        do throws(SubmitError) {
            try worker.submit(body)
        } catch {
            fatalError("the worker refuses work: \(error)")
        }
    }

    func stop() {
        worker.stop()
        worker.join()
    }
}

/// `CommandBuffer.add` and `fire`, both for every command.
struct CommandBufferPoster: Poster {
    enum Command: Sendable {
        case bare
        case note(Tally, Int)
        case run(@Sendable () -> Void)

        @inline(__always)
        func perform() {
            switch self {
            case .bare: Tally.shared.note(1)
            case .note(let tally, let index): tally.note(index)
            case .run(let body): body()
            }
        }
    }

    private let worker: WorkerThread
    private let buffer: CommandBuffer<Command>

    init() throws {
        worker = try WorkerThread(name: "bench")
        buffer = CommandBuffer { commands in
            for command in commands { command.perform() }
        }
        let loop = worker.runLoop
        // Through the worker, so that the buffer is in its loop when this returns.
        try worker.submitAndWait { [buffer] in buffer.add(to: loop) }
    }

    func postBare() { send(.bare) }
    func post(_ tally: Tally, _ index: Int) { send(.note(tally, index)) }
    func post(_ body: @escaping @Sendable () -> Void) { send(.run(body)) }

    @inline(__always)
    private func send(_ command: Command) {
        guard buffer.add(command) else { fatalError("the buffer refuses commands") }
        buffer.fire()
    }

    func stop() {
        worker.stop()
        worker.join()
    }
}
