// Selectors of methods without an argument, which in Cocoa are performed with nil.

public import RunLoops

/// The argument of a selector without an argument.
public struct NoArgument: Hashable, Sendable {
    /// There is one.
    public init() {}
}

extension Selector where Argument == NoArgument {
    /// A selector without an argument.
    ///
    /// ```swift
    /// let rewind = Selector<Recorder, NoArgument>("rewind") { recorder in recorder.rewind() }
    /// try worker.perform(rewind, on: recorder)
    /// ```
    ///
    /// - Parameters:
    ///   - name: tells it from others of the same target.
    ///   - body: what it does, on the thread that performs it.
    public init(_ name: String, body: @escaping @Sendable (Target) -> Void) {
        self.init(name) { target, _ in body(target) }
    }
}

extension WorkerThread {
    /// Performs a selector without an argument on the thread, as the one with an argument is.
    public func perform<Target>(
        _ selector: Selector<Target, NoArgument>, on target: Target, waitUntilDone: Bool = false,
        modes: [ThreadRunLoop.Mode] = [.default],
        fileID: StaticString = #fileID, line: UInt = #line
    ) throws(SubmitError) {
        try perform(
            selector, on: target, with: NoArgument(), waitUntilDone: waitUntilDone, modes: modes,
            fileID: fileID, line: line)
    }

    /// Performs a selector without an argument once a delay has passed, as the one with an argument
    /// is.
    public func perform<Target>(
        _ selector: Selector<Target, NoArgument>, on target: Target, afterDelay delay: Duration,
        modes: [ThreadRunLoop.Mode] = [.default],
        fileID: StaticString = #fileID, line: UInt = #line
    ) throws(SubmitError) {
        try perform(
            selector, on: target, with: NoArgument(), afterDelay: delay, modes: modes,
            fileID: fileID, line: line)
    }
}

extension ThreadRunLoop {
    /// Performs a selector without an argument on the loop's thread, as the one with an argument
    /// is.
    public func perform<Target>(
        _ selector: Selector<Target, NoArgument>, on target: Target, waitUntilDone: Bool = false,
        modes: [ThreadRunLoop.Mode] = [.common],
        fileID: StaticString = #fileID, line: UInt = #line
    ) throws(SubmitError) {
        try perform(
            selector, on: target, with: NoArgument(), waitUntilDone: waitUntilDone, modes: modes,
            fileID: fileID, line: line)
    }

    /// Performs a selector without an argument once a delay has passed, as the one with an argument
    /// is.
    public func perform<Target>(
        _ selector: Selector<Target, NoArgument>, on target: Target, afterDelay delay: Duration,
        modes: [ThreadRunLoop.Mode] = [.default],
        fileID: StaticString = #fileID, line: UInt = #line
    ) throws(SubmitError) {
        try perform(
            selector, on: target, with: NoArgument(), afterDelay: delay, modes: modes,
            fileID: fileID, line: line)
    }
}
