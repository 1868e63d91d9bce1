// A poller that plays the kernel: while the loop sleeps, the test's script happens, and time moves
// to whatever comes next. Everything on one thread, in a known order, without sleeping.

public import Kernel
public import RunLoops
internal import Synchronization

/// Plays the kernel for one run loop: its sleeps are a script.
///
/// Asleep, it does the script's next step whose time has come, until one wakes the loop or makes a
/// descriptor ready; or it moves the clock to the next step or to the loop's deadline, whichever
/// comes first. So an hour passes at once, and everything happens in a known order.
///
/// A sleep that nothing could ever end ends all runs under way, and `withScriptedLoop` throws
/// ``ScriptEnded``. Who then runs the loop again and again, as `runForever()` does, is ended by a
/// trap that says the same.
///
/// - Thread: the loop's own thread, where the script runs too (traps elsewhere).
public final class ScriptedPoller: Poller, @unchecked Sendable {
    // SAFETY: `wakePending` and `sleeping` are atomic. All else is touched on the loop's thread
    // only: public entries assert it, the loop calls the others there. `loop` is set before the
    // first.

    private struct Step {
        let time: Instant
        let action: () -> Void
    }

    /// The time by which the loop goes: the script moves it, and a test may too.
    public let manualClock = ManualClock()
    package var clock: any LoopClock { manualClock }
    package var now: Instant { manualClock.now() }
    package weak var loop: ThreadRunLoop?
    private var steps: [Step] = []
    private var readiness: [CInt: Readiness] = [:]
    private let wakePending = Atomic<Bool>(false)
    private let sleeping = Atomic<Bool>(false)
    private var recorded: [Sleep] = []
    /// How often the loop slept after the script's end.
    private var endlessSleepCount = 0
    package private(set) var scriptEnded: ScriptEnded?

    /// So many sleeps are told; up to twice as many are recorded, and the earlier ones are
    /// forgotten.
    private static let recordedSleepLimit = 10_000
    /// So often the runs are ended before the test is: it runs the loop again and again.
    private static let endlessSleepLimit = 1_000

    package init() {}

    // MARK: The script

    /// Adds a step: what happens at a time since the start, while the loop sleeps.
    ///
    /// Steps of the same time happen in the sequence in which they were added. A time that has
    /// passed means the loop's next sleep.
    ///
    /// A step runs on the loop's thread while the loop sleeps. What it adds to the loop or makes
    /// invalid is looked at when the loop wakes: say `loop.wakeUp()` where another thread's call
    /// would have woken it.
    public func at(_ time: Duration, _ action: @escaping () -> Void) {
        loop?.preconditionOnLoop()
        let step = Step(time: Instant(nanoseconds: 0).advanced(by: time), action: action)
        let index = steps.lastIndex { $0.time <= step.time }.map { $0 + 1 } ?? 0
        steps.insert(step, at: index)
    }

    /// Adds a step that happens as soon as the loop sleeps.
    public func whileAsleep(_ action: @escaping () -> Void) {
        at(.zero, action)
    }

    /// Makes a descriptor ready, or silent again with an empty readiness.
    ///
    /// It need not be open: only this poller looks at it. It stays ready, as a descriptor
    /// does while its bytes are not read, until it is made silent.
    public func setReady(_ descriptor: CInt, _ ready: Readiness) {
        loop?.preconditionOnLoop()
        readiness[descriptor] = ready.isEmpty ? nil : ready
    }

    // MARK: What the loop asked

    /// One sleep of the loop: what it asked for, and how it ended.
    public struct Sleep: Sendable, Equatable {
        /// Why a sleep ended.
        public enum End: Sendable, Equatable {
            /// The loop was woken.
            case woken
            /// A descriptor that it watches was ready.
            case ready
            /// The deadline passed: a timer's, or that of the run.
            case deadline
            /// It would never have ended: the script has no step left that could end it.
            case scriptEnded
        }

        /// When it began, since the start.
        public let began: Duration
        /// When it ended, since the start.
        public let ended: Duration
        /// When it was to end at the latest; nil for never.
        public let deadline: Duration?
        /// The descriptors that were watched, and for what.
        public let watched: [CInt: Readiness]
        /// Why it ended.
        public let end: End

        /// A sleep, to compare others with.
        public init(
            began: Duration, ended: Duration, deadline: Duration?, watched: [CInt: Readiness],
            end: End
        ) {
            self.began = began
            self.ended = ended
            self.deadline = deadline
            self.watched = watched
            self.end = end
        }
    }

    /// The loop's sleeps so far, the last 10,000.
    public var sleeps: [Sleep] {
        loop?.preconditionOnLoop()
        return recorded.suffix(Self.recordedSleepLimit)
    }

    // MARK: What the loop calls

    package func makeSet() throws(SystemError) -> any PollSet { ScriptedSet() }

    @discardableResult
    package func wait(
        on set: (any PollSet)?, until deadline: Instant, ready: inout [ReadyEvent]
    ) -> Bool {
        let began = manualClock.elapsed
        sleeping.store(true, ordering: .relaxed)
        let end = sleep(on: set, until: deadline, ready: &ready)
        sleeping.store(false, ordering: .relaxed)
        if recorded.count >= 2 * Self.recordedSleepLimit {
            recorded.removeFirst(Self.recordedSleepLimit)
        }
        let isEndless = deadline == .distantFuture
        recorded.append(
            Sleep(
                began: began, ended: manualClock.elapsed,
                deadline: isEndless ? nil : Instant(nanoseconds: 0).duration(to: deadline),
                watched: (set as? ScriptedSet)?.watched.mapValues(\.interest) ?? [:], end: end))
        return end == .woken
    }

    private func sleep(
        on set: (any PollSet)?, until deadline: Instant, ready: inout [ReadyEvent]
    ) -> Sleep.End {
        while true {
            check(set, ready: &ready)
            let woken = wakePending.exchange(false, ordering: .acquiringAndReleasing)
            if woken { return .woken }
            if !ready.isEmpty { return .ready }
            if deadline <= manualClock.now() { return .deadline }
            if let step = steps.first, step.time <= deadline {
                steps.removeFirst()
                manualClock.move(to: step.time)
                step.action()
                continue
            }
            guard deadline != .distantFuture else {
                endRuns()
                return .scriptEnded
            }
            manualClock.move(to: deadline)
        }
    }

    /// Ends the runs of a loop that would sleep for ever; a test that runs it again all the same
    /// would never end.
    private func endRuns() {
        let ended = ScriptEnded(time: manualClock.elapsed, mode: loop?.currentMode)
        endlessSleepCount += 1
        require(endlessSleepCount < Self.endlessSleepLimit, "\(ended)")
        if scriptEnded == nil { scriptEnded = ended }
        loop?.stopAllRuns()
    }

    package func takeWake() {
        wakePending.store(false, ordering: .releasing)
    }

    package func check(_ set: (any PollSet)?, ready: inout [ReadyEvent]) {
        guard let set = set as? ScriptedSet else { return }
        for (descriptor, watched) in set.watched.sorted(by: { $0.key < $1.key }) {
            guard let state = readiness[descriptor] else { continue }
            let matching = state.intersection(watched.interest.union(.closed))
            if !matching.isEmpty {
                ready.append(ReadyEvent(token: watched.token, readiness: matching))
            }
        }
    }

    package func wake() {
        wakePending.store(true, ordering: .releasing)
    }

    package var isAsleep: Bool { sleeping.load(ordering: .relaxed) }
}

/// A scripted loop went to sleep and nothing in its script could ever have woken it.
public struct ScriptEnded: Error, Equatable, CustomStringConvertible {
    /// When, since the start.
    public let time: Duration
    /// In which mode.
    public let mode: ThreadRunLoop.Mode?

    /// An error, to compare others with.
    public init(time: Duration, mode: ThreadRunLoop.Mode?) {
        self.time = time
        self.mode = mode
    }

    /// The fault, and its cure.
    public var description: String {
        "the loop sleeps in mode \(mode?.name ?? "?") at \(time), without a deadline, and the "
            + "script has no step left that could end it: add one that wakes or stops the loop, "
            + "or run it with a time limit"
    }
}

/// The descriptors that a scripted mode watches.
private final class ScriptedSet: PollSet {
    private(set) var watched: [CInt: (interest: Readiness, token: UInt64)] = [:]

    func add(_ descriptor: CInt, for interest: Readiness, token: UInt64) throws(SystemError) {
        guard watched[descriptor] == nil else {
            throw SystemError(operation: "epoll_ctl descriptor \(descriptor)", errno: 17)
        }
        watched[descriptor] = (interest, token)
    }

    func change(_ descriptor: CInt, for interest: Readiness, token: UInt64) throws(SystemError) {
        watched[descriptor] = (interest, token)
    }

    func remove(_ descriptor: CInt) {
        watched[descriptor] = nil
    }
}
