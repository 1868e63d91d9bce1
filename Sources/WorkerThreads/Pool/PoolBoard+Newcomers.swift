// Submits to a full pool: work lines up for a place, or the oldest gives way.

package import Structures

extension PoolBoard {
    /// Lines work up behind other work that there was no room for.
    ///
    /// - Returns: some of those that were cancelled meanwhile.
    package mutating func lineUp(
        _ work: Work, for queue: PoolQueue, lane: Int,
        isWanted: @escaping @Sendable () -> Bool = { true },
        tell: @escaping @Sendable (PriorityFIFO<Work>.Ticket?) -> Void
    ) -> [Admission] {
        let newcomer = Newcomer(
            work: work, queue: queue, lane: lane, isWanted: isWanted, tell: tell)
        return newcomers.join(newcomer, hasLeft: { !$0.isWanted() }).map(Admission.none)
    }

    /// Whether work has lined up.
    package var hasNewcomers: Bool { !newcomers.isEmpty }

    /// How much work has lined up, some among it that was cancelled since.
    package var newcomerCount: Int { newcomers.count }

    /// Gives places to newcomers, in their order, while there is room; those whose queue is closed,
    /// and those that were cancelled meanwhile, get none.
    package mutating func admit(limit: Int) -> [Admission] {
        guard hasNewcomers else { return [] }
        var admissions: [Admission] = []
        while waitingCount < limit, let newcomer = newcomers.popFirst() {
            guard newcomer.isWanted(), !isClosed(newcomer.queue) else {
                admissions.append(.none(newcomer))
                continue
            }
            let (ticket, wake) = push(newcomer.work, to: newcomer.queue, lane: newcomer.lane)
            admissions.append(Admission(newcomer: newcomer, ticket: ticket, wake: wake))
        }
        return admissions
    }

    /// Takes those newcomers out of the line whose queue is closed.
    package mutating func refuseNewcomers() -> [Admission] {
        guard hasNewcomers else { return [] }
        var line = newcomers
        let refused = line.removeAll { isClosed($0.queue) }
        newcomers = line
        return refused.map(Admission.none)
    }

    /// Takes out the oldest work of the lowest priority, for newer work.
    ///
    /// - Parameter lane: of the newer work; for it nothing gives way that goes before it.
    /// - Returns: nil when all that waits goes before it.
    package mutating func dropOldest(for lane: Int) -> Work? {
        var queue = PoolQueue.shared
        var oldest = shared.lowestTicket
        for member in own.indices {
            guard let ticket = own[member].lowestTicket else { continue }
            if let other = oldest, (other.lane, ticket.sequence) > (ticket.lane, other.sequence) {
                continue
            }
            oldest = ticket
            queue = .own(member: member)
        }
        guard let oldest, oldest.lane >= lane else { return nil }
        return remove(oldest, from: queue)
    }
}
