// A pool of worker threads is played with at random, from outside and by its own items, and has
// to keep the promises of its documentation at every moment.

import RunLoops
import RunLoopsTesting
import Support
import Synchronization
import WorkerThreads

/// One random life of one pool, from its start to its end.
final class PoolGame: Sendable {
    private let pool: WorkerPool
    private let books: Mutex<PoolBooks>

    private let room: LifeRoom
    /// The threads that were replaced.
    private let formers = Shared<[WorkerThread]>([])

    private init(memberCount: Int, room: LifeRoom) throws {
        self.room = room
        pool = try WorkerPool(
            name: "all", threads: (0..<memberCount).map { "\($0)" }, maxQueued: room.limit,
            whenFull: room.whenFull, clock: ManualClock())
        books = Mutex(PoolBooks(memberCount: memberCount, room: room))
    }

    /// Plays a program in a life of its own.
    ///
    /// - Parameters:
    ///   - program: the user's moves.
    ///   - memberCount: how many threads the pool has.
    ///   - room: how much may wait.
    ///   - isCalm: whether the user waits after each move until the threads sleep.
    /// - Returns: the promises that were broken; none, if all is well.
    static func play(
        _ program: [PoolMove], memberCount: Int, room: LifeRoom = LifeRoom(), isCalm: Bool
    ) throws -> [String] {
        let game = try PoolGame(memberCount: memberCount, room: room)
        for move in program {
            game.play(move, by: nil)
            if isCalm || move == .settle { try game.settle() }
        }
        game.books.withLock { books in
            game.pool.stop(.finishQueued)
            for member in 0..<memberCount {
                books.change(member, by: nil, isLast: true) { $0.stop(.finishQueued) }
            }
            books.unpark(forGood: true)
        }
        game.pool.join()
        game.joinFormers()
        return game.books.withLock { books in
            books.threadsEnded(abandonedCount: game.pool.abandonedCount)
            return books.faults
        }
    }

    /// An item on one that was replaced may replace another one.
    private func joinFormers() {
        var joinedCount = 0
        while true {
            // Under the lock under which they are replaced, or the last one would be missed.
            let formers = books.withLock { [formers] _ in formers.value }
            if formers.count == joinedCount { return }
            for former in formers[joinedCount...] { former.join() }
            joinedCount = formers.count
        }
    }

    private func play(_ move: PoolMove, by player: Int?) {
        switch move {
        case .item(let address, let priority, let moves): add(address, priority, moves, by: player)
        case .cancel: cancel(by: player)
        case .pause(let member):
            change(member, by: player, { $0.pause() }, of: { $0.pause() })
        case .resume(let member):
            change(member, by: player, { $0.resume() }, of: { $0.resume() })
        case .stop(let member, let policy):
            change(member, by: player, { $0.stop(policy) }, of: { $0.stop(policy) })
        case .nest:
            // A change of life that is heard in a pass ends it: code that waits for something runs
            // the loop anew.
            for _ in 0..<2 {
                _ = WorkerCore.current?.loop.run(mode: .default, until: .distantPast)
            }
        case .park:
            guard WorkerCore.current != nil else { return }
            books.withLock { $0.park(place) }?.pass()
        case .replace(let member): replace(member, by: player)
        case .settle: break
        }
    }

    /// The member whose thread calls; nil for the user, and for one that was replaced.
    private var place: Int? { pool.members.firstIndex { $0.isCurrent } }

    /// Hands an item over and notes it at once, so that it can't begin before it is noted.
    private func add(
        _ address: PoolItem.Address, _ priority: SubmitPriority, _ moves: [PoolMove],
        by player: Int?
    ) {
        books.withLock { books in
            let number = books.nextNumber
            let token = Token()
            let run: @Sendable () -> Void = { [self] in
                withExtendedLifetime(token) { perform(number, moves) }
            }
            var item = PoolItem(address: address, priority: priority)
            item.token = WeakReference(token)
            let blocks = room.whenFull == .wait && place == nil
            do {
                if item.isPooled && (number % 3 == 2 || blocks) {
                    try wait(run, as: &item)
                } else {
                    try enqueue(run, as: &item)
                }
            } catch {
                item.progress = .refused
                item.isFull = error as? SubmitError == .full(thread: "all", limit: room.limit)
            }
            let player = player == nil ? nil : place
            books.note(item, number: number, by: player, droppedCount: pool.droppedCount)
        }
    }

    private func enqueue(_ run: @escaping @Sendable () -> Void, as item: inout PoolItem) throws {
        switch item.address {
        case .shared: item.ticket = try pool.enqueue(priority: item.priority, run)
        case .own(let member):
            item.ticket = try pool.enqueue(onThread: "\(member)", priority: item.priority, run)
        case .direct(let member): try pool.members[member].post(run)
        case .key(let key):
            item.ticket = try pool.enqueue(priority: item.priority, key: SubmitKey("\(key)"), run)
        }
    }

    /// Hands an item over in a task that waits for its end.
    private func wait(_ run: @escaping @Sendable () -> Void, as item: inout PoolItem) throws {
        let answer = LifeAnswer()
        let name: String? = if case .own(let member) = item.address { "\(member)" } else { nil }
        let key: SubmitKey? =
            if case .key(let key) = item.address { SubmitKey("\(key)") } else { nil }
        item.answer = answer
        item.task = try LifeAudience.task(answer) { [pool, priority = item.priority] in
            try await pool.submit(onThread: name, priority: priority, key: key, run)
        }
        if case .refused(let refusal) = answer.outcome { throw refusal }
    }

    private func cancel(by player: Int?) {
        books.withLock { books in
            guard let number = books.lastTaken else { return }
            if let ticket = books.items[number].ticket, pool.cancel(ticket) {
                books.noteCancel(of: number)
            }
            if let task = books.items[number].task {
                task.cancel()
                books.noteCancelledTask(of: number, by: player == nil ? nil : place)
            }
        }
    }

    private func replace(_ index: Int, by player: Int?) {
        books.withLock { books in
            let player = player == nil ? nil : place
            guard let change = try? pool.replaceMember(named: "\(index)") else {
                return books.faults.append("there is no thread in the place of \(index)")
            }
            formers.change { $0.append(change.old) }
            books.replace(index, by: player)
        }
    }

    /// Changes members' lives and the books at once: which of two changes was first is no question
    /// then.
    private func change(
        _ member: Int?, by player: Int?, _ life: (inout LifeCycle) -> Bool,
        of thread: (WorkerThread) -> Void
    ) {
        books.withLock { books in
            for (index, worker) in pool.members.enumerated() where index == member ?? index {
                thread(worker)
                books.change(index, by: player == nil ? nil : place, life)
            }
        }
    }

    private func perform(_ number: Int, _ moves: [PoolMove]) {
        books.withLock { $0.begin(number, on: place) }
        for move in moves { play(move, by: place ?? -1) }
        books.withLock { $0.end(number) }
    }

    /// Looks when all threads sleep or stand still, and then lets the latter go on.
    private func settle() throws {
        while true {
            if !waitUntil({ isQuiet }) { throw NotSettled(thread: "all", limit: .seconds(20)) }
            let wereParked = books.withLock { books in
                books.settled(
                    waitingCount: pool.waitingCount, newcomerCount: pool.newcomerCount,
                    boundKeyCount: pool.boundKeyCount)
                defer { books.unpark() }
                return !books.parked.isEmpty
            }
            if !wereParked { return }
        }
    }

    /// Whether all threads are at rest at one moment.
    private var isQuiet: Bool {
        let threads = pool.members + formers.value
        let parked = books.withLock { books in Set(books.parked.map { ObjectIdentifier($0.gate) }) }
        let sleeps = threads.map(\.runLoop.counters.sleepCount)
        let areAtRest = { [self] in
            let gates = books.withLock { $0.parked }
            let sleeping = threads.count { $0.runLoop.isWaiting || $0.hasEnded }
            return sleeping + gates.count == threads.count && gates.count == parked.count
        }
        guard areAtRest(), areAtRest() else { return false }
        let now = pool.members + formers.value
        return now.elementsEqual(threads, by: ===)
            && threads.map(\.runLoop.counters.sleepCount) == sleeps
    }
}
