// Handing closures to a pool: waiting for nothing or for their results, taken back by their
// tickets.

internal import RunLoops
internal import Structures
internal import Synchronization

extension WorkerPool {
    /// Names an item while it waits.
    public struct Ticket: Sendable, Hashable {
        /// The number of its pool.
        let pool: UInt64
        let queue: PoolQueue
        typealias Place = PriorityFIFO<PerformRequest>.Ticket

        let place: Place
        /// Its key, if it counts as one of its key's.
        let key: SubmitKey?
    }

    /// Queues a closure for a thread of the pool and returns without waiting for it.
    ///
    /// - Parameters:
    ///   - name: the pool's name or nil for any member, or the name of one member.
    ///   - priority: high before normal before low; equal ones in the order of submits.
    ///   - key: items of the same key run on one thread, one after another; the pool's name only, a
    ///     member keeps the order anyway.
    ///   - body: what to run.
    ///   - fileID: the caller's file, noted while the thread is measured.
    ///   - line: the caller's line.
    /// - Throws: `noThread`, `stopped` or `full`.
    /// - Thread: any thread.
    /// - Blocks: only if the pool is full and was made with `whenFull: .wait`: then the calling
    ///   thread waits for room, except on a member, which gets `full`.
    public func post(
        onThread name: String? = nil, priority: SubmitPriority = .normal,
        key: SubmitKey? = nil,
        _ body: sending @escaping () -> Void,
        fileID: StaticString = #fileID, line: UInt = #line
    ) throws(SubmitError) {
        _ = try push(note(.plain(body), fileID, line), to: try queue(of: name), priority, key)
    }

    /// Queues a closure as `post` does, and returns a ticket with which it can be cancelled.
    ///
    /// - Parameters:
    ///   - name: the pool's name or nil for any member, or the name of one member.
    ///   - priority: high before normal before low; equal ones in the order of submits.
    ///   - key: items of the same key run on one thread, one after another; the pool's name only, a
    ///     member keeps the order anyway.
    ///   - body: what to run.
    ///   - fileID: the caller's file, noted while the thread is measured.
    ///   - line: the caller's line.
    /// - Returns: a ticket for `cancel`.
    /// - Throws: `noThread`, `stopped` or `full`.
    /// - Thread: any thread, also a task.
    /// - Blocks: as `post` does.
    @discardableResult
    public func enqueue(
        onThread name: String? = nil, priority: SubmitPriority = .normal,
        key: SubmitKey? = nil,
        _ body: sending @escaping () -> Void,
        fileID: StaticString = #fileID, line: UInt = #line
    ) throws(SubmitError) -> Ticket {
        try push(note(.plain(body), fileID, line), to: try queue(of: name), priority, key)
    }

    /// Queues a closure as `enqueue` does, and leaves it to the caller to wake the member for it.
    ///
    /// For callers that submit many at a time: a member that is woken for each of them runs it and
    /// is asleep again before the next comes.
    ///
    /// - Returns: the ticket, and the wake-up that is owed, if the closure needs one.
    /// - Throws: `noThread`, `stopped` or `full`.
    /// - Thread: any thread.
    /// - Blocks: as `post` does.
    package func submitOwingWake(
        onThread name: String? = nil, priority: SubmitPriority = .normal,
        key: SubmitKey? = nil,
        _ body: @escaping @Sendable () -> Void,
        fileID: StaticString = #fileID, line: UInt = #line
    ) throws(SubmitError) -> (ticket: Ticket, owed: OwedWake?) {
        let request = note(.plain(body), fileID, line)
        let (ticket, member) = try enqueue(request, to: try queue(of: name), priority, key)
        return (placed(ticket), member.map { OwedWake(member: parts[$0]) })
    }

    /// Queues work that another thread may do in a member's place, as `submitOwingWake` does.
    ///
    /// - Parameter avoided: the places of members that should not get the work. One gets it all the
    ///   same if its key has work there, or if no other member can have it now.
    /// - Returns: the ticket, and the wake-up that is owed, if the work needs one.
    /// - Throws: `noThread`, `stopped` or `full`.
    /// - Thread: any thread.
    /// - Blocks: as `post` does.
    package func submitOwingWake(
        onThread name: String? = nil, priority: SubmitPriority = .normal,
        key: SubmitKey? = nil, besides avoided: Set<Int> = [],
        delegating work: any DelegatedWork,
        fileID: StaticString = #fileID, line: UInt = #line
    ) throws(SubmitError) -> (ticket: Ticket, owed: OwedWake?) {
        let request = note(.answered(DelegatedPerform(work, queues)), fileID, line)
        let (ticket, member) = try enqueue(
            request, to: try queue(of: name), priority, key, besides: avoided)
        return (placed(ticket), member.map { OwedWake(member: parts[$0]) })
    }

    /// A wake-up that a submit left to its caller; without it the work may wait for ever.
    package struct OwedWake: Sendable {
        fileprivate let member: PoolSeat

        /// Wakes the member.
        ///
        /// - Thread: any thread.
        /// - Blocks: never; a system call only if the member sleeps.
        package func pay() { member.wake() }
    }

    /// Runs a closure on a thread of the pool and returns its result.
    ///
    /// If the task is cancelled before a member has begun the closure, this throws at once and the
    /// closure never runs. A closure that has begun runs to its end, and its result is returned.
    ///
    /// - Parameters:
    ///   - name: the pool's name or nil for any member, or the name of one member.
    ///   - priority: high before normal before low; equal ones in the order of submits.
    ///   - key: items of the same key run on one thread, one after another; the pool's name only, a
    ///     member keeps the order anyway.
    ///   - body: what to run.
    ///   - fileID: the caller's file, noted while the thread is measured.
    ///   - line: the caller's line.
    /// - Throws: what the closure throws; `SubmitError` when it was refused or its thread stopped;
    ///   `CancellationError` when the task was cancelled before.
    /// - Thread: any task; the closure is queued without a hop from wherever the task runs.
    /// - Blocks: no thread; the task is suspended until the closure has run. With `whenFull: .wait`
    ///   it is suspended for room in the queue as well.
    public nonisolated(nonsending) func submit<Result: Sendable>(
        onThread name: String? = nil, priority: SubmitPriority = .normal,
        key: SubmitKey? = nil,
        _ body: sending @escaping () throws -> Result,
        fileID: StaticString = #fileID, line: UInt = #line
    ) async throws -> Result {
        try await result(of: body, onThread: name, priority, key, fileID, line)
    }

    /// Runs a closure on a thread of the pool and returns a fresh object that it made.
    ///
    /// As the `submit` for `Sendable` results, but for a result of any type to which the closure
    /// keeps no reference.
    ///
    /// - Throws: what the closure throws; `SubmitError`; `CancellationError`.
    /// - Thread: any task.
    /// - Blocks: no thread; the task is suspended until the closure has run.
    public nonisolated(nonsending) func submit<Result>(
        onThread name: String? = nil, priority: SubmitPriority = .normal,
        key: SubmitKey? = nil,
        _ body: sending @escaping () throws -> sending Result,
        fileID: StaticString = #fileID, line: UInt = #line
    ) async throws -> sending Result {
        try await result(of: body, onThread: name, priority, key, fileID, line)
    }

    nonisolated(nonsending) func result<Result>(
        of body: sending @escaping () throws -> Result,
        onThread name: String?, _ priority: SubmitPriority, _ key: SubmitKey?,
        _ fileID: StaticString, _ line: UInt, before deadline: Deadline? = nil
    ) async throws -> sending Result {
        let queue = try queue(of: name)
        let place = Place()
        var limit: TaskTimeLimit?
        defer { limit?.cancel() }
        return try await AwaitedPerform.result(of: body) { request throws(SubmitError) in
            let late = SubmitError.late(thread: threadName(of: queue))
            if let deadline {
                if deadline.hasPassed { throw late }
                limit = deadline.whenPassed { [request, queues, parts] in
                    guard request.refuse(late), let ticket = place.leave() else { return }
                    Self.remove(ticket, from: queues, parts)
                }
            }
            // Not the pool: it would be kept by the requests in it.
            let placed: @Sendable (Ticket) -> Void = { [queues, parts] ticket in
                if !place.take(ticket) { Self.remove(ticket, from: queues, parts) }
            }
            let (ticket, member) = try enqueue(
                note(request, fileID, line), to: queue, priority, key, placed: placed)
            if let ticket { placed(ticket) }
            if let member { parts[member].wake() }
        } cancelled: {
            if let ticket = place.leave() { remove(ticket) }
        }
    }

    /// Where a request waits, to be found when its task is cancelled.
    private final class Place: Sendable {
        private enum State {
            case unknown
            case known(Ticket)
            /// Cancelled before the place was known: one that it gets now is given back.
            case left
        }

        private let state = Mutex(State.unknown)

        /// - Returns: false when the request was cancelled before.
        func take(_ ticket: Ticket) -> Bool {
            state.withLock { state in
                if case .left = state { return false }
                state = .known(ticket)
                return true
            }
        }

        /// - Returns: the place that it has; nil when it has none yet.
        func leave() -> Ticket? {
            state.withLock { state in
                defer { state = .left }
                if case .known(let ticket) = state { return ticket }
                return nil
            }
        }
    }

    /// Takes an item back, if no member has taken it yet.
    ///
    /// - Returns: whether that was so: then it never runs. False for another pool's ticket.
    /// - Thread: any thread.
    /// - Blocks: never.
    @discardableResult
    public func cancel(_ ticket: Ticket) -> Bool {
        ticket.pool == queues.number && remove(ticket)
    }

    @discardableResult
    private func remove(_ ticket: Ticket) -> Bool { Self.remove(ticket, from: queues, parts) }

    @discardableResult
    private static func remove(
        _ ticket: Ticket, from queues: PoolQueues, _ parts: [PoolSeat]
    ) -> Bool {
        let (work, admitted) = queues.board.withLock { board in
            let work = board.remove(ticket.place, from: ticket.queue)
            if work != nil, let key = ticket.key { board.unbind(key) }
            return (work, board.admit(limit: queues.limit))
        }
        tell(admitted, parts)
        return work != nil
    }

    /// The request with a note of where it was posted, while a member is measured.
    func note(
        _ request: PerformRequest, _ fileID: StaticString, _ line: UInt
    ) -> PerformRequest {
        guard queues.measuredCount.load(ordering: .relaxed) > 0 else { return request }
        let posted = Posted(fileID, line, at: members[0].runLoop.now)
        return .answered(NotedPerform(request, posted: posted))
    }

    /// Queues a request and wakes a member for it; one without a waiting sender may block the
    /// caller.
    private func push(
        _ request: PerformRequest, to queue: PoolQueue, _ priority: SubmitPriority,
        _ key: SubmitKey?
    ) throws(SubmitError) -> Ticket {
        let (ticket, member) = try enqueue(request, to: queue, priority, key)
        if let member { parts[member].wake() }
        return placed(ticket)
    }

    private func placed(_ ticket: Ticket?) -> Ticket {
        guard let ticket else { fatalError("who waits for no result waits for its place") }
        return ticket
    }

    /// - Parameter placed: as `add` says.
    /// - Returns: the ticket, nil if it comes later, and the idle member that has to be woken.
    func enqueue(
        _ request: PerformRequest, to queue: PoolQueue, _ priority: SubmitPriority,
        _ key: SubmitKey?, besides avoided: Set<Int> = [],
        placed: (@Sendable (Ticket) -> Void)? = nil
    ) throws(SubmitError) -> (Ticket?, Int?) {
        let addition =
            if let key, queue == .shared, members.count > 1 {
                add(request, key: key, priority, besides: avoided, placed: placed)
            } else {
                add(request, to: queue, priority, besides: avoided, placed: placed)
            }
        switch addition {
        case .added(let ticket, let wake, let oldest):
            if let oldest, oldest.refuse(.dropped(thread: name)) {
                queues.droppedCount.add(1, ordering: .relaxed)
            }
            return (ticket, wake)
        case .waits(let admission, let left):
            for newcomer in left { _ = newcomer.tell() }
            // The thread that gives it a place wakes the member.
            guard let admission else { return (nil, nil) }
            return (try admission.wait(), nil)
        case .full: throw .full(thread: name, limit: queues.limit)
        case .closed: throw .stopped(thread: threadName(of: queue))
        }
    }

    func ticket(
        _ place: Ticket.Place, _ queue: PoolQueue, _ key: SubmitKey? = nil
    ) -> Ticket {
        Ticket(pool: queues.number, queue: queue, place: place, key: key)
    }
}
