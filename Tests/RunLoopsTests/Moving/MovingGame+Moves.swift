// The effects of the moves of a moving game.

import Kernel
import RunLoops
import RunLoopsTesting
import Support
import Synchronization

extension MovingGame {
    func play(_ move: Move) {
        switch move {
        case .make(let kind, let moves): make(kind, moves)
        case .add(let item, let loop, let mode):
            withItem(item) { add($0, to: mode, of: loop % loops.count) }
        case .remove(let item, let mode): withItem(item) { remove($0, from: mode) }
        case .carry(let item, let loop, let mode):
            withItem(item) { takeOut($0, to: (mode, loop % loops.count)) }
        case .free(let item): withItem(item) { takeOut($0, to: nil) }
        case .invalidate(let item): withItem(item) { invalidate($0) }
        case .signal(let item): withItem(item) { signal($0) }
        case .setDate(let item, let milliseconds): withItem(item) { setDate($0, milliseconds) }
        case .listen(let item, let isOn): withItem(item) { listen($0, isOn) }
        case .schedule(let loop, let mode, let milliseconds, let moves):
            schedule(on: loop % loops.count, mode, milliseconds, moves)
        case .cancelTimeout(let timeout): withTimeout(timeout) { cancelTimeout($0) }
        case .postpone(let timeout, let milliseconds):
            withTimeout(timeout) { postpone($0, milliseconds) }
        case .measure(let loop, let isOn): loops[loop % loops.count].loop.isMeasured = isOn
        case .perform(let loop, let moves):
            loops[loop % loops.count].loop.perform(inModes: PlayedLoop.modes) { [self] in
                for move in moves { play(move) }
            }
        case .nest(let mode):
            if let here { loops[here].loop.run(mode: mode, until: .distantPast) }
        case .stop(let loop): loops[loop % loops.count].loop.stop()
        case .turn(let loop): loops[loop % loops.count].turn()
        case .makeCommon(let loop, let mode): makeCommon(mode, of: loop % loops.count)
        case .end(let loop): loops[loop % loops.count].end()
        case .advance(let milliseconds): clock.advance(by: .milliseconds(milliseconds))
        case .settle: break
        }
    }

    private func withItem(_ number: Int, _ body: (Int) -> Void) {
        if let place = books.withLock({ $0.place(number) }) { body(place) }
    }

    private func make(_ kind: MovedItem.Kind, _ moves: [Move]) {
        let token = Token()
        books.withLock { books in
            let number = books.items.count
            guard number < 40 else { return }
            let bell = kind == .watcher ? try? Bell() : nil
            let called: @Sendable () -> Void = { [self] in
                withExtendedLifetime(token) { call(number) }
            }
            let item: ThreadRunLoop.Item =
                switch kind {
                case .source, .enteringSource, .leavingSource:
                    ThreadRunLoop.Source(
                        order: number % 3,
                        schedule: { [self] in scheduled(number, $0, $1, 1) },
                        cancel: { [self] in scheduled(number, $0, $1, -1) }, perform: called)
                case .port: ThreadRunLoop.Port(order: number % 3) { _, _ in called() }
                case .watcher:
                    ThreadRunLoop.Port(watching: bell?.descriptor ?? 0, order: number % 3) { _, _ in
                        bell?.silence()
                        called()
                    }
                case .timer:
                    ThreadRunLoop.Timer(after: .milliseconds(number % 3)) { _ in called() }
                case .repeatingTimer:
                    ThreadRunLoop.Timer(
                        after: .milliseconds(number % 3), every: .milliseconds(2)
                    ) { _ in called() }
                case .observer: ThreadRunLoop.Observer(order: number % 3) { _, _ in called() }
                case .onceObserver:
                    ThreadRunLoop.Observer(
                        [.beforeSources, .beforeWaiting, .afterWaiting], repeats: false,
                        order: number % 3
                    ) { _, _ in called() }
                }
            books.items.append(
                MovedItem(
                    kind: kind, item: item, bell: bell, token: WeakReference(token), moves: moves))
        }
    }

    private func call(_ number: Int) {
        let here = here
        let moves = books.withLock { $0.begin(number, on: here) }
        for move in moves { play(move) }
        books.withLock { books in
            books.end(number)
            let kind = books.items[number].kind
            if kind == .timer || kind == .onceObserver { books.items[number].isInvalid = true }
        }
    }

    private func scheduled(
        _ number: Int, _ loop: ThreadRunLoop, _ mode: ThreadRunLoop.Mode, _ step: Int
    ) {
        let index = loops.firstIndex { $0.loop === loop }
        if !loop.isOnThread { books.withLock { $0.fault("\(number) scheduled elsewhere") } }
        let moves = books.withLock { $0.noteScheduled(number, in: mode, of: index, by: step) }
        for move in moves { play(move) }
    }

    /// Does something on a loop's thread, now if it is this one.
    func on(_ loop: Int, _ body: @escaping @Sendable () -> Void) {
        if here == loop { return body() }
        loops[loop].loop.perform(inModes: PlayedLoop.modes, body)
    }

    private func add(_ number: Int, to mode: ThreadRunLoop.Mode, of loop: Int) {
        let isClaimed = books.withLock { books in
            guard books.claim(number, for: loop) else { return false }
            books.items[number].pendingCount += 1
            return true
        }
        if isClaimed { addClaimed(number, to: mode, of: loop) }
    }

    private func addClaimed(_ number: Int, to mode: ThreadRunLoop.Mode, of loop: Int) {
        let (item, kind) = books.withLock { ($0.items[number].item, $0.items[number].kind) }
        let isHere = here == loop
        // Steps of several loops at once are noted where they are done, if the game is calm.
        let isDoneThere = isHere || kind == .watcher || (isCalm && here != nil)
        if isDoneThere {
            on(loop) { [self] in
                if isCalm { books.withLock { $0.noteAdd(number, to: mode, of: loop) } }
                put(item, into: mode, of: loop)
                books.withLock { $0.items[number].pendingCount -= 1 }
            }
        } else {
            if isCalm && !loops[loop].isOver {
                books.withLock { $0.noteAdd(number, to: mode, of: loop) }
            }
            put(item, into: mode, of: loop)
            on(loop) { [self] in books.withLock { $0.items[number].pendingCount -= 1 } }
        }
    }

    private func put(
        _ item: ThreadRunLoop.Item, into mode: ThreadRunLoop.Mode, of loop: Int
    ) {
        let loop = loops[loop].loop
        switch item {
        case let item as ThreadRunLoop.Source:
            loop.add(item, to: mode)
            // One that was signalled in no loop could wake none, and this may be its last callout
            // before it sleeps.
            if item.isSignalled { loop.wakeUp() }
        case let item as ThreadRunLoop.Timer: loop.add(item, to: mode)
        case let item as ThreadRunLoop.Observer: loop.add(item, to: mode)
        case let item as ThreadRunLoop.Port:
            do { try loop.add(item, to: mode) } catch {
                books.withLock { $0.fault("a port is refused: \(error)") }
            }
        default: break
        }
    }

    private func remove(_ number: Int, from mode: ThreadRunLoop.Mode) {
        let (item, owner) = books.withLock { books in
            (
                books.items[number].item,
                books.items[number].isLeaving ? nil : books.items[number].owner
            )
        }
        guard let owner else { return }
        if isCalm {
            on(owner) { [self] in
                let isOurs = books.withLock { books in
                    guard books.items[number].owner == owner, !books.items[number].isLeaving
                    else { return false }
                    books.noteRemove(number, from: mode, of: owner)
                    return true
                }
                if isOurs { loops[owner].loop.remove(item, from: mode) }
            }
        } else {
            // It may be another loop's by the time that the request is done: then nothing is.
            loops[owner].loop.remove(item, from: mode)
        }
    }

    /// Takes an item out of its loop, on that one's thread, and gives it to another or to none.
    private func takeOut(_ number: Int, to target: (mode: ThreadRunLoop.Mode, loop: Int)?) {
        guard let owner = books.withLock({ $0.items[number].owner }) else {
            if let target { add(number, to: target.mode, of: target.loop) }
            return
        }
        on(owner) { [self] in
            let item: ThreadRunLoop.Item? = books.withLock { books in
                let item = books.items[number]
                guard item.owner == owner, item.pendingCount == 0, !item.isLeaving else {
                    return nil
                }
                books.items[number].isLeaving = true
                // One of the last callouts of a loop, whose end made it invalid.
                if loops[owner].isOver && !item.item.isValid {
                    books.items[number].isInvalid = true
                }
                return item.item
            }
            guard let item else { return }
            let loop = loops[owner].loop
            loop.remove(item, from: .common)
            for mode in item.modes { loop.remove(item, from: mode) }
            let isOut = item.loop == nil && item.modes.isEmpty
            books.withLock { books in
                if !isOut { books.fault("\(number) is in a loop that it has left") }
                books.items[number].isLeaving = false
                books.items[number].modes = []
                books.items[number].isCommon = false
                books.items[number].owner = nil
                guard let target else { return }
                books.give(number, to: target.loop)
                books.items[number].pendingCount += 1
            }
            if let target { addClaimed(number, to: target.mode, of: target.loop) }
        }
    }

    private func invalidate(_ number: Int) {
        let (item, owner) = books.withLock { books in
            books.items[number].isInvalid = true
            return (books.items[number].item, books.items[number].owner)
        }
        let isOnItsThread = owner.map { $0 == here && item.loop === loops[$0].loop } ?? false
        item.invalidate()
        if item.isValid { books.withLock { $0.fault("\(number) is valid still") } }
        guard isOnItsThread else { return }
        books.withLock { $0.items[number].isDead = true }
        if item.loop != nil { books.withLock { $0.fault("\(number) has not left") } }
    }

    private func signal(_ number: Int) {
        let item = books.withLock { $0.items[number] }
        switch item.item {
        case let source as ThreadRunLoop.Source: source.signalAndWake()
        case let port as ThreadRunLoop.Port:
            if let bell = item.bell { bell.ring() } else { port.signal() }
        default: break
        }
    }

    private func setDate(_ number: Int, _ milliseconds: Int) {
        let (item, owner) = books.withLock { ($0.items[number].item, $0.items[number].owner) }
        guard let timer = item as? ThreadRunLoop.Timer, let owner else { return }
        on(owner) { [self] in
            // In no loop it might be another thread's.
            guard timer.loop === loops[owner].loop else { return }
            timer.fireDate = clock.now().advanced(by: .milliseconds(milliseconds))
        }
    }

    private func listen(_ number: Int, _ isOn: Bool) {
        let (item, owner, kind) = books.withLock { books in
            (books.items[number].item, books.items[number].owner, books.items[number].kind)
        }
        guard kind == .watcher, let port = item as? ThreadRunLoop.Port, let owner else { return }
        on(owner) { [self] in
            // In no loop it might be another thread's.
            guard port.loop === loops[owner].loop else { return }
            books.withLock { $0.items[number].isDeaf = !isOn }
            port.interest = isOn ? .readable : []
        }
    }

    private func makeCommon(_ mode: ThreadRunLoop.Mode, of loop: Int) {
        on(loop) { [self] in
            if isCalm { books.withLock { $0.noteCommon(mode, of: loop) } }
            loops[loop].loop.addCommonMode(mode)
        }
    }
}
