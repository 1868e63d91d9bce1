// The small words of a run loop: mode names, activities, and how a run ends.

extension ThreadRunLoop {
    /// The name of a set of sources, ports, timers and observers that are served together.
    ///
    /// A run is always a run in one mode; what is not in that mode waits. Any string makes a mode:
    /// `let tracking: ThreadRunLoop.Mode = "tracking"`.
    ///
    /// - Source: Apple, Threading Programming Guide, "Run Loop Modes".
    public struct Mode: Hashable, Sendable, ExpressibleByStringLiteral, CustomStringConvertible {
        /// The name, compared as strings are: two ways to write the same characters are one name.
        public let name: String

        /// A mode of this name.
        public init(_ name: String) { self.name = name }

        /// A mode of this name.
        public init(stringLiteral name: String) { self.name = name }

        /// The mode for ordinary work.
        public static let `default`: Mode = "default"

        /// Stands for every mode that was declared common; nothing can run in it.
        public static let common: Mode = "common"

        /// The name.
        public var description: String { name }
    }

    /// A step of a run loop, told to observers just before or after it.
    ///
    /// - Source: CFRunLoopActivity; the bits are the same.
    public struct Activity: OptionSet, Hashable, Sendable, CustomStringConvertible {
        /// The bits.
        public let rawValue: UInt8

        /// A set of the given bits.
        public init(rawValue: UInt8) { self.rawValue = rawValue }

        /// A run begins.
        public static let entry = Activity(rawValue: 1 << 0)
        /// A pass begins; timers that are due fire in it.
        public static let beforeTimers = Activity(rawValue: 1 << 1)
        /// Signalled custom sources are about to perform.
        public static let beforeSources = Activity(rawValue: 1 << 2)
        /// The loop is about to sleep.
        public static let beforeWaiting = Activity(rawValue: 1 << 5)
        /// The loop woke up and has not yet looked why.
        public static let afterWaiting = Activity(rawValue: 1 << 6)
        /// A run ends.
        public static let exit = Activity(rawValue: 1 << 7)
        /// Everything there is to be told.
        public static let all: Activity = [
            .entry, .beforeTimers, .beforeSources, .beforeWaiting, .afterWaiting, .exit,
        ]

        /// The names, joined by "+".
        public var description: String {
            let names: [(Activity, String)] = [
                (.entry, "entry"), (.beforeTimers, "before-timers"),
                (.beforeSources, "before-sources"), (.beforeWaiting, "before-waiting"),
                (.afterWaiting, "after-waiting"), (.exit, "exit"),
            ]
            return names.filter { contains($0.0) }.map(\.1).joined(separator: "+")
        }
    }

    /// Why a run came back.
    ///
    /// - Source: CFRunLoopRunResult; the numbers are the same.
    public enum RunResult: Int, Sendable, Hashable {
        /// The mode has no source, port or timer (left): nothing could ever happen in it.
        case finished = 1
        /// `stop()` was called.
        case stopped = 2
        /// The deadline passed.
        case timedOut = 3
        /// A source or port was handled, and the run was asked to come back after one.
        case handledSource = 4
    }
}
