// How long threads are drained that are to be given away.

import Kernel
import RESP
import Support
import Testing

@testable import WorkerDaemon

@Suite struct `A thread that is drained` {
    private func at(_ seconds: Int64) -> Instant { Instant(nanoseconds: seconds * 1_000_000_000) }

    @Test func `goes on after a while, and is drained again later`() {
        var drains = ThreadDrains()
        #expect(drains.mayBegin("pool", at: at(10)))
        drains.begin("pool", at: at(10))
        #expect(drains.units == ["pool"])
        #expect(!drains.mayBegin("pool", at: at(10)))
        #expect(!drains.isInVain("pool", at: at(14)))
        #expect(drains.isInVain("pool", at: at(15)))
        let ends = (0..<2).map { _ in drains.end("pool", at: at(15)) }
        #expect(ends == [true, false])
        #expect(drains.units == [])
        #expect(!drains.mayBegin("pool", at: at(74)))
        #expect(drains.mayBegin("pool", at: at(75)))
    }

    @Test func `may be drained at once if it was given away and came back`() {
        var drains = ThreadDrains()
        drains.begin("pool", at: at(10))
        _ = drains.end("pool", at: at(11))
        drains.leave("pool")
        #expect(drains.mayBegin("pool", at: at(12)))
    }

    @Test func `waits on for a running job that keeps it from all else`() {
        var drains = ThreadDrains()
        drains.begin("one", at: at(10))
        drains.begin("one", at: at(14))
        #expect(!drains.isInVain("one", at: at(18)))
        #expect(drains.isInVain("one", at: at(19)))
    }
}

@Suite struct `A thread that is given a schedule` {
    @Test(.timeLimit(.minutes(2)))
    func `stays until the schedule is kept`() throws {
        let store = LateSchedules()
        try withLinkedNodes(store: store) { nodes in
            let client = try nodes.connect(0)
            func isIdle(_ thread: String) throws -> Bool {
                try nodes.figure(0) { $0.schedules.isIdle(of: thread) ? 1 : 0 } == 1
            }
            #expect(try isIdle("one"))
            try client.send("SCHEDULE", "s", "EVERY", 3_600_000, "one", "echo", "x")
            try eventually("the earlier one is looked for") { store.questionCount == 1 }
            #expect(try !isIdle("one"))
            store.answer()
            #expect(try client.reply().text == "OK")
            // Its progress is looked for.
            try eventually("it is kept") { store.questionCount == 1 }
            #expect(try !isIdle("one"))
            store.answer()
            try eventually("it is followed") { try isIdle("one") }
        }
    }
}
