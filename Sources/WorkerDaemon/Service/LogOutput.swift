// Standard error as the log uses it. A reader that stops reading, such as a pager or a stopped
// terminal, may lose lines, but does not stop the daemon.

internal import Kernel
internal import Synchronization

/// Standard error with a limit to how long it is waited for.
///
/// - Thread: any thread.
final class LogOutput: Sendable {
    private struct State {
        var lostCount = 0
        /// Whether the last one that was written lacks its end.
        var isCutOff = false
    }

    private let state = Mutex(State())
    /// Makes the line about a number of lost messages, with its line feed.
    private let loss: @Sendable (Int) -> [UInt8]

    /// How long a write waits for a reader that takes nothing, the first time.
    private static let patienceMilliseconds = 1_000

    init(loss: @escaping @Sendable (Int) -> [UInt8]) { self.loss = loss }

    /// Writes a message of one or several lines, or loses it.
    ///
    /// - Blocks: up to a second when the reader has just stopped to read, and then no more until it
    ///   reads.
    func write(_ message: [UInt8]) {
        state.withLock { state in
            let isBehind = state.lostCount > 0
            let before =
                (state.isCutOff ? [UInt8(ascii: "\n")] : [])
                + (isBehind ? loss(state.lostCount) : [])
            let all = before + message
            // A closed standard error is no fault: its user does not want the messages.
            let count =
                (try? StandardStream.error.write(
                    all, withinMilliseconds: isBehind ? 0 : Self.patienceMilliseconds)) ?? all.count
            if count == all.count {
                state = State()
            } else {
                if count > 0 { state.isCutOff = true }
                state.lostCount += 1
            }
        }
    }
}
