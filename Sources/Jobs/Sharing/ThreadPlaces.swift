// Which seat of a store has each thread, as one daemon sees it at one moment. Pure.

/// The threads of a store and their seats.
package struct ThreadPlaces: Sendable, Equatable {
    /// The place of a thread or pool.
    package struct Place: Sendable, Equatable {
        /// Its seat; 0 if it was given back.
        package var seat: Int64
        /// Whether its daemon has its jobs; else it has still to take them up.
        package var isTaken: Bool

        package init(seat: Int64, isTaken: Bool) {
            self.seat = seat
            self.isTaken = isTaken
        }
    }

    /// A seat that has threads or a daemon.
    package struct Seat: Sendable, Equatable {
        /// Whether a session has its lock.
        package var isHeld: Bool
        /// Whether it was taken since the server's start: then that start has not freed it.
        package var wasTakenSince: Bool
        /// Whether it was last taken on an earlier timeline of the server.
        package var isPromoted: Bool

        package init(isHeld: Bool, wasTakenSince: Bool = true, isPromoted: Bool = false) {
            self.isHeld = isHeld
            self.wasTakenSince = wasTakenSince
            self.isPromoted = isPromoted
        }
    }

    /// The threads and pools that have a row; others never had an owner.
    package var threads: [String: Place] = [:]
    package var seats: [Int64: Seat] = [:]
    /// The number of times that a schedule was given another thread.
    package var scheduleMoveCount: Int64 = 0
    /// Whether the server has just started: the owners of its locks may come back.
    ///
    /// Its age would make each look another one than the look before.
    package var isServerNew = false
    /// The number of this daemon's session in which the places were read.
    package var session = 0

    package init() {}

    /// The pools and threads that are still to be taken up, of which seat each.
    ///
    /// - Complexity: O(threads).
    var poolsOnTheirWay: [Int64: Set<String>] {
        var pools: [Int64: Set<String>] = [:]
        for (thread, place) in threads where !place.isTaken {
            pools[place.seat, default: []].insert(PoolSlot.shown(thread))
        }
        return pools
    }
}
