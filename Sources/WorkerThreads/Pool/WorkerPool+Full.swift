// How work gets into a pool's queues when they are full, or not.

internal import Structures
internal import Synchronization

extension WorkerPool {
    /// The fate of work, and the duty of its sender.
    enum Addition {
        /// Wake the member, and refuse what was dropped for it.
        case added(Ticket, wake: Int?, dropped: PerformRequest?)
        /// Tell those that have left the line.
        case waits(Admission<Ticket>?, left: [PoolBoard<PerformRequest>.Admission])
        case full
        case closed
    }

    /// Queues work, or lines it up for a place.
    ///
    /// - Parameter placed: of work whose sender waits for its end anyway, and so for no place:
    ///   called with its ticket if it gets its place later.
    func add(
        _ request: PerformRequest, to queue: PoolQueue, _ priority: SubmitPriority,
        besides avoided: Set<Int> = [], placed: (@Sendable (Ticket) -> Void)? = nil
    ) -> Addition {
        if isStopped(queue) { return .closed }
        let lane = priority.rawValue
        return queues.board.withLock { board in
            if board.isClosed(queue) { return .closed }
            let queue = queue == .shared ? board.queue(besides: avoided) { life(of: $0) } : queue
            var dropped: PerformRequest?
            if board.waitingCount >= queues.limit {
                switch queues.whenFull {
                case .refuse: return .full
                case .dropOldest:
                    dropped = board.dropOldest(for: lane)
                    if dropped == nil { return .full }
                case .wait: return lineUp(request, queue, lane, nil, placed, &board)
                }
            }
            let (place, wake) = board.push(request, to: queue, lane: lane)
            return .added(ticket(place, queue), wake: wake, dropped: dropped)
        }
    }

    /// Queues work that has a key, or lines it up for a place.
    ///
    /// - Parameter placed: as above.
    func add(
        _ request: PerformRequest, key: SubmitKey, _ priority: SubmitPriority,
        besides avoided: Set<Int> = [], placed: (@Sendable (Ticket) -> Void)? = nil
    ) -> Addition {
        if isStopped(.shared) { return .closed }
        let lane = priority.rawValue
        let keyed =
            request.delegated.map { PerformRequest.answered($0.with(key)) }
            ?? .answered(KeyedPerform(request, key: key, queues: queues))
        return queues.board.withLock { board in
            guard let member = board.bind(key, besides: avoided, life: { life(of: $0) })
            else { return .closed }
            let queue = PoolQueue.own(member: member)
            var dropped: PerformRequest?
            if board.waitingCount >= queues.limit {
                if queues.whenFull == .wait {
                    return lineUp(keyed, queue, lane, key, placed, &board)
                }
                if queues.whenFull == .dropOldest { dropped = board.dropOldest(for: lane) }
                guard dropped != nil else {
                    board.unbind(key)
                    return .full
                }
            }
            let (place, wake) = board.place(keyed, in: queue, lane: lane)
            return .added(ticket(place, queue, key), wake: wake, dropped: dropped)
        }
    }

    private func lineUp(
        _ request: PerformRequest, _ queue: PoolQueue, _ lane: Int, _ key: SubmitKey?,
        _ placed: (@Sendable (Ticket) -> Void)?, _ board: inout PoolBoard<PerformRequest>
    ) -> Addition {
        let stopped = SubmitError.stopped(thread: threadName(of: queue))
        let pool = queues.number
        if let placed {
            let left = board.lineUp(
                request, for: queue, lane: lane, isWanted: { !request.isDecided }
            ) { place in
                // One that was cancelled has been told.
                guard let place else { return _ = request.refuse(stopped) }
                placed(Ticket(pool: pool, queue: queue, place: place, key: key))
            }
            return .waits(nil, left: left)
        }
        // No other member may be left to make room.
        if members.contains(where: { $0.isCurrent }) {
            if let key { board.unbind(key) }
            return .full
        }
        let admission = Admission<Ticket>()
        let left = board.lineUp(request, for: queue, lane: lane) { place in
            guard let place else {
                if key != nil { _ = request.refuse(stopped) }
                return admission.decide(.failure(stopped))
            }
            admission.decide(.success(Ticket(pool: pool, queue: queue, place: place, key: key)))
        }
        return .waits(admission, left: left)
    }
}
