// A histogram of durations: counts per duration, in 15 KB that never grow.
//
// Log-linear, after Gil Tene's HdrHistogram (https://hdrhistogram.org): each power of two is cut
// into 32 buckets of equal width, so that a value is known to 1/32 of itself from one nanosecond to
// 292 years. It knows nothing of clocks, nor of the things measured.

/// Counts nanosecond values and answers which share of them was at most how large.
///
/// Layout: values below 32 have a bucket each; a value whose highest bit is bit `e >= 5` is in
/// bucket `32 * (e - 5) + (value >> (e - 5))`, of width `2^(e - 5)`.
///
/// - Thread: confined to its owner's; to gather several, `merge` copies of them.
/// - Complexity: O(1) to record, O(buckets) = O(1888) to merge and to ask for a percentile.
package struct Histogram: Sendable {
    /// The number of buckets: 27 more powers of two than the 5 lowest bits would suggest.
    package static let bucketCount = 1888

    private var buckets = [UInt64](repeating: 0, count: Histogram.bucketCount)
    private var sum: UInt128 = 0

    /// The number of values recorded.
    package private(set) var count: UInt64 = 0

    /// The largest value recorded, exact; zero if there is none.
    package private(set) var max: Int64 = 0

    /// Makes an empty histogram.
    package init() {}

    /// The mean of the values, rounded down; zero if there is none.
    package var mean: Int64 {
        count == 0 ? 0 : Int64(sum / UInt128(count))
    }

    /// Counts one value.
    ///
    /// A negative one, which only a clock set back can produce, counts as zero.
    package mutating func record(_ nanoseconds: Int64) {
        let value = Swift.max(0, nanoseconds)
        buckets[Self.bucket(of: value)] += 1
        sum += UInt128(value)
        count += 1
        max = Swift.max(max, value)
    }

    /// The value that `percent` of all values do not exceed, by less than 1/32 too large.
    ///
    /// - Parameter percent: from 0 (the smallest bucket in use) to 100 (the maximum, exact).
    /// - Returns: the largest value of the bucket in question, but never more than `max`; zero if
    ///   there is no value.
    package func percentile(_ percent: Double) -> Int64 {
        precondition(percent >= 0 && percent <= 100, "no percentile \(percent)")
        let wanted = Swift.max(1, UInt64((Double(count) * percent / 100).rounded(.up)))
        var seen: UInt64 = 0
        for bucket in buckets.indices {
            seen += buckets[bucket]
            if seen >= wanted { return Swift.min(max, Self.largestValue(in: bucket)) }
        }
        return max
    }

    /// The bucket that counts `value`, which must not be negative.
    private static func bucket(of value: Int64) -> Int {
        let shift = Swift.max(0, 58 - value.leadingZeroBitCount)
        return 32 * shift + Int(value >> Int64(shift))
    }

    /// The largest value that `bucket` counts.
    private static func largestValue(in bucket: Int) -> Int64 {
        let shift = Swift.max(0, bucket / 32 - 1)
        let lowest = Int64(bucket - 32 * shift) << Int64(shift)
        return lowest + ((1 << Int64(shift)) - 1)
    }
}
