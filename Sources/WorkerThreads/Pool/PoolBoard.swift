// Who of a pool does what next, as a pure value: the queues, who is idle, and whom to wake. It is
// asked under the pool's lock; what it answers is done after the lock is given back.

internal import Structures

/// Where work of a pool waits.
enum PoolQueue: Hashable, Sendable {
    /// Any member may take it.
    case shared
    /// Only this member may take it.
    case own(member: Int)
}

/// The queues of a pool and the state of its members.
struct PoolBoard<Work> {
    private enum Member {
        /// It looks at the queues before it rests.
        case active
        case idle
        /// Paused: it takes nothing until it is back.
        case away
        case ended
    }

    private var members: [Member]
    /// The idle members, the one that rested last on top: its caches are the warmest.
    private var idle: [Int] = []
    private var shared = PriorityFIFO<Work>()
    private var own: [PriorityFIFO<Work>]
    private var lastSequence: UInt64 = 0
    private(set) var isClosed = false

    init(memberCount: Int) {
        // A member that starts looks at the queues first.
        members = Array(repeating: .active, count: memberCount)
        own = Array(repeating: PriorityFIFO(), count: memberCount)
    }

    /// How much waits, in all queues together.
    private(set) var waitingCount = 0

    /// How much waits that only this member may take.
    func waitingCount(ownOf member: Int) -> Int { own[member].count }

    /// Whether nothing is taken for this queue any more.
    func isClosed(_ queue: PoolQueue) -> Bool {
        if case .own(let member) = queue, members[member] == .ended { return true }
        return isClosed
    }

    mutating func close() { isClosed = true }

    /// Queues work.
    ///
    /// - Returns: its ticket, and the member to wake for it, if one is idle.
    mutating func push(
        _ work: Work, to queue: PoolQueue, lane: Int
    ) -> (ticket: PriorityFIFO<Work>.Ticket, wake: Int?) {
        precondition(!isClosed(queue), "work was pushed to a closed queue")
        lastSequence += 1
        waitingCount += 1
        switch queue {
        case .shared:
            let ticket = shared.push(work, lane: lane, sequence: lastSequence)
            return (ticket, takeIdle())
        case .own(let member):
            let ticket = own[member].push(work, lane: lane, sequence: lastSequence)
            return (ticket, takeIdle(member) ? member : nil)
        }
    }

    /// Takes the next work for a member: its own or the shared, whichever has the smaller ticket.
    ///
    /// - Returns: nil when there is none: the member is idle now.
    mutating func next(for member: Int) -> Work? {
        let mine = own[member].firstTicket
        let common = shared.firstTicket
        if mine == nil && common == nil {
            rest(member)
            return nil
        }
        waitingCount -= 1
        let isMineFirst = if let mine, let common { mine < common } else { mine != nil }
        return isMineFirst ? own[member].popFirst()?.element : shared.popFirst()?.element
    }

    /// Takes work back.
    ///
    /// - Returns: it, or nil when a member has taken it.
    mutating func remove(_ ticket: PriorityFIFO<Work>.Ticket, from queue: PoolQueue) -> Work? {
        let work =
            switch queue {
            case .shared: shared.remove(ticket)
            case .own(let member): own[member].remove(ticket)
            }
        if work != nil { waitingCount -= 1 }
        return work
    }

    /// Whether something waits that this member may take.
    func hasWork(for member: Int) -> Bool {
        !own[member].isEmpty || !shared.isEmpty
    }

    /// Notes that a member takes nothing for now.
    ///
    /// - Returns: another member to wake for what this one leaves.
    mutating func leave(_ member: Int) -> Int? {
        guard members[member] != .ended else { return nil }
        _ = takeIdle(member)
        members[member] = .away
        return shared.isEmpty ? nil : takeIdle()
    }

    /// Notes that a member is back; it looks at the queues next.
    mutating func comeBack(_ member: Int) {
        if members[member] == .away { members[member] = .active }
    }

    /// Notes that a member has ended.
    ///
    /// - Returns: what will never run: its own work, and the shared once no member is left.
    mutating func end(_ member: Int) -> [Work] {
        _ = takeIdle(member)
        members[member] = .ended
        var left = own[member].removeAll { _ in true }
        if members.allSatisfy({ $0 == .ended }) {
            isClosed = true
            left += shared.removeAll { _ in true }
        }
        waitingCount -= left.count
        return left
    }

    private mutating func rest(_ member: Int) {
        guard members[member] == .active else { return }
        members[member] = .idle
        idle.append(member)
    }

    private mutating func takeIdle() -> Int? {
        guard let member = idle.popLast() else { return nil }
        members[member] = .active
        return member
    }

    private mutating func takeIdle(_ member: Int) -> Bool {
        guard members[member] == .idle else { return false }
        idle.removeAll { $0 == member }
        members[member] = .active
        return true
    }
}
