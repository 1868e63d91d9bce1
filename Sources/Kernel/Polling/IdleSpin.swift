// Spinning: whether a thread without work looks for more for a moment before it sleeps.
//
// Putting a processor to sleep and waking it up costs several times the thread's own switch, most
// of all on a virtual machine (`Scripts/bench wake`). A thread that gets work again within that
// time slept in vain. So it looks instead, but only while that pays. The latest gap between two
// pieces of work decides, as in the kernel's haltpoll governor for idle virtual processors.

internal import Synchronization

/// How long a thread looks for work before it sleeps, and whether that pays at the moment.
///
/// The limit bounds the vain looking, once for each burst of work: one gap that is longer ends the
/// looking, one that is not begins it again.
///
/// - Thread: any thread may make it; the rest is its owner's.
/// - Source: the kernel's documentation, virt/guest-halt-polling; sched_getaffinity(2).
package struct IdleSpin: ~Copyable, Sendable {
    /// The longest look, in nanoseconds; 0: there is none.
    private let limit: Int64
    /// Whether the latest piece of work came within the limit.
    private let pays = Atomic<Bool>(false)

    /// - Parameters:
    ///   - limit: nothing is looked for longer.
    ///   - processorCount: on how many the threads may run; nil for what the kernel says. With one
    ///     alone nothing is looked for: it would keep from running who brings the work.
    package init(limit: Duration = .zero, processorCount: Int? = nil) {
        let limit = limit.nanosecondsClamped
        let isOn = limit > 0 && (processorCount ?? SystemThread.processorCount) > 1
        self.limit = isOn ? limit : 0
    }

    /// Whether it has to be told of gaps.
    package var isOn: Bool { limit > 0 }

    /// How long to look now, in nanoseconds.
    package var length: Int64 { pays.load(ordering: .relaxed) ? limit : 0 }

    /// Takes note of how long there was nothing to do, whether it was slept through or not.
    package func note(gap nanoseconds: Int64) {
        pays.store(nanoseconds <= limit, ordering: .relaxed)
    }
}
