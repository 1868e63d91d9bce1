// What an item or a watch keeps of its loop: a way to wake it that outlives the loop, a way to reach
// it that does not keep it, and the number of its thread.

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
        /// The system's number for the loop's thread; 0 until the thread has claimed the loop.
        let threadNumber = Atomic<Int32>(0)
        fileprivate(set) weak var loop: ThreadRunLoop?

        init(poller: any Poller) { self.poller = poller }

        /// Says whose link it is; in the loop's initializer.
        func lead(to loop: ThreadRunLoop) { self.loop = loop }
    }
}
