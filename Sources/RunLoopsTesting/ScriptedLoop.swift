// A fresh thread with a run loop of its own, for one test, and one pass of it at a time.

internal import Kernel
public import RunLoops
internal import Synchronization

/// Runs `body` on a new thread whose run loop sleeps by a script.
///
/// Everything happens on that thread, in a known order: the script, the loop's calls,
/// and `body` itself. Return the values to check, and check them in the test.
///
/// ```swift
/// let fired = try withScriptedLoop { loop, poller in
///     let trace = Trace()
///     let timer = ThreadRunLoop.Timer(at: loop.now.advanced(by: .seconds(3_600))) { _ in
///         trace.note("fired after \(poller.manualClock.elapsed)")
///     }
///     loop.add(timer)
///     _ = loop.run()
///     return trace.all
/// }
/// #expect(fired == ["fired after 3600.0 seconds"])
/// ```
///
/// - Parameter body: gets the loop, and the poller that has its script.
/// - Returns: what `body` returns.
/// - Throws: what `body` throws; ``ScriptEnded`` when the loop went to sleep for ever.
/// - Thread: any thread.
/// - Blocks: until `body` has returned and its thread has ended.
public func withScriptedLoop<Result: Sendable>(
    _ body: @escaping @Sendable (ThreadRunLoop, ScriptedPoller) throws -> Result
) throws -> Result {
    let outcome = try onNewThread { () -> Swift.Result<Result, any Error> in
        let poller = ScriptedPoller()
        let loop = ThreadRunLoop.makeCurrent(poller: poller)
        poller.loop = loop
        let result = Swift.Result { try body(loop, poller) }
        if let ended = poller.scriptEnded { return .failure(ended) }
        return result
    }
    return try outcome.get()
}

/// Runs `body` on a new thread and returns what it returned, once the thread has ended.
package func onNewThread<Result: Sendable>(
    _ body: @escaping @Sendable () -> Result
) throws -> Result {
    let box = Box<Result>()
    let thread = try SystemThread(name: "test") { box.set(body()) }
    thread.join()
    guard let value = box.value else { fatalError("the thread ended without a result") }
    return value
}

private final class Box<Value: Sendable>: Sendable {
    private let storage = Mutex<Value?>(nil)

    func set(_ value: Value) { storage.withLock { $0 = value } }

    var value: Value? { storage.withLock { $0 } }
}

extension ThreadRunLoop {
    /// Makes the calling thread's run loop, by a clock that is moved by hand.
    ///
    /// It sleeps in the real kernel: descriptors and other threads wake it as ever, and so does a
    /// move of the clock, from another thread.
    ///
    /// - Thread: a thread that has no run loop yet (traps otherwise).
    public static func makeCurrent(clock: ManualClock) -> ThreadRunLoop {
        makeCurrent(poller: SystemPoller(clock: clock))
    }

    /// The work of one pass.
    public struct Pass: Sendable, Equatable {
        /// `finished` when there was nothing in the mode, `stopped` when the loop was stopped
        /// before the pass, by an observer of the entry, say, so that none was made, else
        /// `timedOut`: also after a stop in the pass.
        public let result: RunResult
        /// Custom sources performed.
        public let sourceCount: Int
        /// Ports handled.
        public let portCount: Int
        /// Timers fired.
        public let timerCount: Int
        /// Blocks run.
        public let blockCount: Int

        /// A pass, to compare others with.
        public init(
            result: RunResult, sourceCount: Int = 0, portCount: Int = 0, timerCount: Int = 0,
            blockCount: Int = 0
        ) {
            self.result = result
            self.sourceCount = sourceCount
            self.portCount = portCount
            self.timerCount = timerCount
            self.blockCount = blockCount
        }

        /// Whether there was nothing to do.
        public var wasIdle: Bool { sourceCount + portCount + timerCount + blockCount == 0 }
    }

    /// Makes one pass in a mode, without sleeping, and tells what it did, in runs nested in it too.
    ///
    /// What a callout of the pass asks for (a signal, a timer that is due at once) is for the next
    /// pass. Works on every loop, scripted or not.
    ///
    /// - Parameter mode: what is served; not `.common`.
    /// - Returns: what was done.
    /// - Thread: the loop's own thread.
    /// - Blocks: for as long as what it calls does.
    @discardableResult
    public func stepOnePass(mode: Mode = .default) -> Pass {
        let before = counters
        let result = run(mode: mode, until: .distantPast)
        let after = counters
        return Pass(
            result: result,
            sourceCount: Int(after.sourceCount - before.sourceCount),
            portCount: Int(after.portCount - before.portCount),
            timerCount: Int(after.timerCount - before.timerCount),
            blockCount: Int(after.blockCount - before.blockCount))
    }
}
