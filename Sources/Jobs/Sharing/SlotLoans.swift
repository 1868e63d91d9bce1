// The slots of spread pools that a busy daemon lends to an idle one. Pure.
//
//     idle daemon    asks on its card, once its pool has been idle for some looks
//     busy daemon    gives it slots with up to half of its waiting jobs, which go with them, or
//                    with a third of them to each of two that ask; a slot with a running job
//                    begins no other, and goes when that has ended
//     borrower       gives the slot back when the daemon whose share it is asks, or has no other
//                    one, and when a daemon has come or gone: then shares are even again
//
// The borrower alone knows of a loan. Shares go by the names of nodes, so it would give the slot
// back at once; and only the owner of a slot gives it away.

/// The jobs that wait for a spread pool at one daemon.
package struct SlotLoad: Sendable, Equatable {
    /// How many jobs wait for its threads.
    package var sum: Int
    /// How many of them wait in each slot that can pass to another daemon once its running jobs
    /// have ended.
    package var lendable: [String: Int]

    package init(sum: Int = 0, lendable: [String: Int] = [:]) {
        self.sum = sum
        self.lendable = lendable
    }

    /// Takes out the slots to lend to one of several daemons that ask, those with most jobs first.
    ///
    /// Together they have at most an equal part of the jobs, counting the lender; one alone has at
    /// most half of them, so that the rest is not less.
    ///
    /// - Parameter count: how many daemons still ask, this one included.
    package mutating func lendSlots(toOneOf count: Int) -> [String] {
        var slots: [String] = []
        var lent = 0
        for (slot, jobs) in lendable.sorted(by: { ($1.value, $0.key) < ($0.value, $1.key) })
        where slots.isEmpty ? jobs * 2 <= sum : (lent + jobs) * (count + 1) <= sum {
            slots.append(slot)
            lent += jobs
            lendable[slot] = nil
        }
        sum -= lent
        return slots
    }
}

/// The loans of a daemon, as borrower and as lender.
struct SlotLoans: Sendable {
    /// How many looks in a row must have found a pool idle, or busy.
    static let lookCountMin = 4
    /// For how many looks a slot waits for the ends of its running jobs, so that it can be lent.
    static let lendingLookCount = 10
    /// For how many looks after the end of a wish a slot that comes is a loan.
    ///
    /// Another daemon may have read the wish before its end, and lend a slot that waits.
    static let recentLookCount = 2 * lendingLookCount
    /// For how many looks it is not lent again if that was in vain.
    static let vainLookCount = 120

    /// The pools for which this daemon asks for slots.
    private(set) var wanted: Set<String> = []
    /// In how many looks in a row each pool was idle.
    private var idleCounts: [String: Int] = [:]
    /// For how many looks more a slot of a pool is a loan.
    private var recent: [String: Int] = [:]
    /// The slots of other daemons' shares that this one has.
    private var borrowed: Set<String> = []
    /// The pools for which each living daemon asks, by its seat.
    private var wishes: [Int64: Set<String>] = [:]
    /// In how many looks in a row a pool was busy that another daemon asks for.
    private var busyCounts: [String: Int] = [:]
    /// The slots that are being lent: the seat that gets each, and for how many looks more.
    private var lending: [String: (seat: Int64, lookCount: Int)] = [:]
    /// For how many looks more a slot is not lent, as its running jobs did not end in time.
    private var vain: [String: Int] = [:]

    /// Whether the next look decides nothing: no pool has become idle or busy just now, and no slot
    /// is being lent.
    var isQuiet: Bool {
        busyCounts.isEmpty && lending.isEmpty
            && idleCounts.values.allSatisfy { $0 >= Self.lookCountMin }
    }

    // MARK: - Borrowing

    /// A look has found these daemons living, and these pools of this one idle.
    mutating func look(at living: [StoreNode], idle: Set<String>) {
        var wishes: [Int64: Set<String>] = [:]
        for node in living { if let seat = node.seat { wishes[seat] = Set(node.wanted) } }
        if wishes.keys != self.wishes.keys { borrowed = [] }
        self.wishes = wishes
        recent = recent.compactMapValues { $0 > 1 ? $0 - 1 : nil }
        idleCounts = Dictionary(
            uniqueKeysWithValues: idle.map { ($0, idleCounts[$0, default: 0] + 1) })
        wanted = idle.filter { idleCounts[$0, default: 0] >= Self.lookCountMin }
        for pool in wanted { recent[pool] = Self.recentLookCount }
    }

    /// A slot has come that is of another daemon's share.
    mutating func borrow(_ slot: String) {
        if recent[PoolSlot.shown(slot)] != nil { borrowed.insert(slot) }
    }

    /// A slot has another owner.
    mutating func leave(_ slot: String) { borrowed.remove(slot) }

    /// Whether a slot on loan stays here: the daemon whose share it is does not ask for it.
    func keeps(_ slot: String, from seat: Int64) -> Bool {
        borrowed.contains(slot) && wishes[seat]?.contains(PoolSlot.shown(slot)) != true
    }

    // MARK: - Lending

    /// The slots to lend to the daemons that ask, of each pool that has been busy for some looks.
    ///
    /// A pool lends again only when all these slots have gone, and some looks later: so a borrower
    /// has time to say that it has work now. A slot is named at each look until it has gone.
    ///
    /// - Parameters:
    ///   - seat: that of this daemon.
    ///   - coming: the pools of which a slot is on its way already, by the seats that get it.
    ///   - isOwn: whether this daemon has a slot.
    ///   - load: that of a pool if it is busy: more jobs wait for it than it has threads.
    /// - Returns: each slot with the seat that is to have it.
    mutating func slots(
        toLendFrom seat: Int64, besides coming: @autoclosure () -> [Int64: Set<String>],
        where isOwn: (String) -> Bool, _ load: (String) -> SlotLoad?
    ) -> [(slot: String, seat: Int64)] {
        goOnLending(where: isOwn, load)
        let others = wishes.filter { $0.key != seat && !$0.value.isEmpty }
        let coming = others.isEmpty ? [:] : coming()
        let busy = Set(lending.keys.map(PoolSlot.shown))
        var counts: [String: Int] = [:]
        for pool in Set(others.values.joined()).subtracting(busy) {
            let asking = others.filter {
                $0.value.contains(pool) && coming[$0.key]?.contains(pool) != true
            }
            guard !asking.isEmpty, let load = load(pool) else { continue }
            let count = busyCounts[pool, default: 0] + 1
            let lends = count >= Self.lookCountMin && lend(load, to: asking.keys.sorted())
            counts[pool] = lends ? 0 : count
        }
        busyCounts = counts
        return lending.map { ($0.key, $0.value.seat) }.sorted { $0 < $1 }
    }

    /// Begins to lend slots of a busy pool to the daemons that ask for some.
    ///
    /// - Returns: whether there is one to lend.
    private mutating func lend(_ load: SlotLoad, to seats: [Int64]) -> Bool {
        let before = lending.count
        var load = load
        for slot in vain.keys { load.lendable[slot] = nil }
        for (index, seat) in seats.enumerated() {
            for slot in load.lendSlots(toOneOf: seats.count - index) {
                lending[slot] = (seat, Self.lendingLookCount)
            }
        }
        return lending.count > before
    }

    /// Forgets the slots that have gone, that are not to go any more, and those whose time is over.
    private mutating func goOnLending(
        where isOwn: (String) -> Bool, _ load: (String) -> SlotLoad?
    ) {
        vain = vain.compactMapValues { $0 > 1 ? $0 - 1 : nil }
        guard !lending.isEmpty else { return }
        let pools = Set(lending.keys.map(PoolSlot.shown)).filter { load($0) != nil }
        for (slot, loan) in lending {
            let isOver = loan.lookCount <= 1
            if isOver, isOwn(slot) { vain[slot] = Self.vainLookCount }
            let goesOn =
                !isOver && isOwn(slot) && wishes[loan.seat] != nil
                && pools.contains(PoolSlot.shown(slot))
            lending[slot] = goesOn ? (loan.seat, loan.lookCount - 1) : nil
        }
    }
}
