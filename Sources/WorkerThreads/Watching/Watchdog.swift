// Reports what hangs: one thread that looks after any number of loops and sleeps unless it has to
// look. How it knows when: while a loop sleeps, it is armed to tell (`LoopWatch.arm`), which it
// does as it leaves its sleep; while one runs, the watchdog looks again when the callout would be
// over its limit. So it is woken at most twice for each loop in the time of its limit, not once for
// each callout; and not at all while every loop sleeps, or when one hangs that was reported: the
// loop tells itself when that is over.

public import Kernel
public import RunLoops
internal import Synchronization

/// Reports callouts of run loops that run for too long, while they do.
///
/// Everything that it reports it reports on a thread of its own, one after another.
public final class Watchdog: Sendable {
    private let kennel: Kennel

    /// Starts a watchdog of one's own; mostly `WorkerThread.watch` with the shared one is enough.
    ///
    /// - Throws: EAGAIN when the system has no room for its thread.
    /// - Thread: any thread.
    /// - Blocks: never; its thread begins by itself.
    public convenience init() throws(SystemError) {
        try self.init(poller: SystemPoller())
    }

    package init(poller: any Poller) throws(SystemError) {
        kennel = Kennel(worker: try WorkerThread(name: "watchdog", poller: poller))
        kennel.prepare()
    }

    deinit { kennel.close() }

    /// Its thread, so that a test can wait for it.
    package var worker: WorkerThread { kennel.worker }

    /// When it looks again at what it watches, if it is not woken before.
    package var nextLook: Instant { kennel.nextLook }

    /// How many loops it looks after.
    package var watchedCount: Int { kennel.watchedCount }

    private static let sharedOne = Mutex<Watchdog?>(nil)

    /// The watchdog that is used unless another is named; it never ends.
    ///
    /// - Throws: EAGAIN when the system has no room for its thread.
    /// - Thread: any thread.
    /// - Blocks: never.
    public static func shared() throws(SystemError) -> Watchdog {
        try sharedOne.withLock { one throws(SystemError) in
            if let one { return one }
            let new = try Watchdog()
            one = new
            return new
        }
    }

    /// Looks after a loop from now on, and measures it; what was asked for before is replaced.
    ///
    /// - Parameters:
    ///   - loop: of a thread other than the watchdog's.
    ///   - name: how the thread is called in reports.
    ///   - limit: a callout that runs for so long without calling another and without a sleep of
    ///     the loop is reported.
    ///   - report: called on the watchdog's thread, once while a callout hangs and once when it is
    ///     over.
    /// - Thread: any thread.
    /// - Blocks: never.
    public func watch(
        _ loop: ThreadRunLoop, named name: String, limit: Duration = .seconds(1),
        report: @escaping @Sendable (Report) -> Void = Watchdog.writeToStandardError
    ) {
        require(loop !== kennel.worker.runLoop, "a watchdog can't watch itself")
        require(limit > .zero, "a limit is longer than nothing, not \(limit)")
        loop.isMeasured = true
        let watch = loop.madeWatch
        let watched = WatchedLoop(
            name: name, watch: watch, limit: limit, report: report, kennel: kennel)
        // First: an alarm that is armed before would have no guardian to tell.
        guard watch.setGuardian(watched, limit: limit) else { return }
        // Not one without a thread: the watchdog would look, once, for nothing.
        if !loop.hasEnded { kennel.add(watched) }
        // Ended or replaced meanwhile: then it was to be removed before it was there, or no owner
        // is left to have it removed.
        if loop.hasEnded || !watch.isGuarded(by: watched) {
            watch.dismissGuardian(watched)
            kennel.remove(watched)
        }
    }

    /// Looks after a loop no longer, whichever watchdog did, and measures it no longer.
    ///
    /// - Thread: any thread. A report that has begun is not waited for.
    /// - Blocks: never.
    public static func unwatch(_ loop: ThreadRunLoop) {
        loop.isMeasured = false
        loop.madeWatch.dismissGuardian()
    }

    /// Writes a report to standard error.
    ///
    /// - Thread: any thread.
    /// - Blocks: until it is written.
    public static func writeToStandardError(_ report: Report) {
        // There is no one to tell when standard error is gone.
        try? StandardStream.error.write(everything: Array("\(report)\n".utf8))
    }
}

/// The state that a watchdog and its watched loops share.
final class Kennel: Sendable {
    let worker: WorkerThread
    private let source: ThreadRunLoop.Source
    private let timer: Mutex<ThreadRunLoop.Timer?>
    private let watched = Mutex<[ObjectIdentifier: WatchedLoop]>([:])

    init(worker: WorkerThread) {
        self.worker = worker
        let back = BackReference<Kennel>()
        source = ThreadRunLoop.Source { back.target?.look() }
        // It repeats only so that it stays valid: each look sets its next date.
        timer = Mutex(
            ThreadRunLoop.Timer(at: .distantFuture, every: .seconds(1 << 32)) { _ in
                back.target?.look()
            })
        back.target = self
    }

    /// Puts its items into its thread's loop.
    func prepare() {
        worker.runLoop.add(source)
        if let timer = timer.withLock({ $0 }) { worker.runLoop.add(timer) }
    }

    var nextLook: Instant { timer.withLock { $0 }?.fireDate ?? .distantFuture }

    var watchedCount: Int { watched.withLock { $0.count } }

    func add(_ loop: WatchedLoop) {
        watched.withLock { $0[ObjectIdentifier(loop)] = loop }
        source.signalAndWake()
    }

    func remove(_ loop: WatchedLoop) {
        watched.withLock { _ = $0.removeValue(forKey: ObjectIdentifier(loop)) }
    }

    func close() {
        let left = watched.withLock { watched in
            defer { watched = [:] }
            return Array(watched.values)
        }
        for loop in left { loop.watch.dismissGuardian(loop) }
        worker.stop(.finishQueued)
    }

    /// Has its thread look at the loops soon; on any thread.
    func wake() { source.signalAndWake() }

    /// Has its thread report, after what it has begun to report; on any thread.
    func submit(_ body: @escaping @Sendable () -> Void) {
        // Refused only once the watchdog is gone: then its reports have no reader.
        try? worker.post(body)
    }

    /// Looks at each loop, and when it has to look again; on its own thread.
    private func look() {
        let now = worker.runLoop.now
        let loops = watched.withLock { Array($0.values) }
        let next = loops.map { $0.look(at: now) }.min() ?? .distantFuture
        timer.withLock { $0 }?.fireDate = next
    }
}

extension Watchdog {
    /// A callout that takes, or took, longer than its loop's limit.
    public struct Report: Sendable, CustomStringConvertible {
        /// The name of the thread.
        public let thread: String
        /// The callout, where it was posted, and when it began.
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
