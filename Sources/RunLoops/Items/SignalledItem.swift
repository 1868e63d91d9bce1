// The common part of custom sources and ports: any thread signals them, and may wake their loop for
// it.
//
// SignalledItem.E1 no lost signal
//    signal: signalled.store(true), then home.load
//    settled: home.store, then enter's look at `isSignalled`
//    Sequentially consistent: either the signal sees the loop and can wake it, or the item that
//    enters sees that it was signalled before.

internal import Kernel
internal import Structures
public import Synchronization

extension ThreadRunLoop {
    /// An item that any thread can signal.
    public class SignalledItem: Item, @unchecked Sendable {
        // SAFETY: everything in it is atomic, or immutable.

        public override final var order: Int { place }
        private let place: Int
        /// Where it was made, which is told of its callouts while its loop is measured.
        final let madeAt: CodeLocation
        @usableFromInline let signalled = Atomic<Bool>(false)
        /// Where a wake-up has to go, without a lock.
        private let home = Atomic<Home>(.none)
        /// The first loop that it was ever in.
        private let firstLink = SetOnce<LoopLink>()

        private enum Home: UInt8, AtomicRepresentable {
            /// It is in no loop.
            case none
            /// It is in the first loop that it was ever in.
            case first
            /// It is in another one: the lock knows which.
            case later
        }

        init(order: Int, madeAt: CodeLocation) {
            place = order
            self.madeAt = madeAt
            super.init()
        }

        /// Whether it was signalled and has not been called since.
        ///
        /// - Thread: any thread.
        @inlinable public final var isSignalled: Bool {
            signalled.load(ordering: .sequentiallyConsistent)
        }

        final func setSignalled() { signalled.store(true, ordering: .sequentiallyConsistent) }

        /// Takes the signal back, of which nothing is left to do; on the loop's thread.
        ///
        /// Before the last look at what there is to do, so that a signal for something new stays.
        package final func takeBackSignal() { _ = takeSignal() }

        /// Takes the signal; on the loop's thread.
        ///
        /// - Returns: whether there was one.
        final func takeSignal() -> Bool {
            guard isSignalled else { return false }
            return signalled.exchange(false, ordering: .sequentiallyConsistent)
        }

        /// Wakes the loop that it is in, if any.
        ///
        /// - Thread: any thread; takes no lock.
        final func wakeLoop() {
            switch home.load(ordering: .sequentiallyConsistent) {
            case .none: break
            case .first: firstLink.load()?.poller.wake()
            case .later: loop?.wakeUp()
            }
        }

        override final func settled(in link: LoopLink?) {
            guard let link else { return home.store(.none, ordering: .sequentiallyConsistent) }
            let first = firstLink.load() ?? firstLink.storeIfNil(link)
            home.store(first === link ? .first : .later, ordering: .sequentiallyConsistent)
        }
    }
}
