// Slots of a pool that a busy daemon lends to an idle one, and gets back.

import Jobs
import StoreTwin
import Testing

@Suite struct `A slot of a pool` {
    /// Two daemons that serve a pool of six slots: seats 2 and 3.
    private struct Fleet {
        var nodes = StoreNodes()
        var plans: [Int64: SharingPlan] = [:]
        var idle: Set<Int64> = []
        var loads: [Int64: SlotLoad] = [:]
        /// The slots with a running job.
        var running: Set<String> = []
        private var now = ContinuousClock.now
        private(set) var moves: [ThreadMove] = []
        static let slots = (0..<6).map { PoolSlot.name($0, of: "mail") }

        init() {
            nodes.places = ThreadPlaces()
            for seat in [Int64(2), 3] { join(seat) }
            let shares = ThreadAssignment(Self.slots, among: nodes.all)
            for slot in Self.slots {
                nodes.places?.threads[slot] = ThreadPlaces.Place(
                    seat: shares.seat(of: slot) ?? 0, isTaken: true)
            }
        }

        mutating func join(_ seat: Int64) {
            nodes.all.append(StoreNode("node-\(seat)", seat: seat, threads: Self.slots))
            nodes.places?.seats[seat] = ThreadPlaces.Seat(isHeld: true)
            plans[seat] = SharingPlan(seat: seat, threads: Self.slots)
        }

        /// The slots of a daemon, in order.
        func slots(of seat: Int64) -> [String] {
            (nodes.places?.threads ?? [:]).filter { $0.value.seat == seat }.keys.sorted()
        }

        /// Has each daemon look so many times, and does what follows: a slot that was given is
        /// taken up at the next look.
        mutating func look(_ count: Int) {
            for _ in 0..<count {
                now += .milliseconds(500)
                for seat in plans.keys.sorted() { look(seat) }
            }
        }

        private mutating func look(_ seat: Int64) {
            let threads = nodes.places?.threads ?? [:]
            let open = Set(threads.filter { $0.value.seat == seat && $0.value.isTaken }.keys)
            let load = loads[seat]
            let steps = plans[seat]?.look(
                nodes, open: open, idle: idle.contains(seat) ? ["mail"] : [], at: now,
                load: { _ in load })
            for step in steps ?? [] {
                switch step {
                case .claim(let slot): nodes.places?.threads[slot]?.isTaken = true
                case .give(let move) where running.contains(move.thread): continue
                case .take(let move), .give(let move):
                    moves.append(move)
                    nodes.places?.threads[move.thread] = ThreadPlaces.Place(
                        seat: move.to, isTaken: false)
                    let lent = loads[seat]?.lendable.removeValue(forKey: move.thread) ?? 0
                    loads[seat]?.sum -= lent
                }
            }
            for index in nodes.all.indices where nodes.all[index].seat == seat {
                nodes.all[index].wanted = plans[seat]?.wanted.sorted() ?? []
            }
        }
    }

    /// A fleet in which one daemon has become idle, and jobs wait in the slots of the other one.
    private func fleet(waiting counts: Int...) -> Fleet {
        var fleet = Fleet()
        fleet.idle = [3]
        fleet.loads[2] = SlotLoad(
            sum: counts.reduce(0, +),
            lendable: Dictionary(uniqueKeysWithValues: zip(fleet.slots(of: 2), counts)))
        return fleet
    }

    @Test func `is lent to a daemon that stays idle`() {
        var fleet = fleet(waiting: 10, 20)
        let slot = fleet.slots(of: 2)[0]
        // It asks after four looks, and is heard by the fourth one that has found the other busy.
        fleet.look(7)
        #expect(fleet.moves.isEmpty)
        fleet.look(1)
        #expect(fleet.moves == [ThreadMove(slot, from: 2, to: 3)])
        // It has work now. The slot stays, although it is of the other daemon's share.
        fleet.idle = []
        fleet.look(100)
        #expect(fleet.moves.count == 1 && fleet.slots(of: 3).count == 4)
    }

    @Test func `is not lent while another one is on its way`() {
        var fleet = fleet(waiting: 1)
        fleet.loads[2]?.sum = 100
        fleet.look(8)
        #expect(fleet.moves.count == 1)
        let lent = fleet.moves[0].thread
        fleet.nodes.places?.threads[lent]?.isTaken = false
        fleet.plans[3] = nil
        fleet.loads[2] = SlotLoad(sum: 100, lendable: [fleet.slots(of: 2)[0]: 1])
        fleet.look(20)
        #expect(fleet.moves.count == 1)
        fleet.nodes.places?.threads[lent]?.isTaken = true
        fleet.look(4)
        #expect(fleet.moves.count == 2)
    }

    @Test func `stays if its lender would have less work than the borrower`() {
        var fleet = fleet(waiting: 21, 20)
        let smaller = fleet.slots(of: 2)[1]
        fleet.look(40)
        #expect(fleet.moves == [ThreadMove(smaller, from: 2, to: 3)])
    }

    @Test func `goes with others that have up to an equal part of the jobs together`() {
        func lent(_ sum: Int, _ lendable: [String: Int], toOneOf count: Int = 1) -> [String] {
            var load = SlotLoad(sum: sum, lendable: lendable)
            let slots = load.lendSlots(toOneOf: count)
            let lent = slots.reduce(0) { $0 + lendable[$1, default: 0] }
            #expect(load.sum == sum - lent && slots.allSatisfy { load.lendable[$0] == nil })
            return slots
        }
        #expect(lent(41, ["a": 21]) == [])
        #expect(lent(4, ["a": 2, "b": 2]) == ["a"])
        #expect(lent(0, [:]) == [])
        let eight = Dictionary(uniqueKeysWithValues: "abcdefgh".map { ("\($0)", 1) })
        #expect(lent(8, eight) == ["a", "b", "c", "d"])
        #expect(lent(8, eight, toOneOf: 3) == ["a", "b"])
        #expect(lent(20, ["a": 11, "b": 6, "c": 5, "d": 1]) == ["b", "d"])
        // Alone, one may have half of the jobs, however many daemons ask.
        #expect(lent(20, ["a": 10, "b": 1], toOneOf: 3) == ["a"])
    }

    @Test func `is lent to each of several daemons at once`() {
        var fleet = fleet(waiting: 10, 20, 15)
        fleet.join(4)
        let slot = fleet.slots(of: 3)[0]
        fleet.nodes.places?.threads[slot]?.seat = 4
        fleet.idle = [3, 4]
        fleet.loads[2]?.sum = 60
        let own = fleet.slots(of: 2)
        fleet.look(7)
        #expect(fleet.moves.isEmpty)
        fleet.look(2)
        #expect(
            fleet.moves == [
                ThreadMove(own[1], from: 2, to: 3), ThreadMove(own[2], from: 2, to: 4),
            ])
    }

    @Test func `goes to one of several daemons if the rest would be too little`() {
        var fleet = fleet(waiting: 11, 20)
        fleet.join(4)
        let slot = fleet.slots(of: 3)[0]
        fleet.nodes.places?.threads[slot]?.seat = 4
        fleet.idle = [3, 4]
        fleet.loads[2]?.sum = 40
        let larger = fleet.slots(of: 2)[1]
        fleet.look(9)
        #expect(fleet.moves == [ThreadMove(larger, from: 2, to: 3)])
    }

    @Test func `is lent once its running job has ended`() {
        var fleet = fleet(waiting: 10, 20)
        let slot = fleet.slots(of: 2)[0]
        fleet.running = [slot]
        fleet.look(12)
        #expect(fleet.moves.isEmpty)
        fleet.running = []
        fleet.look(1)
        #expect(fleet.moves == [ThreadMove(slot, from: 2, to: 3)])
    }

    @Test func `is on loan also if it comes some seconds after another one`() {
        var fleet = fleet(waiting: 10, 10)
        fleet.loads[2]?.sum = 60
        fleet.running = [fleet.slots(of: 2)[1]]
        fleet.look(8)
        fleet.idle = []
        fleet.look(8)
        #expect(fleet.moves.count == 1)
        fleet.running = []
        fleet.look(100)
        #expect(fleet.moves.map(\.to) == [3, 3])
    }

    @Test func `stays for a while if its running job does not end`() {
        var fleet = fleet(waiting: 20, 10)
        let (busy, free) = (fleet.slots(of: 2)[0], fleet.slots(of: 2)[1])
        fleet.loads[2]?.sum = 45
        fleet.running = [busy]
        fleet.look(17)
        #expect(fleet.moves.isEmpty)
        fleet.running = []
        // Another one goes before it.
        fleet.look(100)
        #expect(fleet.moves == [ThreadMove(free, from: 2, to: 3)])
        fleet.loads[2] = SlotLoad(sum: 45, lendable: [busy: 20])
        fleet.look(30)
        #expect(fleet.moves.count == 2)
    }

    @Test func `is not lent any more once its daemon is idle`() {
        var fleet = fleet(waiting: 10, 20)
        fleet.running = Set(fleet.slots(of: 2))
        fleet.look(9)
        fleet.loads = [:]
        fleet.look(1)
        fleet.running = []
        fleet.look(20)
        #expect(fleet.moves.isEmpty)
    }

    @Test func `comes back when both daemons are idle`() {
        var fleet = fleet(waiting: 10, 20)
        let before = fleet.slots(of: 2)
        fleet.look(8)
        fleet.loads = [:]
        fleet.look(40)
        #expect(fleet.moves.count == 1)
        fleet.idle = [2, 3]
        fleet.look(40)
        #expect(fleet.moves.count == 2 && fleet.slots(of: 2) == before)
    }

    @Test func `comes into the share of a daemon that joins`() {
        var fleet = fleet(waiting: 10, 20)
        fleet.look(8)
        fleet.idle = []
        fleet.loads = [:]
        fleet.join(4)
        fleet.look(40)
        #expect([2, 3, 4].map { fleet.slots(of: $0).count }.sorted() == [2, 2, 2])
    }

    @Test func `is not asked for by a daemon that has none of its pool`() {
        var fleet = fleet(waiting: 10, 20)
        for slot in Fleet.slots { fleet.nodes.places?.threads[slot]?.seat = 2 }
        fleet.nodes.all[1].threads = []
        fleet.look(20)
        #expect(fleet.nodes.all[1].wanted == [] && fleet.moves.isEmpty)
    }
}
