// Results as tables for people.

/// Results of one scenario.
struct Report {
    let scenario: Scenario
    let results: [CaseResult]

    /// Tables, one for each group; a line for each contender.
    ///
    /// A rival's figures are followed by the ratio to ours: above 1 we win.
    var text: String {
        var lines = [
            "", "\(scenario.name): \(scenario.question)", scenario.note,
            "median [min–max] of \(roundCount) rounds; ours N×: so many times better than this one",
        ]
        var disciplines: [String] = []
        for result in results where !disciplines.contains(result.discipline) {
            disciplines.append(result.discipline)
        }
        for name in disciplines { lines += table(results.filter { $0.discipline == name }) }
        return lines.joined(separator: "\n")
    }

    private var roundCount: Int {
        results.flatMap { $0.values.values.map(\.count) }.max() ?? 0
    }

    private func table(_ results: [CaseResult]) -> [String] {
        guard let ours = results.first else { return [] }
        let width = results.map(\.contender.count).max() ?? 0
        var lines = ["", "  \(ours.discipline)"]
        for metric in scenario.metrics {
            guard results.contains(where: { $0.spread(metric) != nil }) else { continue }
            lines.append("    \(metric.name), \(metric.unit)")
            for result in results {
                guard let spread = result.spread(metric) else { continue }
                let name = result.contender.padded(to: width)
                lines.append("      \(name)  \(cell(spread))\(comparison(ours, result, metric))")
            }
        }
        lines.append("    operations and result hash")
        for result in results {
            let what =
                result.obstacle ?? "\(result.operations) \(String(result.hash, radix: 16))"
            lines.append("      \(result.contender.padded(to: width))  \(what)")
        }
        return lines
    }

    private func cell(_ spread: Spread) -> String {
        let median = readable(spread.median).padded(to: 7)
        guard spread.values.count > 1 else { return median + String(repeating: " ", count: 18) }
        return "\(median) [\(readable(spread.min))–\(readable(spread.max))]".padded(to: 25)
    }

    private func comparison(
        _ ours: CaseResult, _ result: CaseResult, _ metric: Metric
    ) -> String {
        guard result.contender != ours.contender, let ratio = ratio(ours, result, metric) else {
            return ""
        }
        return "  ours \(readableRatio(ratio))"
    }
}

extension Report {
    /// How many times better the first contender is than another one; nil if a figure is zero.
    func ratio(_ ours: CaseResult, _ rival: CaseResult, _ metric: Metric) -> Double? {
        guard let mine = ours.spread(metric), let other = rival.spread(metric) else { return nil }
        return metric.timesBetter(mine, than: other)
    }
}

extension CaseResult {
    /// The group that contenders are compared within.
    var discipline: String { placement == .free ? group : "\(group), on one cpu" }
}

extension String {
    func padded(to width: Int) -> String {
        self + String(repeating: " ", count: max(0, width - count))
    }
}
