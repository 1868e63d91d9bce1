// What happened in a loop so far, counted by its own thread.

extension ThreadRunLoop {
    /// How often a loop did what, since it was made.
    public struct Counters: Sendable, Equatable {
        /// Passes made.
        public internal(set) var passCount: UInt64 = 0
        /// Times it went to sleep.
        public internal(set) var sleepCount: UInt64 = 0
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
