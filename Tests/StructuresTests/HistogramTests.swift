// Proves the promised precision of a histogram over the whole range of its values.

import Structures
import Support
import Testing

@Suite struct `A histogram` {
    @Test func `says zero as long as it is empty`() {
        let histogram = Histogram()
        #expect(histogram.count == 0)
        #expect(histogram.max == 0)
        #expect(histogram.mean == 0)
        #expect(histogram.percentile(50) == 0)
    }

    @Test func `is exact below 64`() {
        var histogram = Histogram()
        for value in 1...63 as ClosedRange<Int64> { histogram.record(value) }
        #expect(histogram.percentile(0) == 1)
        #expect(histogram.percentile(50) == 32)
        #expect(histogram.percentile(100) == 63)
        #expect(histogram.mean == 32)
    }

    @Test func `counts a negative value as zero and the largest as itself`() {
        var histogram = Histogram()
        histogram.record(.min)
        #expect(histogram.percentile(100) == 0)
        histogram.record(.max)
        histogram.record(.max)
        #expect(histogram.percentile(100) == .max)
        #expect(histogram.max == .max)
        #expect(histogram.mean == Int64((UInt64(Int64.max) * 2) / 3))
    }

    @Test func `is less than 1/32 too large, never too small, at the edges of each power of two`() {
        for exponent in 0..<63 {
            for offset in [-1, 0, 1] as [Int64] {
                let value = (Int64(1) << Int64(exponent)) + offset
                var histogram = Histogram()
                histogram.record(value)
                histogram.record(.max)
                let answer = histogram.percentile(50)
                #expect(answer >= value)
                #expect(Double(answer - value) * 32 <= Double(value), "\(value): \(answer)")
            }
        }
    }

    @Test(arguments: [1, 2, 3] as [UInt64])
    func `agrees with a sorted list`(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        var histogram = Histogram()
        var values: [Int64] = []
        for _ in 0..<2_000 {
            let bits = Int64.random(in: 1...40, using: &random)
            let value = Int64.random(in: 0..<(1 << bits), using: &random)
            histogram.record(value)
            values.append(value)
        }
        values.sort()
        #expect(histogram.max == values.last)
        #expect(histogram.mean == values.reduce(0, +) / Int64(values.count))
        for percent in [0.05, 1, 10, 50, 90, 99, 99.9, 100] {
            let rank = Int((Double(values.count) * percent / 100).rounded(.up))
            let exact = values[rank - 1]
            let answer = histogram.percentile(percent)
            #expect(answer >= exact && answer <= exact + exact / 32, "\(percent): \(answer)")
        }
    }
}
