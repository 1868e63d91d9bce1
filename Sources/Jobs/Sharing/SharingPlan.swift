// The steps of a daemon that shares threads with others, by its looks at them. Pure.
//
//     a row of its seat     not open here: claim · another node is to have it: give once idle
//                           a slot of a busy pool that an idle node asks for: give (SlotLoans)
//     no seat, given back   take: at once if this node is to have it, else a little later
//     a living seat         nothing
//     a dead seat           as without a seat, once it has been free for long enough (SeatWatch)
//
// A thread is given away only after several looks that agree, so that a node that comes and goes
// moves nothing.

/// A step of a daemon that shares threads.
package enum SharingStep: Sendable, Equatable {
    /// Take up the jobs of a thread or pool that belongs to this seat.
    case claim(String)
    /// Move a thread to this seat whose daemon has gone.
    case take(ThreadMove)
    /// Give an idle thread to another daemon.
    case give(ThreadMove)
}

extension SharingStep {
    /// Whether it gives a thread to another daemon.
    fileprivate func gives(_ thread: String) -> Bool {
        if case .give(let move) = self { move.thread == thread } else { false }
    }
}

/// The looks of a daemon, and what follows from them.
package struct SharingPlan: Sendable {
    /// How long another node waits for the one that is to have a thread, for each rank.
    package static let rankPause = Duration.seconds(1)
    /// How many looks in a row must agree that another node is to have a thread.
    package static let giveLookCountMin = 10

    private let seat: Int64
    /// The names of the threads and pools that this daemon can run, in order.
    private let threads: [String]
    private let spread: SpreadPools
    private var watches: [Int64: SeatWatch] = [:]
    /// Since when a thread has no owner.
    private var ownerlessSince: [String: ContinuousClock.Instant] = [:]
    /// The node that is to have a thread of this seat, and how many looks agree.
    private var givings: [String: (seat: Int64, lookCount: Int)] = [:]
    private var loans = SlotLoans()

    /// The latest assignment and its nodes: to assign threads takes long if there are many.
    private var assigned: (nodes: [StoreNode], assignment: ThreadAssignment)?
    /// Whether nothing was to be done or waited for at the latest look.
    package private(set) var isQuiet = false

    package init(seat: Int64, threads: [String]) {
        self.seat = seat
        self.threads = threads.sorted()
        spread = SpreadPools(of: threads)
    }

    /// The spread pools for which this daemon asks for slots of others, as it is idle.
    package var wanted: Set<String> { loans.wanted }

    /// Looks at all daemons.
    ///
    /// - Parameters:
    ///   - open: the threads whose jobs this daemon has. Another one of its seat is claimed also if
    ///     its row says that it is taken: a part of its claim may have failed.
    ///   - idle: the spread pools for which no job waits here while one of their threads is free.
    ///   - load: the jobs that wait here for a spread pool; nil if they are no more than its
    ///     threads.
    /// - Returns: the steps to take now, in the order of the threads' names. A step that is not
    ///   taken, or fails, comes again.
    package mutating func look(
        _ nodes: StoreNodes, open: Set<String>, idle: Set<String> = [],
        at now: ContinuousClock.Instant, load: (String) -> SlotLoad? = { _ in nil }
    ) -> [SharingStep] {
        guard let places = nodes.places else { return [] }
        let free = freeSeats(places, at: now)
        let living = nodes.all.filter { node in
            node.seat.map { places.seats[$0]?.isHeld == true } == true
        }
        let assignment = assignment(among: living.map(\.withoutWish))
        let livingSeats = Set(living.compactMap(\.seat))
        // A pool's pause comes with its slots: only with one is it known.
        loans.look(at: living, idle: idle.intersection(open.lazy.map(PoolSlot.shown)))
        var steps: [SharingStep] = []
        for thread in threads {
            let place = places.threads[thread]
            if let place, place.seat == seat {
                let hadOwner = ownerlessSince.removeValue(forKey: thread) == nil
                if !place.isTaken, hadOwner, assignment.seat(of: thread) != seat {
                    loans.borrow(thread)
                }
                if !place.isTaken || !open.contains(thread) { steps.append(.claim(thread)) }
                if let move = giving(of: thread, assignment, livingSeats, places) {
                    steps.append(.give(move))
                }
                continue
            }
            givings[thread] = nil
            loans.leave(thread)
            let owner = place?.seat ?? 1
            guard owner <= 1 || free.contains(owner) else {
                ownerlessSince[thread] = nil
                continue
            }
            let since = ownerlessSince[thread] ?? now
            ownerlessSince[thread] = since
            guard let rank = assignment.rank(of: seat, for: thread) else { continue }
            if rank == 0 || now - since >= Self.rankPause * (rank + 1) {
                steps.append(
                    .take(
                        ThreadMove(thread, from: owner, to: seat, session: places.session)))
            }
        }
        lend(places, load, &steps)
        isQuiet =
            steps.isEmpty && ownerlessSince.isEmpty && givings.isEmpty && loans.isQuiet
            && places.threads.values.allSatisfy { places.seats[$0.seat]?.isHeld == true }
        return steps
    }

    /// Adds the slots that are lent to daemons which ask for them.
    private mutating func lend(
        _ places: ThreadPlaces, _ load: (String) -> SlotLoad?, _ steps: inout [SharingStep]
    ) {
        let lent = loans.slots(
            toLendFrom: seat, besides: places.poolsOnTheirWay,
            where: { places.threads[$0]?.seat == seat }, load)
        for (slot, other) in lent where !steps.contains(where: { $0.gives(slot) }) {
            steps.append(.give(ThreadMove(slot, from: seat, to: other)))
        }
    }

    /// The assignment among the living nodes, which changes only with them.
    private mutating func assignment(among living: [StoreNode]) -> ThreadAssignment {
        if let assigned, assigned.nodes == living { return assigned.assignment }
        // Also of threads that this daemon can't run: all come to the same assignment.
        let all = Set(living.lazy.flatMap(\.threads)).union(threads)
        let assignment = ThreadAssignment(all, among: living)
        assigned = (living, assignment)
        return assignment
    }

    /// The seats that have been free for long enough.
    private mutating func freeSeats(
        _ places: ThreadPlaces, at now: ContinuousClock.Instant
    ) -> Set<Int64> {
        let owners = Set(places.threads.values.map(\.seat)).subtracting([seat, 0, 1])
        watches = watches.filter { owners.contains($0.key) }
        var free: Set<Int64> = []
        for owner in owners {
            let state = places.seats[owner]
            let isFree = watches[owner, default: SeatWatch()].look(
                isHeld: state?.isHeld ?? false, isServerNew: places.isServerNew,
                wasTakenSince: state?.wasTakenSince ?? true,
                isPromoted: state?.isPromoted ?? false, at: now)
            if isFree { free.insert(owner) }
        }
        return free
    }

    private mutating func giving(
        of thread: String, _ assignment: ThreadAssignment, _ living: Set<Int64>,
        _ places: ThreadPlaces
    ) -> ThreadMove? {
        guard let other = assignment.seat(of: thread), other != seat, living.contains(seat),
            !isKept(thread, from: other, places)
        else {
            givings[thread] = nil
            return nil
        }
        let before = givings[thread].flatMap { $0.seat == other ? $0.lookCount : nil } ?? 0
        givings[thread] = (other, before + 1)
        return before + 1 >= Self.giveLookCountMin
            ? ThreadMove(thread, from: seat, to: other) : nil
    }

    /// Whether a slot is on loan, and the daemon whose share it is has enough with its others.
    private func isKept(_ slot: String, from other: Int64, _ places: ThreadPlaces) -> Bool {
        guard loans.keeps(slot, from: other) else { return false }
        let slots = spread.slots(of: PoolSlot.shown(slot))
        return slots.contains { places.threads[$0]?.seat == other }
    }
}
