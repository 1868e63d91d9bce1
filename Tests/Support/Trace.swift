// What was observed, in order, as words that a test can compare.

internal import Synchronization

/// A list of words that any thread may add to.
package final class Trace: Sendable {
    private let words = Mutex<[String]>([])

    package init() {}

    /// Adds a word.
    package func note(_ word: String) {
        words.withLock { $0.append(word) }
    }

    /// What was noted so far.
    package var all: [String] { words.withLock { $0 } }

    /// What was noted so far, which is then forgotten.
    package func take() -> [String] {
        words.withLock { words in
            defer { words.removeAll() }
            return words
        }
    }
}
