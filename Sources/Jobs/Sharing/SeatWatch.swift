// When a daemon that waits for the seat may take it. Pure.

/// The looks of a waiting daemon at the lock of the seat.
package struct SeatWatch {
    /// How long the lock must have been free, and in how many looks.
    package static let freeTime = Duration.seconds(1)
    package static let lookCountMin = 3
    /// The same on a promoted standby: its locks were always free, and the earlier daemon may trust
    /// the old primary's last answer.
    package static let promotedFreeTime = Duration.seconds(4)
    /// A server that has just started has freed all locks: their owners come back within this time.
    package static let grace = Duration.seconds(15)

    private var freeSince: ContinuousClock.Instant?
    private var lookCount = 0

    package init() {}

    /// Whether a server is so young that owners of locks that its start freed may come back.
    package static func isNew(_ serverAge: Duration) -> Bool { serverAge < grace }

    /// Adds a look.
    ///
    /// - Parameters:
    ///   - isHeld: whether a session holds the lock.
    ///   - isServerNew: whether the server has started within `grace`.
    ///   - wasTakenSince: whether the seat was taken since the server's start: then that start has
    ///     not freed it.
    ///   - isPromoted: whether the seat was last taken on an earlier timeline.
    /// - Returns: whether the seat may be taken.
    package mutating func look(
        isHeld: Bool, isServerNew: Bool, wasTakenSince: Bool = false,
        isPromoted: Bool = false, at now: ContinuousClock.Instant
    ) -> Bool {
        guard !isHeld, wasTakenSince || isPromoted || !isServerNew else {
            self = SeatWatch()
            return false
        }
        lookCount += 1
        let since = freeSince ?? now
        freeSince = since
        let freeTime = isPromoted ? Self.promotedFreeTime : Self.freeTime
        return lookCount >= Self.lookCountMin && now - since >= freeTime
    }
}
