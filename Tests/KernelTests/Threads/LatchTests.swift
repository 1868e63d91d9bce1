// Proves the latch, which opens once.

import Kernel
import Support
import Synchronization
import Testing

private final class Count: Sendable {
    let value = Atomic<Int>(0)
}

@Suite(.timeLimit(.minutes(2)))
struct LatchTests {
    @Test func `opened before anybody waits, it lets everybody through`() {
        let latch = Latch()
        #expect(!latch.isOpen)
        latch.open()
        latch.open()
        #expect(latch.isOpen)
        latch.wait()
        latch.wait()
    }

    @Test func `all who wait go on, and see what was written before`() throws {
        let latch = Latch()
        let written = Count()
        let seen = Count()
        let arrived = Count()
        var waiters: [TestThread] = []
        for number in 1...4 {
            waiters.append(
                try TestThread(name: "waiter \(number)") {
                    arrived.value.add(1, ordering: .relaxed)
                    latch.wait()
                    seen.value.add(written.value.load(ordering: .relaxed), ordering: .relaxed)
                })
        }
        while arrived.value.load(ordering: .relaxed) < 4 {}
        written.value.store(7, ordering: .relaxed)
        latch.open()
        for waiter in waiters { waiter.join() }
        #expect(seen.value.load(ordering: .relaxed) == 28)
    }

    @Test func `two threads can hand over to each other many times`() throws {
        let there = (0..<500).map { _ in Latch() }
        let back = (0..<500).map { _ in Latch() }
        let other = try TestThread(name: "other") {
            for (one, two) in zip(there, back) {
                one.wait()
                two.open()
            }
        }
        for (one, two) in zip(there, back) {
            one.open()
            two.wait()
        }
        other.join()
        #expect(back.filter { $0.isOpen }.count == 500)
    }
}
