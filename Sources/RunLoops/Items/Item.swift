// The common part of sources, ports, timers and observers: they belong to one loop, are in some of
// its modes, have a place in an order, and can be made invalid from any thread, once and for good.

internal import Glibc
internal import Kernel
internal import Structures
public import Synchronization

extension ThreadRunLoop {
    /// Something that can be put into modes of a run loop: a source, port, timer or observer.
    ///
    /// It is in one loop only. Any thread may put it into another one after it has left its last
    /// mode, and the common modes if it was added to them, be it from inside its own call.
    public class Item: @unchecked Sendable {
        // SAFETY: `valid` is atomic and changes under `lock`, `homes` is guarded by it. Subclasses
        // confine what they add: it is written by the thread that makes the item and then only on
        // the loop's thread.

        /// Smaller ones come first; equal ones in the sequence in which they were added, and ports
        /// on descriptors in that in which the kernel reports them, after those that were
        /// signalled.
        ///
        /// Runs that return after a source take turns at ports of equal order. Timers have none,
        /// and are too many to keep it.
        public var order: Int { 0 }
        @usableFromInline let valid = Atomic<Bool>(true)
        /// Whether it was added to the common modes; on the loop's thread.
        final var isCommon = false
        /// Whether it has left the one mode that `homes` holds, which tells whose it was last.
        ///
        /// Guarded by `lock` as `homes` is.
        private final var hasLeft = false
        /// Guards `homes`, and a timer's date until it is first added.
        ///
        /// The homes change on the loop's thread only, where the lock is needed for changing them
        /// alone.
        private let lock = Mutex<Void>(())
        /// The modes that it is in, all of one loop.
        ///
        /// Looked at on other threads for nothing but their names and their loop's link.
        private var homes: ShortList<ModeState> {
            _read { yield unsafe uncheckedHomes }
            _modify { yield unsafe &uncheckedHomes }
        }
        // SAFETY: that accesses don't overlap is not looked for at run time; nothing is called out
        // to while it is being changed.
        @exclusivity(unchecked) private var uncheckedHomes = ShortList<ModeState>()

        /// Tells of a mode of a loop.
        typealias Notice = @Sendable (ThreadRunLoop, Mode) -> Void

        init() {}

        /// Calls a closure under the item's lock.
        ///
        /// - Blocks: while another thread is in such a closure.
        @inline(__always)
        final func locked<Result>(_ body: () -> Result) -> Result {
            lock.withLock { _ in
                // SAFETY: the result stays on the calling thread.
                nonisolated(unsafe) let result = body()
                return unsafe result
            }
        }

        /// Whether it can still be called; false for ever after `invalidate()`.
        ///
        /// - Thread: any thread.
        @inlinable public final var isValid: Bool { valid.load(ordering: .acquiring) }

        /// The loop that it is in; nil before it was first added and after it left its last mode.
        ///
        /// - Thread: any thread.
        public final var loop: ThreadRunLoop? {
            locked { states.first?.link }?.loop
        }

        /// The modes that it is in.
        ///
        /// - Thread: any thread.
        public final var modes: [Mode] {
            locked { states.map(\.mode) }
        }

        /// Looks for what to call of it, if it has not been in another loop since it was in this
        /// one.
        ///
        /// For a round that has listed it, on the loop's thread, after it has left the mode:
        /// another thread may be about to put it into its own loop, and waits for this look.
        final func ifLastIn<Call>(_ link: LoopLink, _ look: () -> Call?) -> Call? {
            locked { homes.first?.link === link ? look() : nil }
        }

        /// The states of the modes that it is in; on the loop's thread.
        final var states: ShortList<ModeState> { hasLeft ? ShortList() : homes }

        /// Takes it out of all its modes; it is never called again.
        ///
        /// On the loop's own thread it has left when this returns, also if another thread made it
        /// invalid first. On another thread the loop does it in its next pass; a call that has
        /// begun is not waited for, and none begins afterwards.
        ///
        /// - Thread: any thread.
        /// - Blocks: never.
        public final func invalidate() {
            switch locked({ makeInvalid() }) {
            case .again(let home):
                // Another thread's requests to the loop may be on their way, or come too late, if
                // the loop ends.
                if home?.link.loop?.isOnThread == true { depart() }
            case .outside(let last): letGoOutside(last)
            case .leaving(let home):
                if isCommon { home.link.loop?.leaveCommonItems(self) }
                if keepsModeAlive { home.liveCount -= 1 }
                leave(home)
                tell(whenLeft, of: home)
                letGo()
            case .elsewhere(let home):
                // The main thread may have to claim its loop first; a loop without a thread does
                // nothing any more.
                home?.link.loop?.onThread { [self] in depart() }
            }
        }

        /// Where an item is as it becomes invalid, with one of its modes.
        private enum Departure {
            /// It was invalid before.
            case again(ModeState?)
            /// In no loop; it was in this mode last.
            case outside(ModeState?)
            /// In one mode, which it has left, and the caller is that loop's thread.
            case leaving(ModeState)
            /// In several modes, or the caller is another thread.
            case elsewhere(ModeState?)
        }

        /// Marks it as invalid; under the lock.
        private final func makeInvalid() -> Departure {
            guard valid.load(ordering: .relaxed) else { return .again(states.first) }
            valid.store(false, ordering: .releasing)
            // Left as it is: the loop that it was in looks at it without the lock.
            if hasLeft || homes.isEmpty { return .outside(homes.first) }
            // By far most often it is in one mode, and the caller is that loop's own thread. Only
            // there may the mode be moved out, which saves a reference: the loop looks without the
            // lock.
            let isOnLoopThread =
                homes.first.map { $0.link.thread.load(ordering: .relaxed) == pthread_self() }
            guard isOnLoopThread == true, let home = homes.takeOnly() else {
                return .elsewhere(homes.first)
            }
            settled(in: nil)
            return .leaving(home)
        }

        /// Lets go of what it would have called while it is in no loop.
        ///
        /// It was made invalid: no loop takes it any more. The one that it was in may be calling
        /// it.
        private final func letGoOutside(_ last: ModeState?) {
            guard let loop = last?.link.loop else { return letGo() }
            // One that has ended calls nothing any more, and one that ends looks at nothing that
            // has left it.
            if !loop.onThread({ [self] in letGo() }) { letGo() }
        }

        /// Leaves the modes that it is in still, being invalid; on the loop's thread.
        private final func depart() {
            // None: it has left by itself meanwhile.
            guard let home = states.first else { return letGo() }
            if isCommon { home.link.loop?.leaveCommonItems(self) }
            for state in states { part(from: state) }
            letGo()
        }

        /// Puts it into a mode, and notes it.
        final func join(_ state: ModeState, of loop: ThreadRunLoop) throws(SystemError) {
            // Kept until the lock is given back.
            var left: ModeState?
            defer { withExtendedLifetime(left) {} }
            guard locked({ noteJoining(state, of: loop, left: &left) }) else { return }
            if keepsModeAlive { state.liveCount += 1 }
            do throws(SystemError) {
                try enter(state, of: loop)
            } catch {
                forget(state)
                throw error
            }
            // Made invalid meanwhile by a thread that could not yet see in which loop it is.
            if !isValid { part(from: state) }
        }

        /// Notes a mode that it enters; under the lock.
        ///
        /// - Parameter left: the mode that it was in last, if it has left that.
        /// - Returns: false when it is invalid, or in that mode already.
        private final func noteJoining(
            _ state: ModeState, of loop: ThreadRunLoop, left: inout ModeState?
        ) -> Bool {
            // Asked under the lock: a thread that makes it invalid while it is in no loop lets go
            // of its callouts.
            guard valid.load(ordering: .relaxed) else { return false }
            left = hasLeft ? homes.takeOnly() : nil
            hasLeft = false
            // Under the lock: where it is wrongly in another loop, that one's thread changes both.
            if let home = homes.first {
                require(
                    home.link === loop.link,
                    "an item can be in one run loop only; this one is in another thread's")
                if homes.contains(where: { $0 === state }) { return false }
            } else {
                settled(in: state.link)
            }
            homes.append(state)
            return true
        }

        /// Takes it out of a mode, if it is there.
        ///
        /// All that this thread does to it comes before it is known to have left its last mode:
        /// from then on it may be another thread's, which puts it into its own loop, or lets go of
        /// what it would call.
        final func part(from state: ModeState) {
            guard isIn(state) else { return }
            let notice = whenLeft
            leave(state)
            let isOver = forget(state)
            tell(notice, of: state)
            if isOver { letGo() }
        }

        /// Whether it is in a mode; on that mode's thread, also if it is another loop's by now.
        final func isIn(_ state: ModeState) -> Bool {
            locked { states.contains { $0 === state } }
        }

        /// Notes that it is no longer in a mode in which it was.
        ///
        /// - Returns: whether that was the last one of an item that had been made invalid before:
        ///   that thread has asked the loop to let go of it, which comes too late for one that
        ///   ends.
        @discardableResult
        private func forget(_ state: ModeState) -> Bool {
            let isOver = locked {
                if homes.count == 1 {
                    hasLeft = true
                    settled(in: nil)
                } else {
                    homes.removeFirst { $0 === state }
                }
                return hasLeft && !valid.load(ordering: .relaxed)
            }
            if keepsModeAlive { state.liveCount -= 1 }
            return isOver
        }

        private func tell(_ notice: Notice?, of state: ModeState) {
            guard let notice, let loop = state.link.loop else { return }
            notice(loop, state.mode)
        }

        /// Whether a run in one of its modes goes on for it.
        var keepsModeAlive: Bool { true }

        /// Told in which loop it is from now on, or that it is in none; under the item's lock.
        func settled(in link: LoopLink?) {}

        /// Enters a mode as this kind of item does; on the loop's thread.
        func enter(_ state: ModeState, of loop: ThreadRunLoop) throws(SystemError) {}

        /// Leaves a mode as this kind of item does, but for `whenLeft`; on the loop's thread.
        func leave(_ state: ModeState) {}

        /// The closure called when it has left a mode; on the loop's thread.
        var whenLeft: Notice? { nil }

        /// Lets go of what it would have called, and so of all that this held; on the loop's
        /// thread.
        func letGo() {}
    }
}

extension ShortList where Element: ThreadRunLoop.Item {
    /// Inserts behind everything of the same or a smaller order.
    mutating func insertByOrder(_ item: Element) {
        let index = lastIndex { $0.order <= item.order }.map { $0 + 1 } ?? 0
        insert(item, at: index)
    }

    mutating func remove(_ item: Element) {
        removeFirst { $0 === item }
    }
}
