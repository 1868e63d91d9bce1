// Results as a JSON document for other programs.

internal import Foundation

/// All measurements, and their machine.
struct ReportDocument: Codable {
    struct Measurement: Codable {
        let scenario: String
        let group: String
        let placement: Placement
        let contender: String
        let metric: String
        let unit: String
        let values: [Double]
        let median: Double
        let min: Double
        let max: Double
        /// How many times better the group's first contender is; absent for itself.
        let firstIsTimesBetter: Double?
        let operations: Int
        let hash: String
    }

    struct Verdict: Codable {
        let title: String
        let unit: String
        let ours: Double
        let goal: String
        /// Absent for a figure without limits, or if a figure that it depends on was not measured.
        let isReached: Bool?
    }

    let machine: Machine
    let verdicts: [Verdict]
    let measurements: [Measurement]

    init(machine: Machine, reports: [Report], scoreboard: Scoreboard) {
        self.machine = machine
        verdicts = scoreboard.rows.map {
            Verdict(
                title: $0.title, unit: $0.metric.unit, ours: $0.ours.median, goal: $0.goalText,
                isReached: $0.isReached)
        }
        measurements = reports.flatMap { report in
            report.results.flatMap { result in
                report.scenario.metrics.compactMap { Self.measurement(report, result, $0) }
            }
        }
    }

    private static func measurement(
        _ report: Report, _ result: CaseResult, _ metric: Metric
    ) -> Measurement? {
        guard let spread = result.spread(metric) else { return nil }
        let ours = report.results.first { $0.discipline == result.discipline }
        let ratio = ours.flatMap {
            $0.contender == result.contender ? nil : report.ratio($0, result, metric)
        }
        return Measurement(
            scenario: report.scenario.name, group: result.group,
            placement: result.placement, contender: result.contender,
            metric: metric.name, unit: metric.unit, values: spread.values,
            median: spread.median, min: spread.min, max: spread.max, firstIsTimesBetter: ratio,
            operations: result.operations, hash: String(result.hash, radix: 16))
    }

    func encoded() throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        return String(decoding: try encoder.encode(self), as: UTF8.self)
    }
}
