// The life of a worker thread as a pure value: what was asked of it decides in which mode its loop
// runs next. No thread, no loop and no lock in here.

public import RunLoops

extension ThreadRunLoop.Mode {
    /// A job is served in here, nested in `default`: its child's pipes, its tasks, its time limit.
    public static let job: ThreadRunLoop.Mode = "job"
    /// Nothing but the control port: what is submitted waits.
    public static let paused: ThreadRunLoop.Mode = "paused"
    /// The last work is finished; nothing new comes.
    public static let draining: ThreadRunLoop.Mode = "draining"
}

/// The fate of queued work when a worker thread stops; a running item always finishes.
public enum StopPolicy: Sendable, Hashable {
    /// Everything that was queued before the stop runs first: what was submitted, the loop's
    /// blocks, and what is signalled, fired or due in mode `default`.
    case finishQueued
    /// Queued work is refused; waiting senders are told.
    case finishCurrent
}

/// Where a worker thread is in its life.
package struct LifeCycle: Sendable, Equatable {
    package private(set) var isPaused = false
    package private(set) var stop: StopPolicy?

    package init() {}

    /// False once it was asked to stop: the flag that its thread looks at after every run.
    package var shouldKeepRunning: Bool { stop == nil }

    /// Whether nothing that waits may begin: paused, or told to finish only the running item.
    package var beginsNothing: Bool { stop.map { $0 == .finishCurrent } ?? isPaused }

    /// The mode in which its loop runs next.
    package var mode: ThreadRunLoop.Mode {
        if stop != nil { return .draining }
        return isPaused ? .paused : .default
    }

    /// - Returns: whether that changed anything.
    package mutating func pause() -> Bool {
        guard stop == nil, !isPaused else { return false }
        isPaused = true
        return true
    }

    /// - Returns: whether that changed anything.
    package mutating func resume() -> Bool {
        guard stop == nil, isPaused else { return false }
        isPaused = false
        return true
    }

    /// Asks it to stop; a later, more hurried policy replaces an earlier one.
    ///
    /// - Returns: whether that changed anything.
    package mutating func stop(_ policy: StopPolicy) -> Bool {
        guard stop == nil || (stop == .finishQueued && policy == .finishCurrent) else {
            return false
        }
        stop = policy
        return true
    }

    /// Asks it to stop because its last handle is gone: what was taken still runs.
    ///
    /// No owner is left to be told of a refusal. A stop that was asked for before stays as it
    /// is.
    ///
    /// - Returns: whether that changed anything.
    package mutating func letGo() -> Bool {
        stop == nil && stop(.finishQueued)
    }
}
