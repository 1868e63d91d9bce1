// Loops are played with at random, and their items moved between them, and all has to keep the
// promises of the documentation at every moment.

import Kernel
import RunLoops
import RunLoopsTesting
import Support
import Synchronization

/// One random life of a few loops.
final class MovingGame: Sendable {
    let clock = ManualClock()
    let loops: [PlayedLoop]
    let isCalm: Bool
    let books: Mutex<MovingBooks>

    private init(loopCount: Int, isCalm: Bool) throws {
        let clock = clock
        self.isCalm = isCalm
        loops = try (0..<loopCount).map { try PlayedLoop($0, clock: clock) }
        books = Mutex(MovingBooks(loopCount: loopCount))
    }

    /// Plays a program with loops of its own.
    ///
    /// - Parameters:
    ///   - program: the moves.
    ///   - loopCount: how many loops there are.
    ///   - isCalm: whether one thread makes the moves, and waits after each until all loops sleep;
    ///     else two make every second one each, and wait for nothing.
    /// - Returns: the promises that were broken; none, if all is well.
    static func play(_ program: [Move], loopCount: Int, isCalm: Bool) throws -> [String] {
        let end = try finished(program, loopCount: loopCount, isCalm: isCalm)
        var faults = end.faults
        if end.game.object != nil { faults.append("the game is held") }
        for (index, loop) in end.loops.enumerated() where loop.object != nil {
            faults.append("loop \(index) is held")
        }
        for (index, item) in end.items.enumerated() where item.object != nil {
            faults.append("item \(index) is held")
        }
        for (index, token) in end.tokens.enumerated() where token.object != nil {
            faults.append("what \(index) calls is held")
        }
        return faults
    }

    /// The rest of a game when all its threads have ended.
    private struct End {
        var faults: [String]
        var game: WeakReference<MovingGame>
        var loops: [WeakReference<ThreadRunLoop>]
        var items: [WeakReference<ThreadRunLoop.Item>]
        var tokens: [WeakReference<Token>]
    }

    private static func finished(
        _ program: [Move], loopCount: Int, isCalm: Bool
    ) throws -> End {
        let game = try MovingGame(loopCount: loopCount, isCalm: isCalm)
        if isCalm {
            for move in program {
                game.play(move)
                try game.settle(after: "\(move)")
            }
        } else {
            let half = program.indices.filter { $0 % 2 == 0 }.map { program[$0] }
            let other = program.indices.filter { $0 % 2 == 1 }.map { program[$0] }
            let thread = try TestThread(name: "outside") { for move in other { game.play(move) } }
            for move in half {
                game.play(move)
                // The others go on meanwhile: nothing is certain then.
                if move == .settle { try game.waitForRest(after: "\(move)") }
            }
            thread.join()
            try game.settle(after: "all")
        }
        return game.end()
    }

    private func end() -> End {
        for loop in loops { loop.end() }
        for loop in loops { loop.join() }
        let faults = books.withLock { books in
            for (index, item) in books.items.enumerated() {
                if item.item.loop != nil { books.fault("\(index) is in a loop that has ended") }
                if !item.modes.isEmpty && !item.isInvalid && item.item.isValid && isCalm {
                    books.fault("\(index) is valid though its loop has ended")
                }
                if !item.item.isValid && item.token.object != nil {
                    books.fault("\(index) \(item.kind) is invalid, and holds what it called")
                }
                for (key, count) in item.scheduled where count != 0 {
                    books.fault("\(index) is scheduled in \(key) at the end")
                }
            }
            return books.faults
        }
        let (items, timeouts) = books.withLock { books in
            defer { (books.items, books.timeouts) = ([], []) }
            return (books.items, books.timeouts)
        }
        return End(
            faults: faults, game: WeakReference(self),
            loops: loops.map { WeakReference($0.loop) },
            items: items.map { WeakReference($0.item) },
            tokens: items.map(\.token) + timeouts.map(\.token))
    }

    /// The number of the loop whose thread calls.
    var here: Int? { loops.firstIndex { $0.loop.isOnThread } }

    private func settle(after what: String) throws {
        try waitForRest(after: what)
        checkAtRest(after: what)
    }

    private func waitForRest(after what: String) throws {
        let limit = SystemClock().now().advanced(by: .seconds(20))
        while !isSettled {
            guard SystemClock().now() < limit else {
                throw Unexpected(
                    "busy after \(what): "
                        + "\(loops.map { ($0.isOver, $0.isAtRest, $0.loop.counters) }) "
                        + "\(books.withLock { $0.faults })")
            }
            SystemThread.yield()
        }
    }

    /// Whether all loops sleep: each did at some moment since which none has made a pass.
    private var isSettled: Bool {
        let passes = loops.map(\.loop.counters.passCount)
        guard loops.allSatisfy(\.isAtRest), !books.withLock({ $0.isAnyReady(loops) }) else {
            return false
        }
        for loop in loops { loop.joinIfOver() }
        return loops.allSatisfy(\.isAtRest) && loops.map(\.loop.counters.passCount) == passes
    }

    private func checkAtRest(after what: String) {
        checkTimeoutsAtRest(after: what)
        for (index, loop) in loops.enumerated() where loop.loop.runningCallout != nil {
            books.withLock { $0.fault("after \(what): loop \(index) calls something at rest") }
        }
        let count = books.withLock { $0.items.count }
        for index in 0..<count {
            let item = books.withLock { $0.items[index] }
            let name = "after \(what): \(index) \(item.kind)"
            let (loop, modes) = (item.item.loop, item.item.modes)
            func fault(_ text: String) { books.withLock { $0.fault("\(name) \(text)") } }
            if item.callDepth != 0 { fault("is being called at rest") }
            if let owner = item.owner, let loop, loops[owner].loop !== loop {
                fault("is elsewhere")
            }
            if (loop == nil) != modes.isEmpty { fault("is in \(modes) of \(loop as Any)") }
            if !item.item.isValid {
                if loop != nil { fault("is invalid and in \(modes)") }
                if item.token.object != nil { fault("is invalid and holds") }
            }
            guard let owner = item.owner else {
                if loop != nil { fault("is nobody's and in a loop") }
                continue
            }
            let scheduled = item.scheduled.filter { $0.value == 1 }.map(\.key).sorted()
            if item.kind.isSource, scheduled != modes.map({ "\($0) of \(owner)" }).sorted() {
                fault("is scheduled in \(scheduled), and in \(modes) of \(owner)")
            }
            if loops[owner].isOver { continue }
            if isCalm {
                let expected = item.isInvalid || !item.item.isValid ? [] : item.modes
                if Set(modes) != Set(expected) { fault("is in \(modes), not in \(expected)") }
                if item.isInvalid == item.item.isValid { fault("valid: \(item.item.isValid)") }
            }
            guard item.item.isValid, modes.contains(loops[owner].mode) else { continue }
            if let signalled = item.item as? ThreadRunLoop.SignalledItem, signalled.isSignalled {
                fault("is signalled and not called")
            }
            guard let timer = item.item as? ThreadRunLoop.Timer else { continue }
            // No thread changes it now; that its own sleeps was seen, and so is what it did before.
            if timer.fireDate <= clock.now() { fault("is due and not called") }
        }
    }
}
