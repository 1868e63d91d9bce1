// A store's messages to operators, independent of the daemon's log.

/// Takes a store's messages to the log.
///
/// - Thread: any thread.
package struct StoreLog: Sendable {
    /// How urgent a message is.
    package enum Level: Sendable {
        case notice, warning, error
    }

    private let write: @Sendable (Level, String) -> Void

    /// - Parameter write: takes a message of one line.
    package init(_ write: @escaping @Sendable (Level, String) -> Void) { self.write = write }

    package func notice(_ text: String) { write(.notice, text) }
    package func warning(_ text: String) { write(.warning, text) }
    package func error(_ text: String) { write(.error, text) }
}
