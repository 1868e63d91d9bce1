// How the ends of many jobs are told: results on standard output, failures and the progress bar on
// standard error.

internal import Kernel
internal import Wording

/// Tells people or programs the outcome of each input, and counts.
final class BatchTeller {
    private let isJSON: Bool
    private let style: Style
    private let showsNames: Bool
    private var bar: ProgressBar?
    private var goodCount = 0
    private var failedCount = 0
    private(set) var firstFailure: Failure?

    var hasFailed: Bool { failedCount > 0 }

    /// - Parameters:
    ///   - showsNames: whether an accepted job is told with the name of its input.
    ///   - count: the number of inputs; nil if it is not known.
    init(isJSON: Bool, style: Style, showsNames: Bool, of count: Int?) {
        self.isJSON = isJSON
        self.style = style
        self.showsNames = showsNames
        bar = ProgressBar(of: count)
    }

    var showsProgress: Bool { bar != nil }

    /// Draws the progress bar.
    func draw(inFlight count: Int) {
        bar?.show(good: goodCount, failed: failedCount, inFlight: count)
    }

    /// Tells the outcome of one input.
    ///
    /// - Parameter place: the number of the input, from 1 on.
    func tell(_ outcome: BatchOutcome, of name: String, place: Int) throws(Failure) {
        bar?.clear()
        switch outcome {
        case .accepted, .done: goodCount += 1
        case .failed(_, let failure):
            failedCount += 1
            if firstFailure == nil { firstFailure = failure }
            try? StandardStream.error.write(
                everything: Array((sentence(failure, of: name) + "\n").utf8))
        }
        if isJSON { return try Output.write(document(outcome, name, place)) }
        switch outcome {
        case .accepted(let id):
            try Output.write(showsNames ? "\(id)  \(Terminal.printable(name))\n" : "\(id)\n")
        case .done(_, let result):
            try Output.writeResult(result.last == 10 ? result : result + [10])
        case .failed: break
        }
    }

    private func sentence(_ failure: Failure, of name: String) -> String {
        style.bad("workerctl:") + " " + Terminal.printable("\(name): \(failure.description)")
    }

    private func document(_ outcome: BatchOutcome, _ name: String, _ place: Int) -> JSON {
        var entries: [(String, JSON)] = [("input", .string(name)), ("place", .integer(place))]
        func add(_ id: UInt64?) {
            entries.append(("id", id.map { .integer(Int(clamping: $0)) } ?? .null))
        }
        switch outcome {
        case .accepted(let id): add(id)
        case .done(let id, let result):
            add(id)
            entries.append(("result", .bytes(result)))
        case .failed(let id, let failure):
            add(id)
            if case .object(let error) = failure.json { entries += error }
        }
        return .object(entries)
    }

    /// Tells the counts, if there is something to tell, and throws the first failure's status.
    func finish(handedInCount: Int, of count: Int?) throws(Failure) {
        let isShown = bar != nil
        bar?.clear()
        guard isShown || hasFailed else { return }
        let left = (count ?? handedInCount) - handedInCount
        let parts = [
            counted(handedInCount, "input"), "\(goodCount) good",
            failedCount > 0 ? "\(failedCount) failed" : nil,
            left > 0 ? "\(left) not handed in" : nil,
        ].compactMap { $0 }
        try? StandardStream.error.write(
            everything: Array((parts.joined(separator: ", ") + "\n").utf8))
    }
}
