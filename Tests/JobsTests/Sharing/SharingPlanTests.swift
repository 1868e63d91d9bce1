// When a daemon that shares threads with others claims, takes and gives them.

import Jobs
import StoreTwin
import Testing

@Suite struct `The plan of a daemon that shares threads` {
    /// A fleet in which time passes.
    private struct Fleet {
        var nodes = StoreNodes()
        var now = ContinuousClock.now

        init(_ seats: Int64...) {
            nodes.places = ThreadPlaces()
            for seat in seats { join(seat) }
        }

        mutating func join(_ seat: Int64, threads: [String] = ["a", "b", "c", "d"]) {
            nodes.all.append(StoreNode("node-\(seat)", seat: seat, threads: threads))
            nodes.places?.seats[seat] = ThreadPlaces.Seat(isHeld: true)
        }

        /// The session of a daemon is over.
        mutating func lose(_ seat: Int64) {
            nodes.all.removeAll { $0.seat == seat }
            nodes.places?.seats[seat]?.isHeld = false
        }

        mutating func place(_ thread: String, _ seat: Int64, isTaken: Bool = true) {
            nodes.places?.threads[thread] = ThreadPlaces.Place(seat: seat, isTaken: isTaken)
        }

        private func places(_ nodes: StoreNodes) -> [String: ThreadPlaces.Place] {
            nodes.places?.threads ?? [:]
        }

        /// Looks after a time, with all taken threads open.
        mutating func look(
            _ plan: inout SharingPlan, after pause: Duration = .milliseconds(500)
        ) -> [SharingStep] {
            now += pause
            let open = places(nodes).filter { $0.value.isTaken }.keys
            return plan.look(nodes, open: Set(open), at: now)
        }
    }

    private static let threads = ["a", "b", "c", "d"]

    private func plan(_ seat: Int64) -> SharingPlan {
        SharingPlan(seat: seat, threads: Self.threads)
    }

    @Test func `takes what never had an owner`() {
        var (fleet, plan) = (Fleet(2), plan(2))
        #expect(
            fleet.look(&plan)
                == Self.threads.map { .take(ThreadMove($0, from: 1, to: 2)) })
    }

    @Test func `takes up what was moved to its seat, once it sees that`() {
        var (fleet, plan) = (Fleet(2), plan(2))
        for thread in Self.threads { fleet.place(thread, 2) }
        fleet.place("c", 2, isTaken: false)
        #expect(fleet.look(&plan) == [.claim("c")])
    }

    @Test func `leaves the threads of a daemon that lives`() {
        var (fleet, plan) = (Fleet(2, 3), plan(2))
        for thread in Self.threads { fleet.place(thread, 3) }
        for _ in 0..<100 { #expect(fleet.look(&plan) == []) }
    }

    @Test func `takes the threads of a dead daemon after a second and three looks`() {
        var (fleet, plan) = (Fleet(2, 3), plan(2))
        for thread in Self.threads { fleet.place(thread, 3) }
        _ = fleet.look(&plan)
        fleet.lose(3)
        #expect(fleet.look(&plan) == [])
        #expect(fleet.look(&plan) == [])
        #expect(
            fleet.look(&plan) == Self.threads.map { .take(ThreadMove($0, from: 3, to: 2)) })
    }

    @Test func `begins to count anew when the daemon was back in between`() {
        var (fleet, plan) = (Fleet(2, 3), plan(2))
        for thread in Self.threads { fleet.place(thread, 3) }
        fleet.lose(3)
        #expect(fleet.look(&plan) == [])
        #expect(fleet.look(&plan) == [])
        fleet.nodes.places?.seats[3]?.isHeld = true
        #expect(fleet.look(&plan) == [])
        fleet.nodes.places?.seats[3]?.isHeld = false
        #expect(fleet.look(&plan) == [])
        #expect(fleet.look(&plan) == [])
        #expect(fleet.look(&plan).count == 4)
    }

    @Test func `waits for the daemons of a server that has just started`() {
        var (fleet, plan) = (Fleet(2, 3), plan(2))
        for thread in Self.threads { fleet.place(thread, 3) }
        fleet.lose(3)
        fleet.nodes.places?.seats[3]?.wasTakenSince = false
        fleet.nodes.places?.isServerNew = true
        for _ in 0..<15 {
            #expect(fleet.look(&plan, after: .seconds(1)) == [])
        }
        fleet.nodes.places?.isServerNew = false
        for _ in 0..<2 { #expect(fleet.look(&plan) == []) }
        #expect(fleet.look(&plan).count == 4)
    }

    @Test func `takes only its share of several, and the rest later`() {
        var fleet = Fleet(2, 3, 4)
        var plans = [2, 3, 4].map { plan($0) }
        var steps = plans.indices.map { fleet.look(&plans[$0], after: .zero) }
        #expect(steps.map(\.count).sorted() == [1, 1, 2])
        #expect(Set(steps.joined().map { "\($0)" }).count == 4)
        // The two others are slow: each thread is taken all the same.
        _ = fleet.look(&plans[0], after: .seconds(1))
        _ = fleet.look(&plans[0], after: .seconds(1))
        steps[0] = fleet.look(&plans[0], after: .seconds(1))
        #expect(steps[0].count == 4)
    }

    @Test func `gives a thread away after ten looks that agree`() {
        var (fleet, plan) = (Fleet(2), plan(2))
        for thread in Self.threads { fleet.place(thread, 2) }
        #expect(fleet.look(&plan) == [])
        fleet.join(3)
        for _ in 1..<SharingPlan.giveLookCountMin { #expect(fleet.look(&plan) == []) }
        let steps = fleet.look(&plan)
        #expect(steps.count == 2)
        for case .give(let move) in steps { #expect(move.from == 2 && move.to == 3) }
        // A daemon that comes and goes moves nothing.
        fleet.lose(3)
        #expect(fleet.look(&plan) == [])
        fleet.join(3)
        #expect(fleet.look(&plan) == [])
    }

    @Test func `does not take a thread that another daemon alone can run`() {
        var fleet = Fleet(2)
        fleet.join(3, threads: ["gpu"])
        var plan = SharingPlan(seat: 2, threads: ["a"])
        #expect(fleet.look(&plan, after: .seconds(60)) == [.take(ThreadMove("a", from: 1, to: 2))])
    }
}

@Suite struct `The assignment of threads to nodes` {
    private func node(_ seat: Int64, _ threads: [String]) -> StoreNode {
        StoreNode("n\(seat)", seat: seat, threads: threads)
    }

    @Test(arguments: [1, 2, 3, 7, 40])
    func `is even, and the same whatever the order`(nodeCount: Int) {
        let threads = (0..<100).map { "thread-\($0)" }
        let nodes = (0..<nodeCount).map { node(Int64($0) + 2, threads) }
        let assignment = ThreadAssignment(threads, among: nodes)
        var counts: [Int64: Int] = [:]
        for thread in threads { counts[assignment.seat(of: thread) ?? 0, default: 0] += 1 }
        #expect(counts.count == nodeCount)
        #expect(counts.values.allSatisfy { (100 / nodeCount...100 / nodeCount + 1).contains($0) })
        #expect(ThreadAssignment(threads.reversed(), among: nodes.reversed()) == assignment)
    }

    @Test func `moves few threads when a node goes`() {
        let threads = (0..<100).map { "thread-\($0)" }
        let nodes = (0..<5).map { node(Int64($0) + 2, threads) }
        let before = ThreadAssignment(threads, among: nodes)
        let after = ThreadAssignment(threads, among: Array(nodes.dropLast()))
        let moved = threads.filter { before.seat(of: $0) != after.seat(of: $0) }
        // The threads of the node that went, and some so that the shares stay even.
        #expect(moved.count < 50)
    }

    @Test func `gives a thread to a node that can run it`() {
        let nodes = [node(2, ["a", "b"]), node(3, ["gpu"])]
        let assignment = ThreadAssignment(["a", "b", "gpu", "none"], among: nodes)
        #expect(assignment.seat(of: "gpu") == 3)
        #expect(assignment.seat(of: "a") == 2 && assignment.seat(of: "b") == 2)
        #expect(assignment.seat(of: "none") == nil)
    }
}

@Suite struct `A plan of shared threads` {
    /// Two nodes with seats 2 and 3.
    private static func nodes(_ threads: [String: (seat: Int64, isTaken: Bool)]) -> StoreNodes {
        var nodes = StoreNodes(
            all: [Int64(2), 3].map { seat in
                StoreNode("n\(seat)", seat: seat, threads: ["one"])
            })
        var places = ThreadPlaces()
        for (name, place) in threads {
            places.threads[name] = ThreadPlaces.Place(seat: place.seat, isTaken: place.isTaken)
        }
        for seat in [Int64(2), 3] { places.seats[seat] = ThreadPlaces.Seat(isHeld: true) }
        nodes.places = places
        return nodes
    }

    @Test func `agrees with that of a node that runs other threads`() {
        let lists = [["a", "b", "c", "d"], ["a", "b", "e", "f", "g"], ["b", "d", "g"]]
        var nodes = StoreNodes()
        var places = ThreadPlaces()
        for (index, threads) in lists.enumerated() {
            let seat = Int64(index + 2)
            nodes.all.append(StoreNode("n\(index)", seat: seat, threads: threads))
            places.seats[seat] = ThreadPlaces.Seat(isHeld: true)
            for thread in threads {
                places.threads[thread] = ThreadPlaces.Place(seat: seat, isTaken: true)
            }
        }
        nodes.places = places
        var plans = lists.enumerated().map {
            SharingPlan(seat: Int64($0.offset + 2), threads: $0.element)
        }
        var gives = 0
        for look in 0..<60 {
            let moment = ContinuousClock.now.advanced(by: .milliseconds(500 * look))
            for index in plans.indices {
                let open = Set(lists[index])
                for case .give(let move) in plans[index].look(nodes, open: open, at: moment) {
                    nodes.places?.threads[move.thread]?.seat = move.to
                    gives = look < 30 ? 0 : gives + 1
                }
            }
        }
        #expect(gives == 0)
    }

    @Test func `takes threads of a seat that has been free for a while`() {
        var nodes = Self.nodes(["one": (3, true)])
        nodes.all.removeLast()
        nodes.places?.seats[3] = ThreadPlaces.Seat(isHeld: false)
        var plan = SharingPlan(seat: 2, threads: ["one"])
        let moment = ContinuousClock.now
        func look(after milliseconds: Int) -> [SharingStep] {
            plan.look(nodes, open: [], at: moment.advanced(by: .milliseconds(milliseconds)))
        }
        #expect(look(after: 0) == [])
        #expect(look(after: 500) == [])
        #expect(look(after: 1_000) == [.take(ThreadMove("one", from: 3, to: 2))])
        // A server that has just started has freed the lock.
        nodes.places?.seats[3] = ThreadPlaces.Seat(isHeld: false, wasTakenSince: false)
        nodes.places?.isServerNew = true
        #expect(look(after: 1_500) == [])
    }

    @Test func `claims a thread of its seat that is not open`() {
        var plan = SharingPlan(seat: 2, threads: ["one"])
        let moment = ContinuousClock.now
        let fresh = Self.nodes(["one": (2, false)])
        #expect(plan.look(fresh, open: [], at: moment) == [.claim("one")])
        // Its row was taken up, and the rest of the claim has failed.
        let taken = Self.nodes(["one": (2, true)])
        #expect(plan.look(taken, open: [], at: moment) == [.claim("one")])
        #expect(plan.look(taken, open: ["one"], at: moment) == [])
    }
}
