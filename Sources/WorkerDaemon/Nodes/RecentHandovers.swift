// Moves of threads that not all nodes know yet. A node learns of a move at its next look, and sends
// commands for the thread to the former owner until then.
//
//     former owner    passes such a command on to the new owner for 2 s; later it refuses it
//     other node      once it knows of the move, it sends commands to the new owner. For 3 s, the
//                     next command of a client waits while the former owner owes it an answer
//
// So the commands of a client reach the new owner in their order: after the 3 s, the former owner
// refuses each command that it still gets.

internal import Jobs
internal import Kernel

/// The recent moves of threads, as one of the nodes knows them.
struct RecentHandovers {
    /// How long the former owner passes commands on.
    ///
    /// The new owner can't give the thread back sooner: it looks four times before it gives one.
    static let passingOnTime = Duration.seconds(2)
    /// How long another node has commands wait for the answers that the former owner owes.
    static let settlingTime = Duration.seconds(3)

    /// When this node has given threads, pools and slots away.
    private var given: [String: Instant] = [:]
    /// The nodes that have given something away, and until when commands may be on their way over
    /// them.
    private(set) var givers: [Int64: Instant] = [:]

    /// This node has given a thread, a pool or a slot away.
    mutating func gave(_ unit: String, at now: Instant) {
        given = given.filter { now < $0.value.advanced(by: Self.passingOnTime) }
        given[unit] = now
    }

    /// This node has it again.
    mutating func forget(_ unit: String) { given[unit] = nil }

    /// Whether this node passes commands for a thread, a pool or a slot on to the new owner.
    func hasJustGiven(_ unit: String, at now: Instant) -> Bool {
        given[unit].map { now < $0.advanced(by: Self.passingOnTime) } == true
    }

    /// Forgets the nodes over which no command can be on its way any more.
    mutating func settle(at now: Instant) {
        if !givers.isEmpty { givers = givers.filter { now < $0.value } }
    }

    /// A look has shown other owners than the one before.
    ///
    /// - Parameter missing: the nodes that may soon work again, and pass commands on then.
    mutating func note(
        _ nodes: StoreNodes, _ missing: [StoreNode], after before: StoreNodes, at now: Instant
    ) {
        for (unit, place) in nodes.places?.threads ?? [:] {
            guard let former = before.places?.threads[unit]?.seat, former != place.seat,
                let giver = (nodes.all + missing).first(where: { $0.seat == former })
            else { continue }
            givers[giver.id] = now.advanced(by: Self.settlingTime)
        }
    }
}
