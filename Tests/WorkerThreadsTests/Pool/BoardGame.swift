// A board and a naive model of it, played against each other with random calls.

import Support
import WorkerThreads

/// A pool board, a model of plain arrays, and members that do what they are told by the board.
struct BoardGame {
    private struct Waiting {
        let number: Int
        let queue: PoolQueue
        let lane: Int
        let remove: (inout PoolBoard<Int>) -> Int?
    }

    private enum Life { case running, paused, stopping, ended }

    private var board: PoolBoard<Int>
    private var waiting: [Waiting] = []
    private var lives: [Life]
    /// Members that will look at the queues before they rest.
    private var awake: Set<Int>
    private var wasClosed = false
    private var lastNumber = 0
    /// The items of each key that wait or run, and the key of each.
    private var keyed: [SubmitKey: (member: Int, numbers: Set<Int>)] = [:]

    init(memberCount: Int) {
        board = PoolBoard(memberCount: memberCount)
        lives = Array(repeating: .running, count: memberCount)
        awake = Set(0..<memberCount)
    }

    /// Makes one random call.
    ///
    /// - Returns: in which way board and model differ after it, if they do.
    mutating func play(_ random: inout SeededRandom) -> String? {
        let member = Int.random(in: lives.indices, using: &random)
        let fault =
            switch Int.random(in: 0..<100, using: &random) {
            case 0..<20: push(member, &random)
            case 20..<25: pushKeyed(&random)
            case 25..<27: endKeyed()
            case 27..<55: take(awake.randomElement(using: &random) ?? member)
            case 55..<71: take(member)
            case 71..<75: goOn(member)
            case 75..<82: remove(&random)
            case 82..<88: pause(member)
            case 88..<96: resume(member)
            case 96..<98: stop(member)
            case 98: close()
            default: end(member)
            }
        return fault ?? compare()
    }

    private mutating func push(_ member: Int, _ random: inout SeededRandom) -> String? {
        let queue: PoolQueue = Bool.random(using: &random) ? .shared : .own(member: member)
        guard board.isClosed(queue) == isClosed(queue) else { return "\(queue) closed or not" }
        if isClosed(queue) { return nil }
        lastNumber += 1
        let lane = Int.random(in: 0..<3, using: &random)
        let (ticket, wake) = board.push(lastNumber, to: queue, lane: lane)
        waiting.append(
            Waiting(
                number: lastNumber, queue: queue, lane: lane,
                remove: { $0.remove(ticket, from: queue) }))
        return woken(wake)
    }

    private mutating func pushKeyed(_ random: inout SeededRandom) -> String? {
        let key = SubmitKey("\(Int.random(in: 0..<4, using: &random))")
        let open = lives.indices.filter { !isClosed(.own(member: $0)) }
        let bound = keyed[key].flatMap { lives[$0.member] == .ended ? nil : $0.member }
        let member = board.bind(key) { _ in LifeCycle() }
        if wasClosed || (bound == nil && open.isEmpty) {
            return member == nil ? nil : "a key was bound to nobody"
        }
        guard let member, member == bound ?? member, bound != nil || open.contains(member) else {
            return "key \(key) of \(String(describing: bound)): \(String(describing: member))"
        }
        lastNumber += 1
        let queue = PoolQueue.own(member: member)
        let (ticket, wake) = board.place(lastNumber, in: queue, lane: 1)
        waiting.append(
            Waiting(
                number: lastNumber, queue: queue, lane: 1,
                remove: { $0.remove(ticket, from: queue) }))
        keyed[key, default: (member, [])].member = member
        keyed[key]?.numbers.insert(lastNumber)
        return woken(wake)
    }

    /// Lets an item of a key end, if one has been taken.
    private mutating func endKeyed() -> String? {
        let waits = Set(waiting.map(\.number))
        for key in keyed.keys.sorted(by: { $0.description < $1.description }) {
            guard let number = keyed[key]?.numbers.subtracting(waits).min() else { continue }
            keyed[key]?.numbers.remove(number)
            if keyed[key]?.numbers.isEmpty == true { keyed[key] = nil }
            board.unbind(key)
        }
        return board.boundKeyCount == keyed.count ? nil : "\(board.boundKeyCount) keys bound"
    }

    private mutating func take(_ member: Int) -> String? {
        guard lives[member] == .running || lives[member] == .stopping else { return nil }
        let expected = first(for: member)
        let taken = board.next(for: member)
        guard taken == expected?.number else {
            return "member \(member) took \(String(describing: taken))"
        }
        waiting.removeAll { $0.number == taken }
        if taken == nil { awake.remove(member) } else { awake.insert(member) }
        return nil
    }

    private mutating func remove(_ random: inout SeededRandom) -> String? {
        guard let victim = waiting.randomElement(using: &random) else { return nil }
        waiting.removeAll { $0.number == victim.number }
        let results = [victim.remove(&board), victim.remove(&board)]
        return results == [victim.number, nil] ? nil : "removed \(results)"
    }

    private mutating func pause(_ member: Int) -> String? {
        guard lives[member] == .running || lives[member] == .paused else { return nil }
        lives[member] = .paused
        awake.remove(member)
        return woken(board.leave(member))
    }

    private mutating func goOn(_ member: Int) -> String? {
        guard lives[member] == .running else {
            return board.goOn(member) == nil ? nil : "member \(member) goes on without running"
        }
        awake.insert(member)
        return woken(board.goOn(member))
    }

    private mutating func resume(_ member: Int) -> String? {
        board.comeBack(member)
        guard lives[member] == .paused else { return nil }
        lives[member] = .running
        awake.insert(member)
        return nil
    }

    private mutating func stop(_ member: Int) -> String? {
        guard lives[member] != .ended else { return nil }
        lives[member] = .stopping
        awake.insert(member)
        return woken(board.retire(member))
    }

    private mutating func close() -> String? {
        board.close()
        wasClosed = true
        return nil
    }

    private mutating func end(_ member: Int) -> String? {
        guard lives[member] != .ended else { return nil }
        lives[member] = .ended
        awake.remove(member)
        let (left, wake) = board.end(member)
        let isLast = lives.allSatisfy { $0 == .ended }
        let expected = sorted {
            $0.queue == .own(member: member) || (isLast && $0.queue == .shared)
        }
        waiting.removeAll { left.contains($0.number) }
        guard Set(left) == Set(expected.map(\.number)) else { return "left over \(left)" }
        return woken(wake)
    }

    private mutating func woken(_ member: Int?) -> String? {
        guard let member else { return nil }
        guard lives[member] == .running, awake.insert(member).inserted else {
            return "woke member \(member), which is \(lives[member])"
        }
        return nil
    }

    private func compare() -> String? {
        guard board.waitingCount == waiting.count else { return "\(board.waitingCount) waiting" }
        let shared = waiting.contains { $0.queue == .shared }
        for member in lives.indices where lives[member] == .running && !awake.contains(member) {
            // A sleeping member has nothing of its own, and shared work has a member awake for it.
            if first(for: member, ownOnly: true) != nil { return "member \(member) sleeps on work" }
            if shared && !awake.contains(where: { lives[$0] == .running }) {
                return "member \(member) sleeps on shared work"
            }
        }
        for member in lives.indices where board.hasWork(for: member) != (first(for: member) != nil)
        {
            return "member \(member) has work or not"
        }
        return nil
    }

    private func isClosed(_ queue: PoolQueue) -> Bool {
        if wasClosed { return true }
        switch queue {
        case .own(let member): return lives[member] == .stopping || lives[member] == .ended
        case .shared: return lives.allSatisfy { $0 == .stopping || $0 == .ended }
        }
    }

    private func first(for member: Int, ownOnly: Bool = false) -> Waiting? {
        // One in an ended member's place was told to stop as well.
        let takesShared =
            !ownOnly && lives[member] != .ended
            && (lives[member] != .stopping || isClosed(.shared))
        return sorted {
            $0.queue == .own(member: member) || (takesShared && $0.queue == .shared)
        }.first
    }

    private func sorted(where isWanted: (Waiting) -> Bool) -> [Waiting] {
        waiting.filter(isWanted).sorted { ($0.lane, $0.number) < ($1.lane, $1.number) }
    }
}
