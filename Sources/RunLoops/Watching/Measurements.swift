// Measurements of a loop: values, without a thread or a clock of their own.

public import Kernel
internal import Structures

extension ThreadRunLoop {
    /// A kind of callout of a loop.
    public enum CalloutKind: UInt8, Sendable, Hashable, CustomStringConvertible {
        /// A custom source performs.
        case source = 2
        /// A port is handled.
        case port = 3
        /// A timer fires.
        case timer = 4
        /// An observer is told of an activity.
        case observer = 5
        /// A block that was handed to the loop runs.
        case block = 6
        /// Something that was submitted to a worker thread runs.
        case perform = 7
        /// A step of a task or an actor runs.
        case task = 8
        /// A change to the loop's items that another thread has asked for, `schedule` and `cancel`
        /// of a source among that.
        case change = 9

        /// Its name in a sentence.
        public var description: String {
            switch self {
            case .source: "a source"
            case .port: "a port"
            case .timer: "a timer"
            case .observer: "an observer"
            case .block: "a block"
            case .perform: "a perform"
            case .task: "a step of a task"
            case .change: "a change to the items"
            }
        }
    }

    /// A callout that a loop is in.
    ///
    /// Callouts of a nested run count by themselves: a callout is in the loop's way only for as
    /// long as nothing else is called and the loop does not sleep.
    public struct RunningCallout: Sendable, Equatable, CustomStringConvertible {
        /// The kind of the callout.
        public let kind: CalloutKind
        /// Where it was posted, if it was posted while the loop was measured; of a timer or a
        /// time-out, where it was added or scheduled then; of a source, port or observer, where it
        /// was made, whenever that was.
        public let postedFrom: CodeLocation?
        /// Since when nothing else has happened on the loop's thread, by the loop's clock.
        public let since: Instant

        /// The callout, and where it was posted.
        public var description: String {
            postedFrom.map { "\(kind), posted from \($0)" } ?? "\(kind)"
        }
    }

    /// The callout that kept a loop from everything else for longest.
    public struct LongestCallout: Sendable, Equatable {
        /// The kind of the callout.
        public let kind: CalloutKind
        /// Where it was posted, as of a running callout.
        public let postedFrom: CodeLocation?
        /// For how long.
        public let duration: Duration
    }

    /// How long things waited.
    public struct Latencies: Sendable {
        let histogram: Histogram

        /// How many there were.
        public var count: UInt64 { histogram.count }
        /// The mean; zero if there were none.
        public var mean: Duration { .nanoseconds(histogram.mean) }
        /// The longest, exactly; zero if there were none.
        public var max: Duration { .nanoseconds(histogram.max) }

        /// The duration that so many percent did not exceed, known to one part in 32.
        ///
        /// - Parameter percent: 0…100.
        public func percentile(_ percent: Double) -> Duration {
            require(0...100 ~= percent, "a percentile lies in 0…100, \(percent) does not")
            return .nanoseconds(histogram.percentile(percent))
        }
    }

    /// The figures of a loop, taken while it was measured.
    ///
    /// A callout or a sleep that was under way when measuring was switched off counts to its end.
    /// If it was switched on again before that, only a sleep does: a callout may have run the loop.
    public struct Measurements: Sendable {
        /// Time asleep.
        public let asleep: Duration
        /// Time not asleep.
        public let busy: Duration
        /// The longest callout; nil if there was none.
        public let longestCallout: LongestCallout?
        /// From when something was submitted until it began.
        public let submitToStart: Latencies
    }
}
