// The threads that have another owner since a moment ago. A node learns that at its next look, and
// sends commands to the former owner until then, which passes them on to the new one.
//
//     gives ───────────────▶ passes commands on for 2 s; refuses them later
//     another node learns ──▶ sends no more commands that way, and has those that are on it
//                            answered before it sends a client's next one to the new owner, for 3 s
//
// So the commands of a client come to the new owner in their order: when the 3 s are over, one that
// is still on the first way is refused there.

internal import Jobs
internal import Kernel

/// The recent moves of threads, as one of the nodes knows them.
struct RecentHandovers {
    /// How long the former owner passes commands on.
    ///
    /// A thread comes back later than that: its new owner looks four times before it gives it away.
    static let passingOnTime = Duration.seconds(2)
    /// How long another node waits for the answers to those that it has sent there.
    static let settlingTime = Duration.seconds(3)

    /// When this node has given threads, pools and slots away.
    private var given: [String: Instant] = [:]
    /// The nodes that have given something away, and until when commands may be on their way over
    /// them.
    private(set) var givers: [Int64: Instant] = [:]

    /// This node has given something away.
    mutating func gave(_ unit: String, at now: Instant) {
        given = given.filter { now < $0.value.advanced(by: Self.passingOnTime) }
        given[unit] = now
    }

    /// It is here again.
    mutating func forget(_ unit: String) { given[unit] = nil }

    /// Whether commands for something that was given away are passed on.
    func hasJustGiven(_ unit: String, at now: Instant) -> Bool {
        given[unit].map { now < $0.advanced(by: Self.passingOnTime) } == true
    }

    /// Forgets the nodes over which no command can be on its way any more.
    mutating func settle(at now: Instant) {
        if !givers.isEmpty { givers = givers.filter { now < $0.value } }
    }

    /// A look has shown other owners than the one before.
    mutating func note(_ nodes: StoreNodes, after before: StoreNodes, at now: Instant) {
        for (unit, place) in nodes.places?.threads ?? [:] {
            guard let former = before.places?.threads[unit]?.seat, former != place.seat,
                let giver = nodes.all.first(where: { $0.seat == former })
            else { continue }
            givers[giver.id] = now.advanced(by: Self.settlingTime)
        }
    }
}
