// The daemons that share a store. Pure.

/// The certificate of a daemon's door for commands, by which others know that door.
package struct NodeCertificate: Sendable, Equatable {
    /// The SHA-256 digest of the certificate, in hexadecimal.
    package var fingerprint: String
    /// Whether the door refuses clients that have no certificate of their own.
    package var requiresClient: Bool

    package init(fingerprint: String, requiresClient: Bool = false) {
        self.fingerprint = fingerprint
        self.requiresClient = requiresClient
    }
}

/// A daemon's words about itself for the others that share its store.
package struct NodeCard: Sendable, Equatable {
    /// A place where others reach a daemon.
    package struct Place: Sendable, Equatable {
        /// A URL without a path: `redis://10.0.0.5:7379`, `rediss://` with TLS; `http`, `https`.
        package var url: String
        /// Whether only daemons of the same machine reach it.
        package var isLocal: Bool

        package init(url: String, isLocal: Bool) {
            self.url = url
            self.isLocal = isLocal
        }
    }

    /// The daemon's name for people; several may have one name.
    package var name: String
    /// Where it speaks the Redis protocol; nil if others can't reach it.
    package var commands: Place?
    /// Where it speaks HTTP; nil if others can't reach it.
    package var requests: Place?
    /// The threads and pools that it can run.
    package var threads: [String] = []
    /// The spread pools for which it asks for slots of others.
    package var wanted: [String] = []
    /// The secret of its links, for the others; nil if it takes none.
    package var linkSecret: String?
    /// The certificate of its door `commands`; nil without TLS.
    package var certificate: NodeCertificate?

    package init(
        name: String, commands: Place? = nil, requests: Place? = nil, linkSecret: String? = nil
    ) {
        self.name = name
        self.commands = commands
        self.requests = requests
        self.linkSecret = linkSecret
    }
}

/// A daemon that shares a store with others, and lives.
package struct StoreNode: Sendable, Equatable {
    /// The number of this run of the daemon among all that the store has seen.
    package var id: Int64
    package var name: String
    /// URLs, as on its card.
    package var commands: String?
    package var requests: String?
    /// When it came, in Unix milliseconds.
    package var startedAt: Int64
    /// Whether it has the seat, or one of several.
    package var serves: Bool
    /// The number of its seat if daemons share the threads; nil if one has all.
    package var seat: Int64?
    /// The threads and pools that it can run, if it shares them.
    package var threads: [String] = []
    /// The spread pools for which it asks for slots of others, as on its card.
    package var wanted: [String] = []
    /// The secret that it asks for over links, as on its card.
    package var linkSecret: String?
    /// The certificate of its door, as on its card.
    package var certificate: NodeCertificate?

    package init(
        id: Int64, name: String, commands: String?, requests: String?, startedAt: Int64,
        serves: Bool, linkSecret: String? = nil
    ) {
        self.id = id
        self.name = name
        self.commands = commands
        self.requests = requests
        self.startedAt = startedAt
        self.serves = serves
        self.linkSecret = linkSecret
    }

    /// The same without its wish for slots, which changes often and has no part in the shares.
    package var withoutWish: StoreNode {
        var node = self
        node.wanted = []
        return node
    }
}

/// The daemons that share a store, and the seat that one of them has.
package struct StoreNodes: Sendable, Equatable {
    /// By name, then by age.
    package var all: [StoreNode]
    /// Whether a daemon has the seat, also one that is not among them.
    package var isSeatTaken: Bool
    /// Since when, in Unix milliseconds.
    package var seatTakenAt: Int64
    /// How often the seat has been taken.
    package var epoch: Int64
    /// Which daemon has which thread; nil if one has all.
    package var places: ThreadPlaces?

    package init(
        all: [StoreNode] = [], isSeatTaken: Bool = true, seatTakenAt: Int64 = 0, epoch: Int64 = 0
    ) {
        self.all = all
        self.isSeatTaken = isSeatTaken
        self.seatTakenAt = seatTakenAt
        self.epoch = epoch
    }

    /// The same without the wishes of nodes for slots.
    package var withoutWishes: StoreNodes {
        var nodes = self
        nodes.all = all.map(\.withoutWish)
        return nodes
    }
}

/// The owner of a store's seat, as a daemon sees it that waits for the seat.
package enum SeatHolder: Sendable, Equatable {
    /// No daemon has it: a waiting daemon is about to take it.
    case nobody
    /// A daemon that the others know.
    case node(StoreNode)
    /// A daemon that has told nothing of itself: one of an older version.
    case unknown
    /// This daemon.
    case own
}
