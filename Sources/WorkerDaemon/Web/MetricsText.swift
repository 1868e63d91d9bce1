// The text format of Prometheus (version 0.0.4): families of series, each with a line of help.
// Pure.

/// Builds a page of figures.
package struct MetricsText {
    /// The kind of a family.
    package enum Kind: String {
        case counter, gauge, histogram
    }

    /// A label of a series, and its value.
    package typealias Label = (name: String, value: String)

    private var lines: [String] = []

    package init() {}

    /// The page.
    package var text: String { lines.joined(separator: "\n") + "\n" }

    /// Begins a family; its series follow.
    package mutating func family(_ name: String, _ kind: Kind, _ help: String) {
        lines.append("# HELP \(name) \(help)")
        lines.append("# TYPE \(name) \(kind.rawValue)")
    }

    /// Adds a series to the family that was begun last.
    package mutating func series(_ name: String, _ labels: [Label] = [], _ value: Double) {
        lines.append("\(name)\(Self.shown(labels)) \(Self.shown(value))")
    }

    /// Adds a family of one series without a label.
    package mutating func single(
        _ name: String, _ kind: Kind, _ help: String, _ value: Double
    ) {
        family(name, kind, help)
        series(name, [], value)
    }

    /// Adds a histogram to the family that was begun last.
    package mutating func histogram(
        _ name: String, _ labels: [Label] = [], _ histogram: ClassicHistogram
    ) {
        var count: UInt64 = 0
        for (bound, bucket) in zip(ClassicHistogram.bounds, histogram.buckets) {
            count += bucket
            series("\(name)_bucket", labels + [("le", Self.shown(bound))], Double(count))
        }
        series("\(name)_bucket", labels + [("le", "+Inf")], Double(histogram.count))
        series("\(name)_sum", labels, histogram.sum)
        series("\(name)_count", labels, Double(histogram.count))
    }

    private static func shown(_ labels: [Label]) -> String {
        guard !labels.isEmpty else { return "" }
        return "{" + labels.map { "\($0.name)=\"\(escaped($0.value))\"" }.joined(separator: ",")
            + "}"
    }

    private static func escaped(_ value: String) -> String {
        var shown = ""
        for scalar in value.unicodeScalars {
            switch scalar {
            case "\\": shown += "\\\\"
            case "\"": shown += "\\\""
            case "\n": shown += "\\n"
            default: shown.unicodeScalars.append(scalar)
            }
        }
        return shown
    }

    /// A whole number without a fraction.
    private static func shown(_ value: Double) -> String {
        value == value.rounded() && abs(value) < 1e15 ? "\(Int64(value))" : "\(value)"
    }
}

/// Counts spans of time in buckets, as Prometheus adds them up over servers.
package struct ClassicHistogram: Equatable {
    /// The upper ends of the buckets, in seconds.
    package static let bounds: [Double] = [
        0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1_800,
        7_200,
    ]

    /// How many spans were in each bucket, and above the one before it.
    package private(set) var buckets = [UInt64](repeating: 0, count: bounds.count)
    package private(set) var count: UInt64 = 0
    package private(set) var sum = 0.0

    package init() {}

    /// Counts a span; a negative one, of a clock that was set back, as none.
    package mutating func note(seconds: Double) {
        let seconds = max(0, seconds)
        if let place = Self.bounds.firstIndex(where: { seconds <= $0 }) { buckets[place] += 1 }
        count += 1
        sum += seconds
    }
}

/// The values of a label: configured names, of which the last ones share `other` if they are many.
package struct LabelValues {
    /// The most label sets of a family.
    package static let setCountMax = 500
    private static let rest = "other"

    /// The values, each once.
    package let all: [String]

    /// - Parameters:
    ///   - names: the configured ones.
    ///   - factor: how many series there are for each.
    package init(_ names: [String], factor: Int = 1) {
        let countMax = max(1, Self.setCountMax / factor)
        all =
            names.count <= countMax ? names : Array(names.prefix(countMax - 1)) + [Self.rest]
    }

    /// The place of the value for the name at a place.
    package func place(of index: Int) -> Int { min(index, all.count - 1) }

    /// Whether no other name shares the place.
    package func isOwn(_ index: Int) -> Bool { all[place(of: index)] != Self.rest }
}
