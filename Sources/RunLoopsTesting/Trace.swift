// A list of observed events, in order, as words that a test can compare.

public import RunLoops
internal import Synchronization

/// A list of words that any thread may add to.
///
/// - Thread: any thread.
public final class Trace: Sendable {
    private let words = Mutex<[String]>([])

    /// A trace without a word.
    public init() {}

    /// Adds a word.
    public func note(_ word: String) {
        words.withLock { $0.append(word) }
    }

    /// The notes so far.
    public var all: [String] { words.withLock { $0 } }

    /// The notes so far, which are then forgotten.
    public func take() -> [String] {
        words.withLock { words in
            defer { words.removeAll() }
            return words
        }
    }
}

extension ThreadRunLoop {
    /// Notes every activity of a mode in `trace`: `entry`, `before-timers`, `before-sources`,
    /// `before-waiting`, `after-waiting`, `exit`.
    ///
    /// - Parameters:
    ///   - trace: where it is noted.
    ///   - mode: the mode that is observed.
    ///   - prefix: stands before each word.
    /// - Thread: any thread.
    public func observe(_ trace: Trace, in mode: Mode = .default, prefix: String = "") {
        add(Observer { _, activity in trace.note(prefix + activity.description) }, to: mode)
    }

    /// Adds a port that does nothing but keep a mode alive, so that a run in it does not end
    /// `finished`.
    ///
    /// - Thread: any thread.
    public func keepAlive(_ mode: Mode = .default) {
        add(signalled: Port { _, _ in }, to: mode)
    }
}
