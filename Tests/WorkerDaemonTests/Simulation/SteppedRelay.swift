// The doors of a node that waits, on the caller's loop and clock.

import Jobs
import RunLoops

@testable import WorkerDaemon

/// A relay whose loop is the caller's.
///
/// - Thread: the one that made it.
final class SteppedRelay {
    private let relay: Relay

    /// Opens the doors of a configuration.
    init(_ configuration: Configuration) throws {
        relay = Relay(configuration, on: ThreadRunLoop.current, Log(level: .error))
        try relay.open(InheritedSockets([:], processID: 0))
    }

    deinit { relay.close() }

    func follow(_ holder: SeatHolder) { relay.follow(holder) }
}
