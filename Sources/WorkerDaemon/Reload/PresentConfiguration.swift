// The configuration in force, for the main thread: `io` applies reloads.

internal import Synchronization

/// The configuration in force.
///
/// - Thread: any thread.
final class PresentConfiguration: Sendable {
    private let configuration: Mutex<Configuration>

    init(_ configuration: Configuration) { self.configuration = Mutex(configuration) }

    var value: Configuration { configuration.withLock { $0 } }

    func set(_ value: Configuration) { configuration.withLock { $0 = value } }
}
