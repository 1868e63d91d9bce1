// What sources, ports, timers and observers share: they belong to one loop, are in some of its
// modes, have a place in an order, and can be made invalid from any thread, once and for good.

internal import Kernel
internal import Synchronization

extension ThreadRunLoop {
    /// Something that can be put into modes of a run loop: a source, port, timer or observer.
    public class Item: @unchecked Sendable {
        // SAFETY: `valid` and `whereabouts` are safe from any thread. Subclasses confine what they
        // add: it is written by the thread that makes the item and then only on the loop's thread.

        private struct Whereabouts {
            weak var loop: ThreadRunLoop?
            var modes: [Mode] = []
        }

        /// Smaller ones come first; equal ones in the sequence in which they were added.
        public let order: Int
        private let valid = Atomic<Bool>(true)
        private let whereabouts = Mutex(Whereabouts())
        /// Where a wake-up has to go, without the lock; follows `whereabouts`.
        private let home = Atomic<Home>(.none)
        /// Wakes the first loop that it was in.
        private let firstWaker = AtomicLazyReference<Waker>()

        /// Whose waker to use.
        private enum Home: UInt8, AtomicRepresentable {
            /// It is in no loop.
            case none
            /// It is in the first loop that it was ever in.
            case first
            /// It is in another one: the lock knows which.
            case later
        }

        /// A loop's way to be woken, which outlives the loop.
        private final class Waker: Sendable {
            let poller: any Poller

            init(_ poller: any Poller) { self.poller = poller }
        }

        init(order: Int) {
            self.order = order
        }

        /// Whether it can still be called; false for ever after `invalidate()`.
        ///
        /// - Thread: any thread.
        public final var isValid: Bool { valid.load(ordering: .acquiring) }

        /// The loop that it is in; nil before it was first added and after it left its last mode.
        ///
        /// - Thread: any thread.
        public final var loop: ThreadRunLoop? { whereabouts.withLock { $0.loop } }

        /// The modes that it is in.
        ///
        /// - Thread: any thread.
        public final var modes: [Mode] { whereabouts.withLock { $0.modes } }

        /// Takes it out of all its modes; it is never called again.
        ///
        /// On the loop's own thread it has left when this returns. On another thread the loop does
        /// it in its next pass; a call that has begun is not waited for, and none begins afterwards.
        ///
        /// - Thread: any thread.
        /// - Blocks: never.
        public final func invalidate() {
            guard valid.exchange(false, ordering: .acquiringAndReleasing) else { return }
            guard let loop else { return }
            loop.onThread { [self] in
                loop.removeEverywhere(self)
                letGo()
            }
        }

        /// Wakes the loop that it is in, if any.
        ///
        /// - Thread: any thread; takes no lock.
        final func wakeLoop() {
            switch home.load(ordering: .sequentiallyConsistent) {
            case .none: break
            case .first: firstWaker.load()?.poller.wake()
            case .later: loop?.wakeUp()
            }
        }

        /// Puts it into a mode, and notes it.
        final func join(_ state: ModeState, of loop: ThreadRunLoop) throws(SystemError) {
            let isNew = whereabouts.withLock { whereabouts in
                precondition(
                    whereabouts.loop == nil || whereabouts.loop === loop,
                    "an item can be in one run loop only; this one is in another thread's")
                if whereabouts.modes.contains(state.mode) { return false }
                whereabouts.loop = loop
                whereabouts.modes.append(state.mode)
                let waker = firstWaker.storeIfNil(Waker(loop.poller))
                // What is signalled from now on wakes this loop; what was signalled before, the
                // item looks for when it enters the mode.
                home.store(
                    waker.poller === loop.poller ? .first : .later,
                    ordering: .sequentiallyConsistent)
                return true
            }
            guard isNew else { return }
            do throws(SystemError) {
                try enter(state, of: loop)
            } catch {
                forget(state.mode)
                throw error
            }
            // Made invalid meanwhile by a thread that could not yet see in which loop it is.
            if !isValid { part(from: state, of: loop) }
        }

        /// Takes it out of a mode, if it is there.
        final func part(from state: ModeState, of loop: ThreadRunLoop) {
            guard forget(state.mode) else { return }
            leave(state, of: loop)
        }

        @discardableResult
        private func forget(_ mode: Mode) -> Bool {
            whereabouts.withLock { whereabouts in
                guard let index = whereabouts.modes.firstIndex(of: mode) else { return false }
                whereabouts.modes.remove(at: index)
                if whereabouts.modes.isEmpty {
                    whereabouts.loop = nil
                    home.store(.none, ordering: .sequentiallyConsistent)
                }
                return true
            }
        }

        /// What entering a mode means for this kind; on the loop's thread.
        func enter(_ state: ModeState, of loop: ThreadRunLoop) throws(SystemError) {}

        /// What leaving a mode means for this kind; on the loop's thread.
        func leave(_ state: ModeState, of loop: ThreadRunLoop) {}

        /// Lets go of what it would have called, and so of all that this held; on the loop's thread.
        func letGo() {}
    }
}

extension Array where Element: ThreadRunLoop.Item {
    /// Inserts behind everything of the same or a smaller order.
    mutating func insertByOrder(_ item: Element) {
        let index = lastIndex { $0.order <= item.order }.map { $0 + 1 } ?? 0
        insert(item, at: index)
    }

    mutating func remove(_ item: Element) {
        removeAll { $0 === item }
    }
}
