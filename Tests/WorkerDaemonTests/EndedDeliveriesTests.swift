// The memory of deliveries that are over: enough for workers that repeat a command, and not more.

import Jobs
import Testing

@testable import WorkerDaemon

@Suite struct `The memory of ended deliveries` {
    private static func token(_ number: Int) -> JobHolder.Token {
        JobHolder.Token(high: 7, low: UInt64(number))
    }

    @Test func `holds the last ends, and only so many`() {
        let countMax = EndedDeliveries.countMax
        var ended = EndedDeliveries()
        for number in 0..<countMax + 10 {
            ended.append(Self.token(number), of: JobID(UInt64(number)), .done([1]))
        }
        let remembered = (0..<countMax + 10).filter {
            ended.contains(Self.token($0), of: JobID(UInt64($0)), .done([1]))
        }
        #expect(remembered == Array(10..<countMax + 10))
    }

    @Test func `knows how a delivery has ended, and of which job`() {
        var ended = EndedDeliveries()
        ended.append(Self.token(1), of: JobID(1), .done([1]))
        ended.append(Self.token(2), of: JobID(2), nil)
        #expect(ended.contains(Self.token(1), of: JobID(1), .done([1])))
        #expect(!ended.contains(Self.token(1), of: JobID(1), .done([2])))
        #expect(!ended.contains(Self.token(1), of: JobID(2), .done([1])))
        #expect(!ended.contains(Self.token(2), of: JobID(2), .done([1])))
        #expect(!ended.contains(Self.token(3), of: JobID(1), .done([1])))
    }
}
