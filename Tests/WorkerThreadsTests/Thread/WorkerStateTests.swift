// A worker's own state, reached by nothing but closures that run on its thread.

import Kernel
import RunLoopsTesting
import Support
import Testing
import WorkerThreads

/// A ledger that no two threads may use at once, and that is not `Sendable`.
private final class Ledger {
    var lines: [String] = []
    let ended: @Sendable (String) -> Void

    init(ended: @escaping @Sendable (String) -> Void) { self.ended = ended }

    func note(_ line: String) { lines.append("\(line) on \(WorkerThread.currentName ?? "?")") }

    deinit { ended(WorkerThread.currentName ?? "elsewhere") }
}

@Suite(.timeLimit(.minutes(2))) struct `A worker's own state` {
    @Test func `is given to what runs on the thread: closures, timers, messages`() async throws {
        let clock = ManualClock()
        let worker = try WorkerThread(name: "ledger", clock: clock)
        let ends = Trace()
        do {
            let state = try worker.makeState { Ledger { ends.note($0) } }
            try state.post { $0.note("posted") }
            let ticking = state.timer(every: .seconds(1)) { $0.note("tick") }
            try worker.settle()
            clock.advance(by: .seconds(1))
            try worker.settle()
            ticking.end()
            clock.advance(by: .seconds(1))
            let port = state.messagePort(of: String.self) { ledger, text in ledger.note(text) }
            port.send("message")
            try worker.settle()
            let lines = try await state.submit { ledger in
                ledger.note("submitted")
                return ledger.lines
            }
            let words = ["posted", "tick", "message", "submitted"]
            #expect(lines == words.map { "\($0) on ledger" })
            #expect(try state.submitAndWait { $0.lines.count } == 4)
        }
        try worker.settle()
        #expect(ends.all == ["ledger"])
    }

    @Test func `refuses work as its thread does`() async throws {
        let worker = try WorkerThread(name: "ledger")
        let state = try worker.makeState { Ledger { _ in } }
        worker.stop()
        #expect(refusal { try state.post { _ in } } == .stopped(thread: "ledger"))
        await #expect(throws: SubmitError.stopped(thread: "ledger")) {
            try await state.submit { _ in }
        }
    }
}
