// The plans of many daemons on a model of their tables: how much moves when one dies or comes.
//
// FLEET_NODES and FLEET_THREADS choose the size, FLEET_ABLE how many nodes can run a thread. Then
// the figures are printed: Documents/Fleet.md has those of large fleets.

import Jobs
import StoreTwin
import Support
import Testing

@Suite struct `A large fleet` {
    @Test(.timeLimit(.minutes(30))) func `moves the threads of a daemon that dies, and few others`()
        throws
    {
        let nodeCount = askedNumber("FLEET_NODES") ?? 20
        let threadCount = askedNumber("FLEET_THREADS") ?? 400
        let ableCount = min(askedNumber("FLEET_ABLE") ?? 3, nodeCount)
        let fleet = LargeFleet(nodeCount, threadCount, ableCount)
        let share = threadCount / nodeCount

        let start = fleet.settle()
        #expect(start.moveCount >= threadCount)
        let lost = fleet.lose()
        let death = fleet.settle()
        // Each was taken once; then some are given on, so that shares stay even.
        #expect(death.moveCount >= lost)
        #expect(death.moveCount <= 4 * share)
        #expect(death.largestMoveCount <= 2 * share)
        fleet.join()
        let join = fleet.settle()
        #expect(join.moveCount <= 4 * share)
        for (what, figures) in [("start", start), ("death", death), ("join", join)]
        where askedNumber("FLEET_NODES") != nil {
            print("\(nodeCount) nodes, \(threadCount) threads, \(what): \(figures)")
        }
    }
}

/// Many daemons and the tables that they share.
private final class LargeFleet {
    /// The moves and looks until nothing was left to do.
    struct Figures: CustomStringConvertible {
        var lookCount = 0
        var moveCount = 0
        var movesBySeat: [Int64: Int] = [:]
        var slowestLook = Duration.zero
        var lastLooks = Duration.zero

        var largestMoveCount: Int { movesBySeat.values.max() ?? 0 }

        var description: String {
            "\(moveCount) moves of \(movesBySeat.count) nodes, \(largestMoveCount) of one, "
                + "\(lookCount) looks of each; the slowest look \(slowestLook), quiet \(lastLooks)"
        }
    }

    private var nodes = StoreNodes()
    private var plans: [Int64: SharingPlan] = [:]
    private var open: [Int64: Set<String>] = [:]
    private var served: [[String]]
    private let threads: [String]
    private var now = ContinuousClock.now
    private var lastSeat: Int64 = 1

    init(_ nodeCount: Int, _ threadCount: Int, _ ableCount: Int) {
        var random = SeededRandom(seed: 26)
        threads = (0..<threadCount).map { "thread-\($0)" }
        served = Array(repeating: [], count: nodeCount)
        for thread in threads {
            var able: Set<Int> = []
            while able.count < ableCount { able.insert(random.below(nodeCount)) }
            for place in able { served[place].append(thread) }
        }
        nodes.places = ThreadPlaces()
        for list in served { add(list) }
    }

    private func add(_ threads: [String]) {
        lastSeat += 1
        nodes.all.append(StoreNode("node-\(lastSeat)", seat: lastSeat, threads: threads))
        nodes.places?.seats[lastSeat] = ThreadPlaces.Seat(isHeld: true)
        plans[lastSeat] = SharingPlan(seat: lastSeat, threads: threads)
    }

    /// The first daemon dies.
    ///
    /// - Returns: how many threads it had.
    func lose() -> Int {
        let node = nodes.all.removeFirst()
        guard let seat = node.seat else { return 0 }
        plans[seat] = nil
        nodes.places?.seats[seat]?.isHeld = false
        return open.removeValue(forKey: seat)?.count ?? 0
    }

    /// A daemon with the threads of the one that died comes.
    func join() { add(served[0]) }

    /// Lets all daemons look twice a second, until no plan has anything to do or to wait for.
    func settle() -> Figures {
        var figures = Figures()
        repeat {
            figures.lookCount += 1
            now += .milliseconds(500)
            figures.lastLooks = .zero
            // All read the tables at one moment; a move that comes second changes nothing.
            let seen = nodes
            for seat in plans.keys.sorted() {
                let begin = ContinuousClock.now
                let steps = plans[seat]?.look(seen, open: open[seat] ?? [], at: now) ?? []
                let duration = ContinuousClock.now - begin
                figures.slowestLook = max(figures.slowestLook, duration)
                figures.lastLooks += duration / plans.count
                for step in steps { take(step, seat, &figures) }
            }
        } while !plans.values.allSatisfy(\.isQuiet)
        check()
        return figures
    }

    private func take(_ step: SharingStep, _ seat: Int64, _ figures: inout Figures) {
        switch step {
        case .claim(let thread):
            nodes.places?.threads[thread]?.isTaken = true
            open[seat, default: []].insert(thread)
        case .take(let move), .give(let move):
            guard (nodes.places?.threads[move.thread]?.seat ?? 1) == move.from else { return }
            nodes.places?.threads[move.thread] = ThreadPlaces.Place(seat: move.to, isTaken: false)
            if case .give = step { open[seat]?.remove(move.thread) }
            figures.moveCount += 1
            figures.movesBySeat[seat, default: 0] += 1
        }
    }

    private func check() {
        let living = Dictionary(
            uniqueKeysWithValues: nodes.all.map { ($0.seat ?? 0, Set($0.threads)) })
        for thread in threads {
            let place = nodes.places?.threads[thread]
            let isServed = living[place?.seat ?? 0]?.contains(thread) == true
            #expect(
                isServed && place?.isTaken == true, "\(thread) is at \(String(describing: place))")
        }
        for (seat, threads) in open {
            #expect(threads.allSatisfy { nodes.places?.threads[$0]?.seat == seat })
        }
    }
}
