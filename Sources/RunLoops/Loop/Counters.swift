// Counts of events in a loop so far, counted by its own thread, read by any.
//
// Each number has one writer, so counting is a load and a store: no locked instruction, and nothing
// that a reader does disturbs the loop. They publish nothing: all accesses are relaxed, and a
// reader may see one number before another.

internal import Synchronization

extension ThreadRunLoop {
    /// How often a loop did what, since it was made.
    public struct Counters: Sendable, Equatable {
        /// Passes made.
        public internal(set) var passCount: UInt64 = 0
        /// Times it went to sleep.
        public internal(set) var sleepCount: UInt64 = 0
        /// Sleeps that a wake-up ended; the others ended by a descriptor or a deadline.
        public internal(set) var wakeUpCount: UInt64 = 0
        /// Custom sources performed.
        public internal(set) var sourceCount: UInt64 = 0
        /// Ports handled.
        public internal(set) var portCount: UInt64 = 0
        /// Timers fired.
        public internal(set) var timerCount: UInt64 = 0
        /// Blocks run.
        public internal(set) var blockCount: UInt64 = 0
    }
}

/// A number that one thread counts up.
struct Count: ~Copyable, Sendable {
    private let stored = Atomic<UInt64>(0)

    /// Adds one; on the one thread that counts.
    func increment() { stored.store(stored.load(ordering: .relaxed) &+ 1, ordering: .relaxed) }

    /// The number; on any thread.
    var value: UInt64 { stored.load(ordering: .relaxed) }
}

/// The counters of a loop where its thread counts.
struct Counts: ~Copyable, Sendable {
    let passes = Count()
    let sleeps = Count()
    let wakeUps = Count()
    let sources = Count()
    let ports = Count()
    let timers = Count()
    let blocks = Count()

    var all: ThreadRunLoop.Counters {
        var counters = ThreadRunLoop.Counters()
        counters.passCount = passes.value
        counters.sleepCount = sleeps.value
        counters.wakeUpCount = wakeUps.value
        counters.sourceCount = sources.value
        counters.portCount = ports.value
        counters.timerCount = timers.value
        counters.blockCount = blocks.value
        return counters
    }
}
