// A worker thread is played with at random, from outside and by what runs on it, and has to keep the
// promises of its documentation at every moment.

import Kernel
import RunLoops
import RunLoopsTesting
import Support
import Synchronization
import WorkerThreads

/// One random life of one worker thread, from its start to its end.
final class LifeGame: Sendable {
    private typealias Commands = CommandBuffer<@Sendable () -> Void>

    private let worker: WorkerThread
    private let clock = ManualClock()
    private let commands = Commands { batch in for command in batch { command() } }
    private let books = Mutex(LifeBooks())

    private init() throws {
        worker = try WorkerThread(name: "life", clock: clock)
        commands.add(to: worker.runLoop)
    }

    /// Plays a program in a life of its own.
    ///
    /// - Parameter isCalm: whether the user waits after each move until the thread sleeps.
    /// - Returns: the promises that were broken; none, if all is well.
    static func play(_ program: [LifeMove], isCalm: Bool) throws -> [String] {
        let game = try LifeGame()
        for move in program {
            game.play(move, by: .user)
            if isCalm || move == .settle { try game.settle() }
        }
        game.play(.stop(.finishQueued), by: .user)
        game.worker.join()
        // What nobody performs any more holds the game, which holds it.
        game.commands.invalidate()
        return game.books.withLock { books in
            books.threadEnded(abandonedCount: game.worker.abandonedCount)
            return books.faults
        }
    }

    private func play(_ move: LifeMove, by player: LifePlayer) {
        switch move {
        case .item(let kind, let moves): add(kind, moves, by: player)
        case .cancel: cancel()
        case .pause, .resume, .stop: change(move, by: player)
        case .nest: nest()
        case .serve(let moves): serve(moves)
        case .advance(let milliseconds):
            // Not while somebody reads it to note when an item is due.
            books.withLock { _ in clock.advance(by: .milliseconds(milliseconds)) }
        case .settle: break
        }
    }

    /// Hands an item over and notes it at once, so that it can't begin before it is noted.
    private func add(_ kind: LifeItem.Kind, _ moves: [LifeMove], by player: LifePlayer) {
        books.withLock { books in
            let number = books.nextNumber
            let run: @Sendable () -> Void = { [self] in perform(number, moves) }
            var item = LifeItem(kind: kind, player: player)
            item.isAfterStop = books.life.stop != nil
            do throws(SubmitError) {
                switch kind {
                case .submitted where number % 2 == 0: try worker.submit(run)
                case .submitted: item.ticket = try worker.enqueue(run)
                case .delayed(let milliseconds):
                    let delay = Duration.milliseconds(milliseconds)
                    item.dueAt = clock.now().advanced(by: delay)
                    item.ticket = try worker.enqueue(after: delay, run)
                case .command:
                    if !commands.add(run) { item.progress = .refused }
                    commands.fire()
                case .block:
                    if !worker.runLoop.perform(run) { item.progress = .refused }
                }
            } catch {
                item.progress = .refused
            }
            books.note(item)
        }
    }

    private func cancel() {
        books.withLock { books in
            guard let (number, ticket) = books.lastTicket else { return }
            books.noteCancel(of: number, succeeded: worker.cancel(ticket))
        }
    }

    /// Changes the worker's life and the books at once: which of two changes was first is no question then.
    private func change(_ move: LifeMove, by player: LifePlayer) {
        books.withLock { books in
            switch move {
            case .pause: worker.pause()
            case .resume: worker.resume()
            case .stop(let policy): worker.stop(policy)
            default: break
            }
            books.change(move, by: player, now: clock.now())
        }
    }

    private func perform(_ number: Int, _ moves: [LifeMove]) {
        books.withLock { $0.begin(number) }
        for move in moves { play(move, by: .thread) }
        books.withLock { $0.end(number) }
    }

    private func nest() {
        let nest = books.withLock { $0.beginNest() }
        // A change of life that is heard in a pass ends it: who waits for something runs the loop anew.
        for _ in 0..<2 { _ = worker.runLoop.run(mode: .default, until: .distantPast) }
        books.withLock { $0.endNest(nest) }
    }

    private func serve(_ moves: [LifeMove]) {
        let serves = Flag()
        books.withLock { $0.beginServing() }
        worker.runLoop.perform(inModes: [.job]) { [self] in
            for move in moves where move != .nest { play(move, by: .thread) }
            serves.clear()
            worker.runLoop.stop()
        }
        WorkerCore.current?.serveJob { !serves.isSet }
        books.withLock { $0.endServing() }
    }

    private func settle() throws {
        try worker.settle()
        books.withLock { $0.settled(now: clock.now(), hasEnded: worker.hasEnded) }
    }
}
