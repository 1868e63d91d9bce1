// The link of an item or a watch to its loop: a way to wake it that outlives the loop, a way to
// reach it that does not keep it, and the numbers of its thread.

internal import Glibc
internal import Kernel
internal import Synchronization

extension ThreadRunLoop {
    /// A loop as its items see it; one for each loop.
    ///
    /// The weak reference is here, once, and not in each item: a weak reference costs more than
    /// everything else that an item does when it enters a mode.
    final class LoopLink: @unchecked Sendable {
        // SAFETY: `loop` is written in the loop's initializer only; a weak reference may be read
        // on any thread.
        let poller: any Poller
        /// Tells this loop's time-outs from those of another.
        let number = LoopLink.lastNumber.wrappingAdd(1, ordering: .relaxed).newValue
        /// Publishes nothing.
        private static let lastNumber = Atomic<UInt32>(0)
        /// The system's number for the loop's thread; 0 until the thread has claimed the loop.
        let threadNumber = Atomic<Int32>(0)
        /// The loop's thread as the C library names it; `unclaimed` or `noThread` without one.
        ///
        /// A thread that reads its own number has written it; others can only see that it is not
        /// theirs.
        let thread: Atomic<pthread_t>
        /// In `thread` while the main thread has not yet claimed its loop.
        static var unclaimed: pthread_t { 0 }
        /// In `thread` while a loop is furnished that is yet to be claimed, and after its end: the
        /// system reuses the numbers of ended threads.
        static var noThread: pthread_t { pthread_t.max }
        fileprivate(set) weak var loop: ThreadRunLoop?

        init(poller: any Poller, thread: pthread_t) {
            self.poller = poller
            self.thread = Atomic(thread)
        }

        /// Says whose link it is; in the loop's initializer.
        func lead(to loop: ThreadRunLoop) { self.loop = loop }
    }
}
