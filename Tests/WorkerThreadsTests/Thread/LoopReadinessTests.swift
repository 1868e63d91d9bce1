// Waiting for a descriptor in a task.

import Glibc
import Kernel
import RunLoops
import RunLoopsTesting
import Support
import Testing
import WorkerThreads

/// A pipe that can be kept anywhere.
private final class SharedPipe: Sendable {
    let pipe: Pipe

    init() throws { pipe = try Pipe() }

    var reading: CInt { pipe.readEnd.number }
    var writing: CInt { pipe.writeEnd.number }

    func send() { _ = unsafe write(writing, "!", 1) }

    func receive() -> Int {
        var byte: UInt8 = 0
        return unsafe read(reading, &byte, 1)
    }
}

@Suite(.timeLimit(.minutes(2))) struct `A task` {
    @Test func `waits until a descriptor can be read or written`() async throws {
        let worker = try WorkerThread(name: "watcher")
        let pipe = try SharedPipe()
        try await worker.runLoop.writable(pipe.writing)
        let waiting = Task { try await worker.runLoop.readable(pipe.reading) }
        pipe.send()
        try await waiting.value
        #expect(pipe.receive() == 1)
        // The loop does not watch it any more: another wait finds the mode free.
        pipe.send()
        let readiness = try await worker.runLoop.ready(pipe.reading, for: .readable)
        #expect(readiness == .readable)
    }

    @Test func `that is cancelled has its descriptor back when it learns of it`() async throws {
        let worker = try WorkerThread(name: "watcher")
        for round in 0..<100 {
            let pipe = try SharedPipe()
            let waiting = Task { try await worker.runLoop.readable(pipe.reading) }
            if round % 2 == 0 { try worker.settle() }
            waiting.cancel()
            await #expect(throws: CancellationError.self) { try await waiting.value }
            let isWatched = try await worker.submit {
                ThreadRunLoop.current.describe().contains("descriptor \(pipe.reading)")
            }
            #expect(!isWatched)
        }
    }

    @Test func `learns that a descriptor can't be watched, or its loop has ended`() async throws {
        let worker = try WorkerThread(name: "watcher")
        let file = unsafe open("/proc/self/exe", O_RDONLY)
        defer { close(file) }
        let error = await #expect(throws: SystemError.self) {
            try await worker.runLoop.readable(file)
        }
        #expect(error?.errno == EPERM)
        let pipe = try SharedPipe()
        let waiting = Task { try await worker.runLoop.readable(pipe.reading) }
        try worker.settle()
        worker.stop()
        await #expect(throws: LoopEnded.self) { try await waiting.value }
        await #expect(throws: LoopEnded.self) { try await worker.runLoop.readable(pipe.reading) }
    }
}
