// A worker thread is played with at random, from outside and by its own items, and has to keep
// the promises of its documentation at every moment.

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
    private let messages = MessagePort<@Sendable () -> Void> { message in message() }
    private let room: LifeRoom
    private let books: Mutex<LifeBooks>

    private init(_ room: LifeRoom) throws {
        self.room = room
        books = Mutex(LifeBooks(room: room))
        worker = try WorkerThread(
            name: "life", maxQueued: room.limit, whenFull: room.whenFull, clock: clock)
        commands.add(to: worker.runLoop)
        messages.add(to: worker.runLoop)
    }

    /// Plays a program in a life of its own.
    ///
    /// - Parameters:
    ///   - program: the user's moves.
    ///   - room: how much may wait.
    ///   - isCalm: whether the user waits after each move until the thread sleeps.
    /// - Returns: the promises that were broken; none, if all is well.
    static func play(
        _ program: [LifeMove], room: LifeRoom = LifeRoom(), isCalm: Bool
    ) throws -> [String] {
        let game = try LifeGame(room)
        for move in program {
            game.play(move, by: .user)
            if isCalm || move == .settle { try game.settle() }
        }
        game.play(.stop(.finishQueued), by: .user)
        game.worker.join()
        // Steps that came after the thread's end run elsewhere, when there is a thread for them.
        while let end = game.books.withLock({ $0.nextTaskEnd }) { end.wait() }
        // Commands that will not be performed hold the game, which holds them.
        game.commands.invalidate()
        game.messages.invalidate()
        return game.books.withLock { books in
            books.threadEnded(abandonedCount: game.worker.abandonedCount)
            return books.faults
        }
    }

    private func play(_ move: LifeMove, by player: LifePlayer) {
        switch move {
        case .item(let kind, let moves): add(kind, moves, by: player)
        case .cancel: cancel(by: player)
        case .pause, .resume, .stop: change(move, by: player)
        // Not of a task that goes on elsewhere; and an item that serves a job takes no others
        // itself.
        case .nest: if worker.isCurrent && !books.withLock(\.isServing) { nest() }
        case .serve(let moves): if worker.isCurrent { serve(moves) }
        case .advance(let milliseconds):
            // Not while a thread reads it to note when an item is due.
            books.withLock { _ in clock.advance(by: .milliseconds(milliseconds)) }
        case .settle: break
        }
    }

    /// Hands an item over and notes it at once, so that it can't begin before it is noted.
    private func add(_ kind: LifeItem.Kind, _ moves: [LifeMove], by player: LifePlayer) {
        books.withLock { books in
            let number = books.nextNumber
            var item = LifeItem(kind: kind, player: player)
            item.isAfterStop = books.life.stop != nil
            let token = Token()
            item.token = WeakReference(token)
            let run: @Sendable () -> Void = { [self] in
                withExtendedLifetime(token) { perform(number, moves) }
            }
            do {
                switch kind {
                case .submitted where room.whenFull == .wait && player == .user:
                    try send(run, as: &item)
                case .submitted where number % 2 == 0: try worker.post(run)
                case .submitted: item.ticket = try worker.enqueue(run)
                case .awaited: try wait(run, as: &item)
                case .delayed(let milliseconds):
                    let delay = Duration.milliseconds(milliseconds)
                    item.dueAt = clock.now().advanced(by: delay)
                    item.ticket = try worker.enqueue(after: delay, run)
                case .performed:
                    let selector = Selector<LifeGame, NoArgument>("run") { _ in run() }
                    try worker.perform(selector, on: self, modes: [.common])
                case .command:
                    if !commands.add(run) { item.progress = .refused }
                    commands.fire()
                case .message: if messages.send(run) != .sent { item.progress = .refused }
                case .task: begin(number, moves, sleeping: nil)
                case .sleeper(let milliseconds):
                    begin(number, moves, sleeping: .milliseconds(milliseconds))
                case .block:
                    if !worker.runLoop.perform(run) { item.progress = .refused }
                }
            } catch {
                item.progress = .refused
                item.refusal = error as? SubmitError
            }
            books.note(item, now: clock.now(), droppedCount: worker.droppedCount)
        }
    }

    /// Begins a task, which makes its moves in its first step.
    private func begin(_ number: Int, _ moves: [LifeMove], sleeping duration: Duration?) {
        Task(executorPreference: worker.executor) { [self] in
            checkThread(of: number)
            books.withLock { $0.begin(number) }
            for move in moves { play(move, by: .thread) }
            if let duration { await sleep(number, duration) } else { await Task.yield() }
            checkThread(of: number)
            books.withLock { books in
                books.noteStep(of: number)
                books.end(number)
            }
        }
    }

    private func sleep(_ number: Int, _ duration: Duration) async {
        let deadline = books.withLock { books in
            let deadline = clock.now().advanced(by: duration)
            books.noteSleep(of: number, until: deadline)
            return deadline
        }
        var isLoopGone = false
        do { try await worker.sleep(until: deadline) } catch { isLoopGone = true }
        books.withLock {
            $0.noteWaking(of: number, now: clock.now(), isLoopGone: isLoopGone)
        }
    }

    private func checkThread(of number: Int) {
        if worker.isCurrent || worker.hasEnded { return }
        books.withLock { $0.faults.append("task \(number) is elsewhere") }
    }

    /// Hands an item over on a thread that may be blocked.
    private func send(_ run: @escaping @Sendable () -> Void, as item: inout LifeItem) throws {
        item.isSent = true
        let answer = LifeAnswer()
        item.answer = answer
        _ = try TestThread(name: "sender") { [worker] in
            do {
                try worker.post(run)
                answer.tell(.done)
            } catch {
                answer.tell(LifeOutcome(error))
            }
        }
    }

    /// Hands an item over in a task that waits for its end.
    private func wait(_ run: @escaping @Sendable () -> Void, as item: inout LifeItem) throws {
        let answer = LifeAnswer()
        item.answer = answer
        item.task = try LifeAudience.task(answer) { [worker] in try await worker.submit(run) }
        if case .refused(let refusal) = answer.outcome { throw refusal }
    }

    private func cancel(by player: LifePlayer) {
        books.withLock { books in
            guard let number = books.lastTaken else { return }
            if let ticket = books.items[number].ticket {
                books.noteCancel(of: number, succeeded: worker.cancel(ticket))
            }
            if let task = books.items[number].task {
                task.cancel()
                books.noteCancelledTask(of: number, by: player)
            }
        }
    }

    /// Changes the worker's life and the books at once: which of two changes was first is no
    /// question then.
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
        // A change of life that is heard in a pass ends it: an item that waits for something runs
        // the loop anew.
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
        // Room that the thread makes lets senders go on, and it runs again.
        repeat {
            try worker.settle()
            waitForSenders()
            try worker.settle()
        } while books.withLock { !$0.isHeld && !$0.sendersAtWork.isEmpty }
        books.withLock { books in
            books.hear()
            books.settled(now: clock.now(), hasEnded: worker.hasEnded)
            if worker.hasEnded { return }
            books.settledRoom(
                waitingCount: worker.waitingCount, newcomerCount: worker.newcomerCount)
        }
    }

    /// Waits until senders have handed over their items, or wait for room on a thread that is held.
    private func waitForSenders() {
        let (senders, shownCount) = books.withLock { books in
            (books.sendersAtWork, books.isHeld ? books.shownCount : nil)
        }
        if let shownCount {
            waitUntil { worker.waitingCount + worker.newcomerCount >= shownCount }
        } else {
            for sender in senders where sender.wait() == nil { return }
        }
    }
}
