// Several worker threads under one name. Work for the pool waits in one queue, in order, and an idle
// member takes the next; work for one member waits for that member.

public import Kernel
internal import RunLoops
internal import Structures
internal import Synchronization

/// Which of two waiting items runs first; equal ones in the order of their submits.
public enum SubmitPriority: Int, Sendable, Hashable, CaseIterable {
    /// Before everything else.
    case high = 0
    /// The usual.
    case normal = 1
    /// When nothing else waits.
    case low = 2
}

/// Worker threads that share a queue, each of which can also be addressed by its name.
///
/// ```swift
/// let pool = try WorkerPool(name: "app", threads: ["images", "ledger"])
/// let size: Int = try await pool.submit(onThread: "images") { 42 }
/// ```
///
/// Letting go of the pool stops its threads, but for a member of which somebody keeps the handle.
public final class WorkerPool: Sendable {
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

    /// The name that addresses all members.
    public let name: String
    /// The members, in the order of their names' numbers.
    public var members: [WorkerThread] { threads.all }
    let threads: PoolThreads
    let queues: PoolQueues
    /// The time by which its threads go.
    let clock: any LoopClock
    let parts: [PoolSeat]
    let indexes: [String: Int]
    /// Held while members are told something together, or one is replaced: none is left out.
    let changes = Mutex<Void>(())
    /// Whether the pool's own name addresses all members, and not one of several that has it too.
    private let isNameOfAll: Bool

    /// Starts a pool of equal members, named `name` if it is one, else `name/1` to `name/count`.
    ///
    /// - Parameters:
    ///   - name: addresses the pool.
    ///   - count: how many threads, at least 1.
    ///   - maxQueued: how many items may wait in all, at least 1; more are refused with
    ///     `SubmitError.full`.
    ///   - whenFull: what happens to a submitted item when so many wait. The oldest to be dropped is
    ///     that of the lowest priority; one that goes before the newer is not dropped for it.
    /// - Throws: EAGAIN when the system has no room for so many threads; none is left running.
    /// - Thread: any thread.
    /// - Blocks: never; the threads begin by themselves.
    public convenience init(
        name: String, count: Int = 1, maxQueued: Int = .max, whenFull: WhenFull = .refuse
    ) throws(SystemError) {
        try self.init(
            name: name, count: count, maxQueued: maxQueued, whenFull: whenFull,
            clock: SystemClock())
    }

    /// Starts such a pool, whose members go by `clock`.
    package convenience init(
        name: String, count: Int, maxQueued: Int = .max, whenFull: WhenFull = .refuse,
        clock: any LoopClock
    ) throws(SystemError) {
        require(count > 0, "a pool has at least 1 thread, not \(count)")
        let names = count == 1 ? [name] : (1...count).map { "\(name)/\($0)" }
        try self.init(
            name: name, threads: names, maxQueued: maxQueued, whenFull: whenFull, clock: clock)
    }

    /// Starts a pool whose members have names of their own.
    ///
    /// - Parameters:
    ///   - name: addresses the pool.
    ///   - threads: a name for each member, all different.
    ///   - maxQueued: how many items may wait in all, at least 1; more are refused with
    ///     `SubmitError.full`.
    ///   - whenFull: what happens to a submitted item when so many wait. The oldest to be dropped is
    ///     that of the lowest priority; one that goes before the newer is not dropped for it.
    /// - Throws: EAGAIN when the system has no room for so many threads; none is left running.
    /// - Thread: any thread.
    /// - Blocks: never; the threads begin by themselves.
    public convenience init(
        name: String, threads: [String], maxQueued: Int = .max, whenFull: WhenFull = .refuse
    ) throws(SystemError) {
        try self.init(
            name: name, threads: threads, maxQueued: maxQueued, whenFull: whenFull,
            clock: SystemClock())
    }

    /// Starts such a pool, whose members go by `clock`.
    package init(
        name: String, threads: [String], maxQueued: Int = .max, whenFull: WhenFull = .refuse,
        clock: any LoopClock
    ) throws(SystemError) {
        require(maxQueued > 0, "a queue holds at least 1 item, not \(maxQueued)")
        require(!threads.isEmpty, "a pool has at least 1 thread")
        require(
            Set(threads).count == threads.count, "two threads of pool \(name) share a name")
        let queues = PoolQueues(
            memberCount: threads.count, limit: maxQueued, whenFull: whenFull)
        var members: [WorkerThread] = []
        for name in threads {
            members.append(try WorkerThread(name: name, poller: SystemPoller(clock: clock)))
        }
        let parts = members.enumerated().map { index, member in
            PoolMember(index: index, queues: queues, core: member.core)
        }
        self.name = name
        self.queues = queues
        self.clock = clock
        self.threads = PoolThreads(members)
        let seats = parts.map { PoolSeat($0) }
        self.parts = seats
        indexes = Dictionary(uniqueKeysWithValues: zip(threads, threads.indices))
        isNameOfAll = threads.count == 1 || !threads.contains(name)
        for (member, part) in zip(members, parts) {
            part.wakeOther = { other in seats[other].wake() }
            member.core.attach(part)
        }
    }

    /// Runs a closure on a thread of the pool.
    ///
    /// In an asynchronous function the other `submit` is meant, which waits for the closure's result;
    /// `enqueue` waits for nothing there. In the top-level code of a program it is the other way
    /// round: say the result's type to get it,
    /// `let size: Int = try await pool.submit(onThread: "images") { 42 }`.
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
    /// - Blocks: never.
    public func submit(
        onThread name: String? = nil, priority: SubmitPriority = .normal,
        key: SubmitKey? = nil,
        _ body: @escaping @Sendable () -> Void,
        fileID: StaticString = #fileID, line: UInt = #line
    ) throws(SubmitError) {
        _ = try push(note(.plain(body), fileID, line), to: try queue(of: name), priority, key)
    }

    /// Runs a closure on a thread of the pool as `submit` does, unless it is cancelled first.
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
    /// - Blocks: never.
    @discardableResult
    public func enqueue(
        onThread name: String? = nil, priority: SubmitPriority = .normal,
        key: SubmitKey? = nil,
        _ body: @escaping @Sendable () -> Void,
        fileID: StaticString = #fileID, line: UInt = #line
    ) throws(SubmitError) -> Ticket {
        try push(note(.plain(body), fileID, line), to: try queue(of: name), priority, key)
    }

    /// Queues a closure as `enqueue` does, and leaves it to the caller to wake the member for it.
    ///
    /// For whoever submits many at a time: a member that is woken for each of them runs it and is
    /// asleep again before the next comes.
    ///
    /// - Returns: the ticket, and the wake-up that is owed, if the closure needs one.
    /// - Throws: `noThread`, `stopped` or `full`.
    /// - Thread: any thread.
    /// - Blocks: never.
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

    /// A wake-up that a submit left to its caller; without it the work may wait for ever.
    package struct OwedWake: Sendable {
        fileprivate let member: PoolSeat

        /// Wakes the member.
        ///
        /// - Thread: any thread.
        /// - Blocks: never; a system call only if the member sleeps.
        package func pay() { member.wake() }
    }

    /// Runs a closure on a thread of the pool and returns what it returns.
    ///
    /// Cancelling the task takes the closure back if no member has begun it: this throws at once, and
    /// the closure never runs. One that has begun runs to its end, and its result is returned.
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
    /// - Blocks: no thread; the task is suspended.
    public nonisolated(nonsending) func submit<Result: Sendable>(
        onThread name: String? = nil, priority: SubmitPriority = .normal,
        key: SubmitKey? = nil,
        _ body: @escaping @Sendable () throws -> Result,
        fileID: StaticString = #fileID, line: UInt = #line
    ) async throws -> Result {
        let queue = try queue(of: name)
        let place = Place()
        return try await AwaitedPerform.result(of: body) { request throws(SubmitError) in
            // Not the pool: it would be kept by what waits in it.
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

    /// Where a request waits, for whoever cancels the task that waits for it.
    private final class Place: Sendable {
        private enum State {
            case unknown
            case known(Ticket)
            /// Cancelled before anybody knew: a place that it gets now is nobody's.
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

    private static func tell(
        _ admissions: [PoolBoard<PerformRequest>.Admission], _ parts: [PoolSeat]
    ) {
        for admission in admissions {
            if let member = admission.tell() { parts[member].wake() }
        }
    }

    /// How many items wait.
    ///
    /// - Thread: any thread.
    public var waitingCount: Int { queues.board.withLock { $0.waitingCount } }

    /// Whether nothing is taken any more for a thread of the pool.
    ///
    /// - Parameter name: the pool's name or nil for any member, or the name of one member.
    /// - Throws: `noThread`.
    /// - Thread: any thread.
    public func isStopped(onThread name: String? = nil) throws(SubmitError) -> Bool {
        let queue = try queue(of: name)
        return isStopped(queue) || queues.board.withLock { $0.isClosed(queue) }
    }

    /// The member of this name; nil if there is none.
    ///
    /// - Thread: any thread.
    public func member(named name: String) -> WorkerThread? {
        indexes[name].map { members[$0] }
    }

    /// Holds what is submitted from now on, and what waits; what runs is finished.
    ///
    /// - Thread: any thread.
    /// - Blocks: never.
    public func pause() { changes.withLock { _ in members.forEach { $0.pause() } } }

    /// Goes on with what was held.
    ///
    /// - Thread: any thread.
    /// - Blocks: never.
    public func resume() { changes.withLock { _ in members.forEach { $0.resume() } } }

    /// Asks all members to end.
    ///
    /// From now on every submit is refused.
    ///
    /// - Thread: any thread.
    /// - Blocks: never.
    public func stop(_ policy: StopPolicy = .finishCurrent) {
        let refused = queues.board.withLock { board in
            board.close()
            return board.refuseNewcomers()
        }
        Self.tell(refused, parts)
        changes.withLock { _ in members.forEach { $0.stop(policy) } }
    }

    /// Waits until all members have ended.
    ///
    /// For one that is replaced meanwhile it waits no longer, but for the one in its place.
    ///
    /// - Thread: any thread but a member's.
    /// - Blocks: until somebody stops them and they have ended.
    public func join() {
        // From the first one again: an ended member may have been replaced as well.
        while let member = parts.lazy.map(\.occupant).first(where: { !$0.hasEnded }) {
            require(
                !member.isCurrent, "pool \(name) can't wait for its end on its own thread")
            member.waitUntilGone()
        }
        members.forEach { $0.join() }
    }

    /// How many submitted items never ran because their thread was stopped before their turn.
    public var abandonedCount: Int {
        changes.withLock { _ in
            let formerCount = queues.formerAbandonedCount.load(ordering: .relaxed)
            return members.reduce(formerCount) { $0 + $1.abandonedCount }
        }
    }

    /// How many items wait for room among those that wait; only of queues that are full.
    ///
    /// - Thread: any thread; out of date as soon as it is known.
    public var newcomerCount: Int { queues.board.withLock { $0.newcomerCount } }

    /// How many submitted items gave way to newer ones because the queue was full.
    ///
    /// - Thread: any thread.
    public var droppedCount: Int { queues.droppedCount.load(ordering: .relaxed) }

    /// How many keys have items that wait or run.
    ///
    /// - Thread: any thread; out of date as soon as it is known.
    public var boundKeyCount: Int { queues.board.withLock { $0.boundKeyCount } }

    func queue(of name: String?) throws(SubmitError) -> PoolQueue {
        guard let name else { return .shared }
        // Mostly it is the pool's own name, which is found without a hash.
        if isNameOfAll, name == self.name { return .shared }
        if let index = indexes[name] { return members.count == 1 ? .shared : .own(member: index) }
        guard name == self.name else { throw .noThread(name) }
        return .shared
    }

    /// The request with a note of where it was posted, while a member is measured.
    func note(
        _ request: PerformRequest, _ fileID: StaticString, _ line: UInt
    ) -> PerformRequest {
        guard queues.measuredCount.load(ordering: .relaxed) > 0 else { return request }
        let posted = Posted(fileID, line, at: members[0].runLoop.now)
        return .answered(NotedPerform(request, posted: posted))
    }

    /// Queues a request and wakes a member for it; one that nobody waits for may block its sender.
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
        _ key: SubmitKey?, placed: (@Sendable (Ticket) -> Void)? = nil
    ) throws(SubmitError) -> (Ticket?, Int?) {
        let addition =
            if let key, queue == .shared, members.count > 1 {
                add(request, key: key, priority, placed: placed)
            } else {
                add(request, to: queue, priority, placed: placed)
            }
        switch addition {
        case .added(let ticket, let wake, let oldest):
            if let oldest, oldest.refuse(.dropped(thread: name)) {
                queues.droppedCount.add(1, ordering: .relaxed)
            }
            return (ticket, wake)
        case .waits(let admission, let left):
            for newcomer in left { _ = newcomer.tell() }
            // Who gives it a place wakes the member.
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

    func threadName(of queue: PoolQueue) -> String {
        if case .own(let member) = queue { return members[member].name }
        return name
    }

    /// Whether every member that could take from a queue was told to stop.
    ///
    /// A stop is visible at once, not only when the members have got round to it. Mostly it is the
    /// first one that says no.
    func isStopped(_ queue: PoolQueue) -> Bool {
        switch queue {
        case .own(let member): members[member].isStopped
        case .shared: members.allSatisfy { $0.isStopped }
        }
    }
}
