// The few statistics that are reported: medians, extremes, percentiles.

/// Values of several rounds.
struct Spread: Sendable {
    let values: [Double]

    private var sorted: [Double] { values.sorted() }

    var median: Double {
        let sorted = sorted
        guard !sorted.isEmpty else { return .nan }
        let middle = sorted.count / 2
        return sorted.count.isMultiple(of: 2)
            ? (sorted[middle - 1] + sorted[middle]) / 2 : sorted[middle]
    }

    /// The ratio of these values to others.
    ///
    /// Of figures that were taken in turns, it is the median of the turns' ratios: a disturbance of
    /// the machine hits both. Nil if one is zero.
    func ratio(to other: Spread) -> Double? {
        guard median > 0, other.median > 0 else { return nil }
        guard values.count == other.values.count, !other.values.contains(0) else {
            return median / other.median
        }
        return Spread(values: zip(values, other.values).map { $0 / $1 }).median
    }

    var min: Double { sorted.first ?? .nan }
    var max: Double { sorted.last ?? .nan }
}

/// The value that `percent` of all values do not exceed.
///
/// - Complexity: O(n log n).
func percentile(_ percent: Double, of values: [Int64]) -> Double {
    let sorted = values.sorted()
    guard !sorted.isEmpty else { return .nan }
    let rank = Int((Double(sorted.count) * percent / 100).rounded(.up)) - 1
    return Double(sorted[min(max(rank, 0), sorted.count - 1)])
}

/// A number for people: three significant digits, more only in front of the point.
func readable(_ value: Double) -> String {
    guard value.isFinite else { return "–" }
    let magnitude = abs(value)
    if magnitude == 0 { return "0" }
    if magnitude >= 1_000_000 { return "\(fixed(value / 1_000_000, 2))M" }
    if magnitude >= 10_000 { return "\(fixed(value / 1_000, 1))k" }
    if magnitude >= 100 { return fixed(value, 0) }
    if magnitude < 0.1 { return fixed(value, 4) }
    return fixed(value, magnitude >= 10 ? 1 : 2)
}

/// A ratio for people: two digits behind the point are enough.
func readableRatio(_ value: Double) -> String {
    value < 0.1 ? "\(fixed(value, 2))×" : "\(readable(value))×"
}

private func fixed(_ value: Double, _ digits: Int) -> String {
    var scale = 1.0
    for _ in 0..<digits { scale *= 10 }
    let whole = Int((abs(value) * scale).rounded())
    let sign = value < 0 && whole > 0 ? "-" : ""
    if digits == 0 { return "\(sign)\(whole)" }
    let fraction = String(whole % Int(scale))
    let zeros = String(repeating: "0", count: digits - fraction.count)
    return "\(sign)\(whole / Int(scale)).\(zeros)\(fraction)"
}
