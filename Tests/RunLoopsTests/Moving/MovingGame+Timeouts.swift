// Time-outs of a moving game, which are one loop's from the beginning to the end.

import Kernel
import RunLoops
import RunLoopsTesting
import Support
import Synchronization

extension MovingGame {
    func withTimeout(_ number: Int, _ body: (Int) -> Void) {
        let count = books.withLock { $0.timeouts.count }
        if count > 0 { body(number % count) }
    }

    func schedule(
        on owner: Int, _ mode: ThreadRunLoop.Mode, _ milliseconds: Int, _ moves: [Move]
    ) {
        on(owner) { [self] in
            let token = Token()
            let due = clock.now().advanced(by: .milliseconds(milliseconds))
            let number: Int? = books.withLock { books in
                guard books.timeouts.count < 40 else { return nil }
                books.timeouts.append(
                    MovedTimeout(
                        owner: owner, mode: mode, token: WeakReference(token), due: due,
                        moves: moves))
                return books.timeouts.count - 1
            }
            guard let number else { return }
            let name = loops[owner].loop.schedule(at: due, in: mode) { [self] in
                withExtendedLifetime(token) { callTimeout(number) }
            }
            books.withLock { $0.timeouts[number].name = name }
        }
    }

    private func callTimeout(_ number: Int) {
        let (here, now) = (here, clock.now())
        let moves = books.withLock { books in
            let timeout = books.timeouts[number]
            if here != timeout.owner { books.fault("time-out \(number) is called elsewhere") }
            if timeout.isOver { books.fault("time-out \(number) is called though it is over") }
            if now < timeout.due { books.fault("time-out \(number) is called too early") }
            books.timeouts[number].isCalled = true
            return timeout.moves
        }
        for move in moves { play(move) }
    }

    func cancelTimeout(_ number: Int) {
        onOwner(of: number) { [self] loop, name in
            let isCancelled = loop.cancel(name)
            noteKnown(number, isCancelled)
            guard isCancelled else { return }
            checkForgotten(name, of: number, by: loop)
            books.withLock { books in
                books.timeouts[number].isCancelled = true
                if books.timeouts[number].token.object != nil {
                    books.fault("time-out \(number) is cancelled and held")
                }
            }
        }
    }

    func postpone(_ number: Int, _ milliseconds: Int) {
        onOwner(of: number) { [self] loop, name in
            let due = clock.now().advanced(by: .milliseconds(milliseconds))
            let again = loop.reschedule(name, at: due)
            noteKnown(number, again != nil)
            guard let again else { return }
            checkForgotten(name, of: number, by: loop)
            books.withLock { books in
                books.timeouts[number].name = again
                books.timeouts[number].due = due
            }
        }
    }

    private func onOwner(
        of number: Int, _ body: @escaping @Sendable (ThreadRunLoop, ThreadRunLoop.Timeout) -> Void
    ) {
        let owner = books.withLock { $0.timeouts[number].owner }
        on(owner) { [self] in
            // Not before it was scheduled.
            guard let name = books.withLock({ $0.timeouts[number].name }) else { return }
            body(loops[owner].loop, name)
        }
    }

    /// Notes whether a loop knew a time-out: it does until that is called or cancelled, or the loop
    /// ends.
    private func noteKnown(_ number: Int, _ isKnown: Bool) {
        books.withLock { books in
            let timeout = books.timeouts[number]
            if isKnown && timeout.isOver { books.fault("time-out \(number) is over and known") }
            if !isKnown && !timeout.isOver && !loops[timeout.owner].isOver {
                books.fault("time-out \(number) is not known")
            }
        }
    }

    /// A name that has been used up names nothing, for ever.
    private func checkForgotten(
        _ name: ThreadRunLoop.Timeout, of number: Int, by loop: ThreadRunLoop
    ) {
        if loop.cancel(name) { books.withLock { $0.fault("time-out \(number) has two names") } }
    }

    func checkTimeoutsAtRest(after what: String) {
        let now = clock.now()
        books.withLock { books in
            for (index, timeout) in books.timeouts.enumerated() {
                let loop = loops[timeout.owner]
                if timeout.isOver {
                    if timeout.token.object != nil {
                        books.fault("after \(what): time-out \(index) is over and held")
                    }
                } else if !loop.isOver && timeout.mode == loop.mode && timeout.due <= now {
                    books.fault("after \(what): time-out \(index) is due and not called")
                }
            }
        }
    }
}
