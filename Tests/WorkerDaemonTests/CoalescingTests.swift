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

@Suite struct `Pushes that wait for a slow client` {
    @Test func `are the latest of each subject, in the order of the subjects`() {
        var latest = LatestPushes()
        for round in 0..<1_000 {
            for subject in [7, 3, 5] as [UInt64] { latest.put(.integer(round), about: subject) }
        }
        latest.put(.null, about: 3)
        #expect(latest.count == 3)
        #expect(latest.popFirst() == .integer(999))
        #expect(latest.popFirst() == .null)
        latest.put(.integer(1), about: 7)
        #expect(latest.popFirst() == .integer(999))
        #expect(latest.popFirst() == .integer(1))
        #expect(latest.popFirst() == nil)
        #expect(latest.isEmpty)
    }

    @Test func `are dropped by their subjects, each as if it had never come`() {
        var latest = LatestPushes()
        for subject in 1...5 as ClosedRange<UInt64> { latest.put(.integer(0), about: subject) }
        latest.remove(about: [2, 4, 9])
        #expect(latest.count { $0 > 2 } == 2)
        latest.put(.integer(2), about: 2)
        latest.put(.integer(3), about: 3)
        #expect(latest.count == 4)
        let pushes = (1...4).map { _ in latest.popFirst() }
        #expect(pushes == [.integer(0), .integer(3), .integer(0), .integer(2)])
        #expect(latest.popFirst() == nil)
    }
}
