// A pool of worker threads is played with at random, from outside and by what runs on it, and has to
// keep the promises of its documentation at every moment.

import RunLoops
import RunLoopsTesting
import Synchronization
import WorkerThreads

/// One random life of one pool, from its start to its end.
final class PoolGame: Sendable {
    private let pool: WorkerPool
    private let books: Mutex<PoolBooks>

    private init(memberCount: Int) throws {
        pool = try WorkerPool(
            name: "all", threads: (0..<memberCount).map { "\($0)" }, clock: ManualClock())
        books = Mutex(PoolBooks(memberCount: memberCount))
    }

    /// Plays a program in a life of its own.
    ///
    /// - Parameters:
    ///   - program: the user's moves.
    ///   - memberCount: how many threads the pool has.
    ///   - isCalm: whether the user waits after each move until the threads sleep.
    /// - Returns: the promises that were broken; none, if all is well.
    static func play(_ program: [PoolMove], memberCount: Int, isCalm: Bool) throws -> [String] {
        let game = try PoolGame(memberCount: memberCount)
        for move in program {
            game.play(move, by: nil)
            if isCalm || move == .settle { try game.settle() }
        }
        game.books.withLock { books in
            game.pool.stop(.finishQueued)
            for member in 0..<memberCount {
                books.change(member, by: nil, isLast: true) { $0.stop(.finishQueued) }
            }
        }
        game.pool.join()
        return game.books.withLock { books in
            books.threadsEnded(abandonedCount: game.pool.abandonedCount)
            return books.faults
        }
    }

    private func play(_ move: PoolMove, by player: Int?) {
        switch move {
        case .item(let address, let priority, let moves): add(address, priority, moves)
        case .cancel: cancel()
        case .pause(let member):
            change(member, by: player, { $0.pause() }, of: { $0.pause() })
        case .resume(let member):
            change(member, by: player, { $0.resume() }, of: { $0.resume() })
        case .stop(let member, let policy):
            change(member, by: player, { $0.stop(policy) }, of: { $0.stop(policy) })
        case .nest:
            // A change of life that is heard in a pass ends it: who waits for something runs the loop anew.
            for _ in 0..<2 {
                guard let player else { return }
                _ = pool.members[player].runLoop.run(mode: .default, until: .distantPast)
            }
        case .settle: break
        }
    }

    /// Hands an item over and notes it at once, so that it can't begin before it is noted.
    private func add(_ address: PoolItem.Address, _ priority: SubmitPriority, _ moves: [PoolMove]) {
        books.withLock { books in
            let number = books.nextNumber
            let run: @Sendable () -> Void = { [self] in perform(number, moves) }
            var item = PoolItem(address: address, priority: priority)
            do throws(SubmitError) {
                switch address {
                case .shared: item.ticket = try pool.enqueue(priority: priority, run)
                case .own(let member):
                    item.ticket = try pool.enqueue(
                        onThread: "\(member)", priority: priority, run)
                case .direct(let member): try pool.members[member].submit(run)
                case .key(let key):
                    item.ticket = try pool.enqueue(
                        priority: priority, key: SubmitKey("\(key)"), run)
                }
            } catch {
                item.progress = .refused
            }
            books.note(item, number: number)
        }
    }

    private func cancel() {
        books.withLock { books in
            guard let (number, ticket) = books.lastTicket, pool.cancel(ticket) else { return }
            books.noteCancel(of: number)
        }
    }

    /// Changes members' lives and the books at once: which of two changes was first is no question then.
    private func change(
        _ member: Int?, by player: Int?, _ life: (inout LifeCycle) -> Bool,
        of thread: (WorkerThread) -> Void
    ) {
        books.withLock { books in
            for (index, worker) in pool.members.enumerated() where index == member ?? index {
                thread(worker)
                books.change(index, by: player, life)
            }
        }
    }

    private func perform(_ number: Int, _ moves: [PoolMove]) {
        let member = pool.members.firstIndex { $0.isCurrent } ?? -1
        books.withLock { $0.begin(number, on: member) }
        for move in moves { play(move, by: member) }
        books.withLock { $0.end(number) }
    }

    private func settle() throws {
        try pool.settle()
        books.withLock {
            $0.settled(waitingCount: pool.waitingCount, boundKeyCount: pool.boundKeyCount)
        }
    }
}
