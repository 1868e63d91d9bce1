// The one table: our figures, each rival's, the goals, and whether they are reached.

/// The measurements beside the goals.
struct Scoreboard {
    struct Row {
        let title: String
        let metric: Metric
        let ours: Spread
        /// By contender, without ours.
        let others: [String: Spread]
        let goal: Goal

        /// Whether all limits hold.
        ///
        /// Nil if there is none, or one depends on a contender that did not take part.
        var isReached: Bool? {
            var isReached: Bool?
            for limit in goal.limits {
                guard let holds = holds(limit) else { return nil }
                isReached = (isReached ?? true) && holds
            }
            return isReached
        }

        private func holds(_ limit: Limit) -> Bool? {
            // A figure shown with two digits is judged with two: growth of an array, spread over a
            // million posts, is no allocation of a post.
            let mine = ours.median < 0.005 ? 0 : ours.median
            switch limit {
            case .atMost(let most): return mine <= most * 1.005
            case .atLeast(let least): return mine >= least
            case .within(let factor, let name):
                return others[name].map { other in
                    ours.ratio(to: other).map { $0 <= factor } ?? (mine <= factor * other.median)
                }
            case .better(let factor, let name):
                return others[name].map { other in
                    if metric.isRate { return (ours.ratio(to: other) ?? 0) >= factor }
                    return other.ratio(to: ours).map { $0 >= factor }
                        ?? (other.median >= factor * mine)
                }
            }
        }

        var goalText: String {
            goal.limits.map { limit in
                switch limit {
                case .atMost(let most): most == 0 ? "0" : "≤ \(readable(most))"
                case .atLeast(let least): "≥ \(readable(least))"
                case .within(let factor, let name): "≤ \(readable(factor)) × \(name)"
                case .better(let factor, let name) where metric.isRate:
                    "≥ \(readable(factor)) × \(name)"
                case .better(let factor, let name):
                    factor == 1 ? "better than \(name)" : "\(readable(factor))× better than \(name)"
                }
            }.joined(separator: ", ")
        }
    }

    let rows: [Row]

    init(_ reports: [Report]) {
        rows = Goal.all.compactMap { goal in
            guard let report = reports.first(where: { $0.scenario.name == goal.scenario }),
                let metric = report.scenario.metrics.first(where: { $0.name == goal.metric })
            else { return nil }
            var spreads: [String: Spread] = [:]
            for result in report.results
            where result.group == goal.group && result.placement == goal.placement {
                spreads[result.contender] = result.spread(metric)
            }
            guard let ours = spreads.removeValue(forKey: Contender.ours) else { return nil }
            return Row(
                title: goal.title, metric: metric, ours: ours, others: spreads, goal: goal)
        }
    }

    /// The table; a rival's figure is followed by the ratio to ours: above 1 we win.
    var text: String {
        guard !rows.isEmpty else { return "" }
        let names = Contender.columns.dropFirst().filter { name in
            rows.contains { $0.others[name] != nil }
        }
        var table = [["", "ours [min–max]"] + names + ["goal", "reached"]]
        for row in rows {
            var cells = ["\(row.title), \(row.metric.unit)", Self.cell(row.ours)]
            cells += names.map { name in
                row.others[name].map { Self.cell($0, row.ours, row.metric) } ?? "·"
            }
            cells += [row.goalText, row.isReached.map { $0 ? "yes" : "NO" } ?? ""]
            table.append(cells)
        }
        let widths = table[0].indices.map { column in table.map { $0[column].count }.max() ?? 0 }
        let lines = table.map { cells in
            zip(cells, widths).map { $0.padded(to: $1) }.joined(separator: "  ")
        }
        let judged = rows.compactMap(\.isReached)
        let reachedCount = judged.count { $0 }
        return
            (["", "medians; N×: so many times better is ours, above 1 we win"] + lines + [
                "\(reachedCount) of \(judged.count) goals reached"
            ]).joined(separator: "\n")
    }

    private static func cell(_ spread: Spread) -> String {
        let median = readable(spread.median)
        guard spread.min != spread.max else { return median }
        return "\(median) [\(readable(spread.min))–\(readable(spread.max))]"
    }

    private static func cell(_ other: Spread, _ ours: Spread, _ metric: Metric) -> String {
        let figure = readable(other.median)
        return metric.timesBetter(ours, than: other).map { "\(figure) \(readableRatio($0))" }
            ?? figure
    }
}
