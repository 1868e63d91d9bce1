// A connection on a run loop: commands out as they come, replies in and to their places in the same
// order. It knows neither tasks nor what the commands mean.

internal import Kernel
internal import RESP
internal import RunLoops
internal import Structures
internal import WorkerThreads

/// A command on its way to the connection's thread.
struct PipelinedCommand: Sendable {
    let chunks: [[UInt8]]
    let place: ReplyPlace
}

/// The way of a client's tasks to its connection, from any thread.
struct PipelineHandle: Sendable {
    let buffer: CommandBuffer<PipelinedCommand>
    let port: ThreadRunLoop.Port
    let loop: ThreadRunLoop

    /// In every mode: a client can be closed while its thread is paused.
    private static let modes: [ThreadRunLoop.Mode] = [.default, .job, .paused, .draining]

    /// Takes the connection off its loop; what is outstanding is let go of.
    ///
    /// - Thread: any thread.
    /// - Blocks: never.
    func close() {
        let (buffer, port) = (buffer, port)
        // If the loop has ended, it has done all of this itself.
        loop.perform(inModes: Self.modes) {
            port.invalidate()
            buffer.invalidate()
        }
    }
}

/// The connection itself, confined to its loop's thread.
///
/// The loop's items retain it, so that it goes when they go: when it is closed, and when the loop
/// ends.
final class Pipeline {
    private var wire: Wire
    private let budget: Budget
    private let pushes: PushBoard
    private var outbox = Outbox()
    /// The places of the commands whose replies are to come, in order.
    private var places = FIFO<ReplyPlace>()
    private var isSendingOver = false
    private weak var buffer: CommandBuffer<PipelinedCommand>?
    private weak var port: ThreadRunLoop.Port?

    /// Reads in one go before others on the loop get their turn.
    private static let readCountMax = 16

    private init(_ wire: consuming Wire, _ budget: Budget, _ pushes: PushBoard) {
        self.wire = wire
        self.budget = budget
        self.pushes = pushes
    }

    deinit {
        budget.end(.closed("the thread that serves the client has ended"))
        noteUnsent()
        if let reason = budget.endReason { pushes.finish(reason) }
        // Commands that came too late for the loop are let go of with the buffer's content.
        buffer?.invalidate()
    }

    /// Puts a connection on the calling thread's loop.
    ///
    /// - Throws: when the kernel can't watch one more descriptor.
    static func start(
        _ wire: consuming Wire, _ budget: Budget, _ pushes: PushBoard
    ) throws(SystemError) -> PipelineHandle {
        let loop = ThreadRunLoop.current
        let number = wire.socket.number
        let holdsInput = wire.holdsInput
        let pipeline = Pipeline(wire, budget, pushes)
        let confined = Confined(pipeline, to: loop)
        let port = ThreadRunLoop.Port(watching: number) { _, readiness in
            confined.value.handle(readiness)
        }
        let buffer = CommandBuffer<PipelinedCommand> { confined.value.send($0) }
        pipeline.port = port
        pipeline.buffer = buffer
        try loop.add(port)
        buffer.add(to: loop)
        if holdsInput { pipeline.readSoon() }
        return PipelineHandle(buffer: buffer, port: port, loop: loop)
    }

    private func send(_ commands: [PipelinedCommand]) {
        for command in commands {
            outbox.append(command.chunks)
            command.place.note(isSent: true)
            places.append(command.place)
        }
        act { () throws(WorkerClientError) in try flush() }
    }

    private func handle(_ readiness: Readiness) {
        act { () throws(WorkerClientError) in
            if readiness.contains(.writable) { try flush() }
            guard readiness != .writable else { return }
            // A daemon that hung up may have left replies: they are read to the end.
            for _ in 0..<Self.readCountMax {
                guard try wire.read() else { return }
                try deliver()
            }
            if wire.holdsInput { readSoon() }
        }
    }

    /// Reads in the next pass what the socket does not report.
    private func readSoon() {
        let pipeline = Confined(self, to: ThreadRunLoop.current)
        ThreadRunLoop.current.perform {
            if pipeline.value.port?.isValid == true { pipeline.value.handle(.readable) }
        }
    }

    private func deliver() throws(WorkerClientError) {
        while let reply = try wire.nextValue() {
            if case .push = reply {
                try pushes.take(reply)
                continue
            }
            guard let place = places.popFirst() else {
                if case .error(let text) = reply { throw .closed("the daemon says: \(text)") }
                throw .protocolFault("\(reply.kind) came that no command asked for")
            }
            place.answer(reply)
        }
    }

    private func flush() throws(WorkerClientError) {
        guard !isSendingOver, !outbox.isEmpty else { return }
        if let byteCount = try wire.send(&outbox) {
            budget.sent(byteCount: byteCount)
        } else {
            // The end shows itself when what the daemon said before is read.
            isSendingOver = true
        }
        port?.interest = outbox.isEmpty || isSendingOver ? .readable : [.readable, .writable]
    }

    /// Does something with the connection, and ends it if that fails.
    private func act(_ body: () throws(WorkerClientError) -> Void) {
        do throws(WorkerClientError) {
            try body()
        } catch {
            budget.end(error, isByDaemon: wire.hasEnded)
            port?.invalidate()
            buffer?.invalidate()
            noteUnsent()
            places.removeAll()
            pushes.finish(error)
        }
    }

    /// Finds the commands that did not go out, the last ones, of the first perhaps a part: the
    /// daemon can't have carried out any of them.
    private func noteUnsent() {
        var byteCount = outbox.byteCount
        for place in places.reversed() {
            guard byteCount > 0 else { return }
            byteCount -= place.byteCount
            place.note(isSent: false)
        }
    }
}
