// How long this daemon may begin jobs. Another daemon takes the seat at the earliest when the
// session of this one is over, which takes the server some seconds; trust ends before that.

internal import Jobs
internal import Synchronization

/// Whether the seat is certainly this daemon's.
///
/// - Thread: any.
final class Trust: Sendable {
    /// How long a confirmed transaction is trusted, from its sending on.
    static let span = Duration.seconds(3)
    /// After how much silence the server ends a session.
    static let sessionSeconds = SeatWatch.promotedFreeTime.components.seconds

    private let origin = ContinuousClock.now
    /// The end of the trust, in nanoseconds from the origin.
    private let end = Atomic<Int64>(0)
    private let isConnected = Atomic<Bool>(true)

    /// A transaction that was sent at this moment is confirmed.
    func extend(from moment: ContinuousClock.Instant) {
        let passed = (moment + Self.span) - origin
        let (seconds, attoseconds) = passed.components
        end.store(seconds * 1_000_000_000 + attoseconds / 1_000_000_000, ordering: .releasing)
    }

    /// Notes that the connection is lost, or there again.
    ///
    /// When it is lost, the server may have ended the session, and another daemon may take the seat
    /// before the trust ends.
    func noteConnection(_ isThere: Bool) { isConnected.store(isThere, ordering: .releasing) }

    /// Whether jobs may begin.
    var permitsBeginning: Bool { isConnected.load(ordering: .acquiring) && isHeld }

    var isHeld: Bool {
        let (seconds, attoseconds) = (ContinuousClock.now - origin).components
        let now = seconds * 1_000_000_000 + attoseconds / 1_000_000_000
        return now < end.load(ordering: .acquiring)
    }
}
