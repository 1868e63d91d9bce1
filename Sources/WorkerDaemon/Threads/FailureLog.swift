// Log lines about failed attempts: enough to see what goes wrong, and bounded in each second.

internal import Jobs
package import Kernel
internal import Synchronization
internal import Wording

/// Writes failed attempts to the log, some of them each second.
///
/// - Thread: any thread.
final class FailureLog: Sendable {
    private static let reasonScalarCountMax = 500

    private let log: Log
    private let budget = Mutex(LineBudget(count: 10, each: .seconds(1)))

    init(_ log: Log) { self.log = log }

    /// Notes that an attempt has failed or run out of its time.
    ///
    /// - Parameter isFinal: whether no other one follows, whatever number of retries the job has.
    /// - Blocks: as the log does.
    func note(
        _ job: JobContext, _ outcome: Outcome, isFinal: Bool, on thread: String, at now: Instant
    ) {
        let answer = budget.withLock { $0.take(at: now) }
        guard answer != .leftOut, let reason = outcome.failureReason else { return }
        let isTriedAgain =
            !isFinal && job.retry.follows(attempt: job.attempt) && !job.isCancelRequested
        let line =
            "\(job.title) failed on \(thread)"
            + (job.attempt > 1 || isTriedAgain ? " in attempt \(job.attempt)" : "")
            + (isTriedAgain ? ", is tried again" : "") + ": "
            + inOneLine(reason, scalarCountMax: Self.reasonScalarCountMax)
            + (answer == .writtenAsLast
                ? " (more of this second are left out, see JOBS failed)" : "")
        if isTriedAgain { log.info(line) } else { log.warning(line) }
    }
}

/// A limit for log lines about frequent events, per period.
///
/// Pure; the caller has the clock.
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
