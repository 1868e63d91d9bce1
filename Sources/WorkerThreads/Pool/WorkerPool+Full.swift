// How work gets into a pool's queues when they are full, or not.

internal import Structures
internal import Synchronization

extension WorkerPool {
    /// What became of work, and what its sender has to do.
    enum Addition {
        /// Wake the member, and refuse what was dropped for it.
        case added(Ticket.Place, wake: Int?, dropped: PerformRequest?)
        case waits(Admission<Ticket.Place>?)
        case full
        case closed
    }

    /// Queues work, or lines it up for a place.
    ///
    /// - Parameter placed: of work whose sender waits for its end anyway, and so for no place: called
    ///   with its ticket if it gets its place later.
    func add(
        _ request: PerformRequest, to queue: PoolQueue, _ priority: SubmitPriority,
        placed: (@Sendable (Ticket) -> Void)? = nil
    ) -> Addition {
        if isStopped(queue) { return .closed }
        let lane = priority.rawValue
        return queues.board.withLock { board in
            if board.isClosed(queue) { return .closed }
            var dropped: PerformRequest?
            if board.waitingCount >= queues.limit {
                switch queues.whenFull {
                case .refuse: return .full
                case .dropOldest:
                    dropped = board.dropOldest(for: lane)
                    if dropped == nil { return .full }
                case .wait: return lineUp(request, queue, lane, placed, &board)
                }
            }
            let (place, wake) = board.push(request, to: queue, lane: lane)
            return .added(place, wake: wake, dropped: dropped)
        }
    }

    private func lineUp(
        _ request: PerformRequest, _ queue: PoolQueue, _ lane: Int,
        _ placed: (@Sendable (Ticket) -> Void)?, _ board: inout PoolBoard<PerformRequest>
    ) -> Addition {
        let stopped = SubmitError.stopped(thread: threadName(of: queue))
        if let placed {
            let pool = ObjectIdentifier(queues)
            board.lineUp(request, for: queue, lane: lane) { place in
                guard let place else { return _ = request.refuse(stopped) }
                placed(Ticket(pool: pool, queue: queue, place: place))
            }
            return .waits(nil)
        }
        // Nobody else may be left to make room.
        if members.contains(where: { $0.isCurrent }) { return .full }
        let admission = Admission<Ticket.Place>()
        board.lineUp(request, for: queue, lane: lane) { place in
            admission.decide(place.map { .success($0) } ?? .failure(stopped))
        }
        return .waits(admission)
    }
}
