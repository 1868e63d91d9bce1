// How long threads are drained that are to be given away.

import Kernel
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
