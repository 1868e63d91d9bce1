// Bounds of the lines that clients and the log get.

import Kernel
import RESP
import Testing
import WorkerDaemon

@Suite struct `A budget of lines` {
    @Test func `is spent in a period that its first line begins, and then given anew`() {
        let start = SystemClock().now()
        var budget = LineBudget(count: 2, each: .seconds(1))
        let answers = [0, 5, 999, 1_000, 2_500, 2_600, 3_499, 3_500].map { time in
            budget.take(at: start.advanced(by: .milliseconds(time)))
        }
        #expect(
            answers == [
                .written, .writtenAsLast, .leftOut, .written, .written, .writtenAsLast, .leftOut,
                .written,
            ])
    }
}

@Suite struct `Pushes that are held back` {
    @Test func `are the latest of each subject, in the order of the subjects`() {
        var held = HeldPushes()
        for round in 0..<1_000 {
            for subject in [7, 3, 5] as [UInt64] { held.hold(.integer(round), about: subject) }
        }
        held.hold(.null, about: 3)
        #expect(held.count == 3)
        #expect(held.popFirst() == .integer(999))
        #expect(held.popFirst() == .null)
        held.hold(.integer(1), about: 7)
        #expect(held.popFirst() == .integer(999))
        #expect(held.popFirst() == .integer(1))
        #expect(held.popFirst() == nil)
        #expect(held.isEmpty)
    }

    @Test func `are dropped by their subjects, each as if it had never been held`() {
        var held = HeldPushes()
        for subject in 1...5 as ClosedRange<UInt64> { held.hold(.integer(0), about: subject) }
        held.remove(about: [2, 4, 9])
        #expect(held.count { $0 > 2 } == 2)
        held.hold(.integer(2), about: 2)
        held.hold(.integer(3), about: 3)
        #expect(held.count == 4)
        let pushes = (1...4).map { _ in held.popFirst() }
        #expect(pushes == [.integer(0), .integer(3), .integer(0), .integer(2)])
        #expect(held.popFirst() == nil)
    }
}
