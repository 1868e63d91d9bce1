// The daemon's log: lines on standard error, with the levels that journald reads when it listens.

internal import Kernel
internal import Synchronization
internal import Wording

/// Writes what happens to standard error.
///
/// - Thread: any thread.
/// - Blocks: up to a second if the reader of standard error does not read; then lines are lost.
package final class Log: Sendable {
    /// The number of the level in the system's log.
    private let level: Atomic<Int>
    private let isForJournal: Bool
    private let write: @Sendable ([UInt8]) -> Void

    /// A log.
    ///
    /// - Parameters:
    ///   - level: lines below it are dropped.
    ///   - isForJournal: whether lines begin with `<6>`, as sd-daemon(3) says, and leave the time
    ///     to the journal.
    ///   - write: where lines go, one or several that belong together, each with its line feed.
    package init(
        level: Configuration.Log.Level, isForJournal: Bool,
        write: @escaping @Sendable ([UInt8]) -> Void
    ) {
        self.level = Atomic(level.journalNumber)
        self.isForJournal = isForJournal
        self.write = write
    }

    /// A log on standard error.
    package convenience init(level: Configuration.Log.Level) {
        let isForJournal = Program.inheritedEnvironment()["JOURNAL_STREAM"] != nil
        let output = LogOutput { count in
            Self.lines(
                .warning, "\(count) messages of the log are lost: nobody has read standard error",
                isForJournal)
        }
        self.init(level: level, isForJournal: isForJournal) { output.write($0) }
    }

    /// Drops lines below another level from now on.
    package func setLevel(_ level: Configuration.Log.Level) {
        self.level.store(level.journalNumber, ordering: .relaxed)
    }

    package func debug(_ text: @autoclosure () -> String) { line(.debug, text) }
    package func info(_ text: @autoclosure () -> String) { line(.info, text) }
    package func notice(_ text: @autoclosure () -> String) { line(.notice, text) }
    package func warning(_ text: @autoclosure () -> String) { line(.warning, text) }
    package func error(_ text: @autoclosure () -> String) { line(.error, text) }

    private func line(_ level: Configuration.Log.Level, _ text: () -> String) {
        guard level.journalNumber <= self.level.load(ordering: .relaxed) else { return }
        // In one piece, so that another thread's lines don't come in between.
        write(Self.lines(level, text(), isForJournal))
    }

    private static func lines(
        _ level: Configuration.Log.Level, _ text: String, _ isForJournal: Bool
    ) -> [UInt8] {
        let prefix =
            isForJournal
            ? "<\(level.journalNumber)>"
            : "\(WallClock.utc(WallClock.unixMilliseconds())) \(level.rawValue): "
        return Array(
            text.split(separator: "\n").map { "\(prefix)\(printable(String($0)))\n" }.joined().utf8)
    }
}

extension Configuration.Log.Level: Comparable {
    /// The level's number in the system's log, 7 the least urgent.
    ///
    /// - Source: sd-daemon(3).
    fileprivate var journalNumber: Int {
        switch self {
        case .debug: 7
        case .info: 6
        case .notice: 5
        case .warning: 4
        case .error: 3
        }
    }

    /// Whether `left` is less urgent than `right`.
    package static func < (left: Self, right: Self) -> Bool {
        left.journalNumber > right.journalNumber
    }
}
