// A limit for log lines about frequent events, per period. Pure; the caller has the clock.

package import Kernel

/// So many lines in a time.
package struct LineBudget {
    /// The fate of a line.
    package enum Answer: Equatable {
        case written
        /// Written, as the last one of this period, which the line says.
        case writtenAsLast
        case leftOut
    }

    private let count: Int
    private let period: Duration
    private var begin = Instant.distantPast
    private var writtenCount = 0

    /// - Parameters:
    ///   - count: at least 1.
    ///   - period: from the first line on that is written after a while.
    package init(count: Int, each period: Duration) {
        self.count = count
        self.period = period
    }

    /// Asks for one line.
    package mutating func take(at now: Instant) -> Answer {
        if begin == .distantPast || now >= begin.advanced(by: period) {
            begin = now
            writtenCount = 0
        }
        guard writtenCount < count else { return .leftOut }
        writtenCount += 1
        return writtenCount == count ? .writtenAsLast : .written
    }
}
