// Which member of a pool does what next, as a pure value: queues, idle members, wake-ups. It is
// asked under the pool's lock; what it answers is done after the lock is given back.

internal import Kernel
package import Structures

/// Where work of a pool waits.
package enum PoolQueue: Hashable, Sendable {
    /// Any member may take it.
    case shared
    /// Only this member may take it.
    case own(member: Int)
}

/// The queues of a pool and the state of its members.
package struct PoolBoard<Work> {
    private enum Member {
        /// It looks at the queues before it rests.
        case active
        case idle
        /// Paused: it takes nothing until it is back.
        case away
        /// Told to stop: it finishes its own work, and the shared work if no other member will.
        case leaving
        case ended
    }

    private var members: [Member]
    /// The idle members, the one that rested last on top: its caches are the warmest.
    private var idle: [Int] = []
    var shared = PriorityFIFO<Work>()
    var own: [PriorityFIFO<Work>]
    var newcomers = WaitingLine<Newcomer>()
    /// The keys that have work, and whose it is.
    var bindings: [SubmitKey: Binding] = [:]
    private var lastSequence: UInt64 = 0
    private var wasClosed = false

    /// Work that there was no room for.
    package struct Newcomer {
        let work: Work
        let queue: PoolQueue
        let lane: Int
        /// Whether it is still to have a place; asked under the pool's lock.
        let isWanted: @Sendable () -> Bool
        /// To be told of its ticket once there is room, or of nil when it gets none.
        let tell: @Sendable (PriorityFIFO<Work>.Ticket?) -> Void
    }

    /// The outcome of a submit: to be told without the lock, with the member to wake for it.
    package struct Admission {
        let newcomer: Newcomer
        let ticket: PriorityFIFO<Work>.Ticket?
        let wake: Int?

        /// It gets no place.
        static func none(_ newcomer: Newcomer) -> Admission {
            Admission(newcomer: newcomer, ticket: nil, wake: nil)
        }

        /// Tells the newcomer.
        ///
        /// - Returns: the member to wake.
        package func tell() -> Int? {
            newcomer.tell(ticket)
            return wake
        }
    }

    package init(memberCount: Int) {
        // A member that starts looks at the queues first.
        members = Array(repeating: .active, count: memberCount)
        own = Array(repeating: PriorityFIFO(), count: memberCount)
    }

    /// How much waits, in all queues together.
    package private(set) var waitingCount = 0

    /// How much waits that only this member may take.
    package func waitingCount(ownOf member: Int) -> Int { own[member].count }

    /// Whether nothing is taken for this queue any more.
    package func isClosed(_ queue: PoolQueue) -> Bool {
        if wasClosed { return true }
        switch queue {
        case .shared: return members.allSatisfy { $0 == .leaving || $0 == .ended }
        case .own(let member): return members[member] == .leaving || members[member] == .ended
        }
    }

    package mutating func close() { wasClosed = true }

    /// Whether nothing is taken at all any more.
    var isClosed: Bool { wasClosed }

    func hasEnded(_ member: Int) -> Bool { members[member] == .ended }

    func isIdle(_ member: Int) -> Bool { members[member] == .idle }

    /// Queues work.
    ///
    /// - Returns: its ticket, and the member to wake, if one is idle: for this work, or for shared
    ///   work if this may keep the one that was woken for it.
    package mutating func push(
        _ work: Work, to queue: PoolQueue, lane: Int
    ) -> (ticket: PriorityFIFO<Work>.Ticket, wake: Int?) {
        require(!isClosed(queue), "work was pushed to a closed queue")
        return place(work, in: queue, lane: lane)
    }

    /// Queues work as `push` does, also for a member that was told to stop and has not ended: it
    /// runs its own work before.
    package mutating func place(
        _ work: Work, in queue: PoolQueue, lane: Int
    ) -> (ticket: PriorityFIFO<Work>.Ticket, wake: Int?) {
        lastSequence += 1
        waitingCount += 1
        switch queue {
        case .shared:
            let ticket = shared.push(work, lane: lane, sequence: lastSequence)
            return (ticket, takeIdle())
        case .own(let member):
            let ticket = own[member].push(work, lane: lane, sequence: lastSequence)
            if takeIdle(member) { return (ticket, member) }
            // The member may have been woken for shared work, and take this first.
            return (ticket, shared.isEmpty ? nil : takeIdle())
        }
    }

    /// The queue for shared work that some members should not take.
    ///
    /// - Parameter life: tells whether a member was asked to pause or stop, also before its thread
    ///   has told the board.
    /// - Returns: the own queue of another idle member; the shared queue if no other one is idle.
    package func queue(
        besides avoided: Set<Int>, life: @Sendable (Int) -> LifeCycle
    ) -> PoolQueue {
        guard !avoided.isEmpty else { return .shared }
        let member = idle.last {
            let asked = life($0)
            return !avoided.contains($0) && asked.shouldKeepRunning && !asked.isPaused
        }
        return member.map { .own(member: $0) } ?? .shared
    }

    /// Takes the next work for a member: its own or the shared, whichever has the smaller ticket.
    ///
    /// - Returns: nil when there is none: the member is idle now.
    package mutating func next(for member: Int) -> Work? {
        let mine = own[member].firstTicket
        let common = takesShared(member) ? shared.firstTicket : nil
        if mine == nil && common == nil {
            rest(member)
            return nil
        }
        // It was not woken for this; while it is busy the next work is to wake another member.
        _ = takeIdle(member)
        waitingCount -= 1
        let isMineFirst = if let mine, let common { mine < common } else { mine != nil }
        return isMineFirst ? own[member].popFirst()?.element : shared.popFirst()?.element
    }

    /// The result of a look at the next work of a member.
    package enum Look {
        case taken(Work)
        /// Work of another kind: it waits on.
        case other
        /// No work: the member is idle now.
        case nothing
    }

    /// Takes the next work for a member as `next(for:)` does, but only if it is of one kind.
    package mutating func next(for member: Int, if isWanted: (Work) -> Bool) -> Look {
        let mine = own[member].firstTicket
        let common = takesShared(member) ? shared.firstTicket : nil
        let isMineFirst = if let mine, let common { mine < common } else { mine != nil }
        guard let work = isMineFirst ? own[member].first : common.flatMap({ _ in shared.first })
        else {
            rest(member)
            return .nothing
        }
        guard isWanted(work) else { return .other }
        _ = next(for: member)
        return .taken(work)
    }

    /// Takes work back.
    ///
    /// - Returns: it, or nil when a member has taken it.
    package mutating func remove(_ ticket: PriorityFIFO<Work>.Ticket, from queue: PoolQueue)
        -> Work?
    {
        let work =
            switch queue {
            case .shared: shared.remove(ticket)
            case .own(let member): own[member].remove(ticket)
            }
        if work != nil { waitingCount -= 1 }
        return work
    }

    /// Whether something waits that this member takes, if not another one before it.
    package func hasWork(for member: Int) -> Bool {
        !own[member].isEmpty || (takesShared(member) && !shared.isEmpty)
    }

    /// Notes that a member takes nothing until it is back.
    ///
    /// - Returns: another member to wake for what this one leaves.
    package mutating func leave(_ member: Int) -> Int? {
        guard members[member] == .active || members[member] == .idle else { return nil }
        return replace(member, by: .away)
    }

    /// Notes that a member was told to stop: nothing more is taken for it alone.
    ///
    /// - Returns: another member to wake for what this one leaves.
    package mutating func retire(_ member: Int) -> Int? {
        guard members[member] != .ended else { return nil }
        return replace(member, by: .leaving)
    }

    /// Notes that a member is back; it looks at the queues next.
    package mutating func comeBack(_ member: Int) {
        if members[member] == .away { members[member] = .active }
    }

    /// Notes that a member goes on with what it did before a nested run, in which it may have
    /// rested.
    ///
    /// It looks at the queues before it rests again, but who knows when.
    ///
    /// - Returns: another member to wake for what this one was woken for.
    package mutating func goOn(_ member: Int) -> Int? {
        guard members[member] == .active || members[member] == .idle else { return nil }
        return replace(member, by: .active)
    }

    /// Notes that a member has ended.
    ///
    /// - Returns: what will never run (its own work, and the shared once no member is left), and
    ///   another member to wake for what it leaves.
    package mutating func end(_ member: Int) -> (left: [Work], wake: Int?) {
        let heir = replace(member, by: .ended)
        var left = own[member].removeAll { _ in true }
        if members.allSatisfy({ $0 == .ended }) { left += shared.removeAll { _ in true } }
        waitingCount -= left.count
        return (left, heir)
    }

    private func takesShared(_ member: Int) -> Bool {
        switch members[member] {
        // One in its place was told to stop as well.
        case .ended: false
        case .leaving: isClosed(.shared)
        case .active, .idle, .away: true
        }
    }

    /// Takes a member out of those that can be woken, which it may just have been.
    private mutating func replace(_ member: Int, by state: Member) -> Int? {
        _ = takeIdle(member)
        members[member] = state
        return shared.isEmpty ? nil : takeIdle()
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
