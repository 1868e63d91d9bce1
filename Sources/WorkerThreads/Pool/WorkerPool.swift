// Several worker threads under one name. Work for the pool waits in one queue, in order, and an
// idle member takes the next; work for one member waits for that member.

public import Kernel
internal import Synchronization

/// Which of two items that wait for a thread or a pool runs first; equal ones in the order of
/// submits.
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
/// let size = try await pool.submit(onThread: "images") { 42 }
/// ```
///
/// Letting go of the pool stops its threads, but for a member whose handle is kept elsewhere.
public final class WorkerPool: Sendable {
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
    ///   - whenFull: what happens to a submitted item when so many wait. The oldest to be dropped
    ///     is that of the lowest priority; one that goes before the newer is not dropped for it.
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
    ///   - whenFull: what happens to a submitted item when so many wait. The oldest to be dropped
    ///     is that of the lowest priority; one that goes before the newer is not dropped for it.
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

    static func tell(
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

    /// Whether a thread of the pool was told to stop: nothing is taken for it any more.
    ///
    /// - Parameter name: the pool's name or nil for any member, or the name of one member.
    /// - Throws: `noThread`.
    /// - Thread: any thread; takes no lock.
    public func isStopped(onThread name: String? = nil) throws(SubmitError) -> Bool {
        isStopped(try queue(of: name))
    }

    /// The member of this name; nil if there is none.
    ///
    /// - Thread: any thread.
    public func member(named name: String) -> WorkerThread? {
        indexes[name].map { members[$0] }
    }

    /// Pauses all members: new and waiting items stay queued; running ones are finished.
    ///
    /// - Thread: any thread.
    /// - Blocks: never.
    public func pause() { changes.withLock { _ in members.forEach { $0.pause() } } }

    /// Ends a pause: the waiting items have their turn.
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
    /// - Blocks: until they were stopped and have ended.
    public func join() {
        // From the first one again: an ended member may have been replaced as well.
        while let member = firstToEnd() { member.waitUntilGone() }
        members.forEach { $0.join() }
    }

    /// The first member that has not ended, for which the caller may wait.
    func firstToEnd() -> PoolMember? {
        let member = parts.lazy.map(\.occupant).first { !$0.hasEnded }
        require(
            member?.isCurrent != true, "pool \(name) can't wait for its end on its own thread")
        return member
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

    func threadName(of queue: PoolQueue) -> String {
        if case .own(let member) = queue { return members[member].name }
        return name
    }

    /// Whether every member that could take from a queue was told to stop.
    ///
    /// A stop is visible at once, not only when the members have got round to it. Mostly it is the
    /// first one that says no.
    func isStopped(_ queue: PoolQueue) -> Bool {
        guard threads.withAll({ Self.isStopped(queue, of: $0) }) else { return false }
        while true {
            let seen = threads.all
            guard Self.isStopped(queue, of: seen) else { return false }
            // A thread that was replaced meanwhile was stopped for that.
            if threads.all.elementsEqual(seen, by: ===) { return true }
        }
    }

    private static func isStopped(_ queue: PoolQueue, of threads: [WorkerThread]) -> Bool {
        switch queue {
        case .own(let member): threads[member].isStopped
        case .shared: threads.allSatisfy { $0.isStopped }
        }
    }

    /// The life of the thread that has a member's place.
    func life(of member: Int) -> LifeCycle {
        while true {
            let thread = threads.all[member]
            let life = thread.core.life.withLock { $0 }
            if life.stop == nil || threads.all[member] === thread { return life }
        }
    }
}
