// What a watchdog says.

public import RunLoops

extension Watchdog {
    /// A callout that takes, or took, longer than its loop's limit.
    public struct Report: Sendable, CustomStringConvertible {
        /// The name of the thread.
        public let thread: String
        /// What was called, where it was posted, and when it began.
        public let callout: ThreadRunLoop.RunningCallout
        /// For how long: until now, or until it was over.
        public let duration: Duration
        /// Whether it is over.
        public let isOver: Bool
        /// Where the thread was while it hung, the innermost function first; empty in the report of
        /// the end, and when the thread did not answer.
        public let backtrace: [String]

        /// A text of several lines for people.
        public var description: String {
            let what = "thread \(thread): \(callout)"
            if isOver { return "watchdog: \(what), is over after \(duration)" }
            let place = backtrace.isEmpty ? ["where it is, it does not say"] : backtrace
            return (["watchdog: \(what), has been running for \(duration)"] + place)
                .joined(separator: "\n    ")
        }
    }
}
