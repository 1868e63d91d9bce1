// The run loop of one thread: what it keeps, how a thread gets its own, and the two things that
// every thread may do to it: wake it and stop it. How it runs is in ThreadRunLoop+Run.swift.

internal import Glibc
public import Kernel
package import Structures
internal import Synchronization

/// The run loop of one thread.
///
/// Every thread has one, made when it first asks for `current` and gone with the thread. Only that
/// thread runs it and touches what is in its modes; other threads reach it by `perform`, `wakeUp`,
/// `stop` and by signalling sources and ports, all of which may be called anywhere. So a pass takes
/// no lock.
///
/// ```swift
/// let loop = ThreadRunLoop.current
/// loop.add(ThreadRunLoop.Timer(after: .seconds(1)) { _ in print("tick") })
/// _ = loop.run(mode: .default, for: .seconds(2))  // prints tick after one of them
/// ```
///
/// The main thread's loop, `main`, serves the main dispatch queue as well, so it is never finished.
///
/// - Source: Apple, Threading Programming Guide, "Run Loops"; CFRunLoop.
public final class ThreadRunLoop: @unchecked Sendable {
    // SAFETY: `poller`, `link`, `requests`, `stopRequested`, `counts` and what belongs to
    // measuring are safe from any thread. All other properties are confined to the loop's own
    // thread: each entry point asserts it with `preconditionOnLoop()`, and other threads send a
    // request instead.

    /// Sleeps and wakes; any thread may wake.
    let poller: any Poller
    /// This loop as its items see it.
    let link: LoopLink
    /// Requests of other threads to the loop: blocks, and changes to its items.
    ///
    /// Made when something is first asked, which of most workers' loops nothing is; the asking
    /// thread wakes the loop afterwards.
    let madeRequests = SetOnce<Inbox<Request>>()
    var requests: Inbox<Request> { madeRequests.load() ?? madeRequests.storeIfNil(Inbox()) }
    /// Closures to call when the loop has ended; made when the first is added.
    private let madeFarewells = SetOnce<EndObservers>()
    package var endObservers: EndObservers {
        madeFarewells.load() ?? madeFarewells.storeIfNil(EndObservers())
    }
    /// An object that a module above this one keeps for as long as there is the loop.
    package let companion = SetOnce<AnyObject>()
    /// Set by `stop()`, taken by the innermost run.
    let stopRequested = Atomic<Bool>(false)

    // SAFETY: each add looks at the modes and each invalidate at the common items. That accesses
    // don't overlap is not looked for at run time: nothing is called out to while they are changed.
    @exclusivity(unchecked) private var uncheckedModes: [ModeState] = []
    @exclusivity(unchecked) private var uncheckedCommonItems = CommonItems()

    /// The default mode, there from the beginning.
    ///
    /// It never changes, so that a user need not keep it meanwhile: counting it up and down
    /// would be two locked operations for each time-out.
    let defaultState: ModeState

    /// The modes but the default one, few enough to be looked through: each that was run, that
    /// something was put into, or that was made common.
    private var otherModes: [ModeState] {
        _read { yield unsafe uncheckedModes }
        _modify { yield unsafe &uncheckedModes }
    }
    /// All modes; the default one is the first.
    var modes: [ModeState] { [defaultState] + otherModes }
    var modeCount: Int { 1 + otherModes.count }
    /// The modes that are common, in the sequence in which they became so.
    var commonModes: [Mode] = [.default]
    /// Items of the common modes, to be put into modes that become common later.
    var commonItems: CommonItems {
        _read { yield unsafe uncheckedCommonItems }
        _modify { yield unsafe &uncheckedCommonItems }
    }
    /// The owner, which is told when a run begins; let go of when the loop ends.
    ///
    /// - Thread: the loop's own thread.
    package var owner: (any RunLoopOwner)?
    /// Blocks that wait for a run in their mode, in order of arrival.
    var pendingBlocks: [Block] = []
    /// Whether the thread ends, and the loop with it.
    private var isEnding = false
    /// Blocks that get their turn one after another right now.
    var dueBlocks = FIFO<Block>()
    /// Whether a block waits or is due.
    ///
    /// Looked at in each pass instead of the lists.
    var hasPendingBlocks = false
    /// Whether the pass under way calls out right now and runs blocks afterwards.
    var runsBlocksNext = false
    /// The mode of the innermost run under way.
    ///
    /// Not in one list with the others: a thread whose runs are never nested allocates none.
    private(set) var innermostMode: Mode?
    /// The modes of the runs around it, the outermost first.
    private var outerModes: [Mode] = []
    /// The modes of the runs under way, the innermost last.
    var runningModes: [Mode] { outerModes + (innermostMode.map { [$0] } ?? []) }

    /// Notes that a run begins, nested in those under way.
    func beginRun(in mode: Mode) {
        if let innermostMode { outerModes.append(innermostMode) }
        innermostMode = mode
        runDepth?.value += 1
    }

    /// Notes that the innermost run ends.
    func endRun() {
        innermostMode = outerModes.popLast()
        runDepth?.endRun()
    }

    /// How many of them there are, for the thread's release pools; nil until they ask.
    var runDepth: RunDepth?
    /// How many runs were begun so far: tells whether a callout has run the loop.
    var runCount: UInt64 = 0
    /// Whether every run under way is to end, not only the innermost.
    var isUnwinding = false
    /// The main dispatch queue's place in the main loop; nil in all others.
    let mainQueue: MainQueuePort?
    /// Counts of events in this loop so far.
    ///
    /// - Thread: any thread; reading does not disturb the loop.
    public var counters: Counters { counts.all }
    /// Counted by the loop's own thread.
    let counts = Counts()
    /// Whether callouts are measured.
    ///
    /// Publishes nothing.
    let measures = Atomic<Bool>(false)
    /// There once the loop was measured.
    let watch = SetOnce<LoopWatch>()
    let measuring = Mutex(Measuring())

    // SAFETY: the variable's objects are loops; it hands over the reference that it has.
    private static let local: ThreadLocal<ThreadRunLoop> = unsafe ThreadLocal(whenThreadEnds: {
        address in
        guard let address = unsafe address else { return }
        let loop = unsafe Unmanaged<ThreadRunLoop>.fromOpaque(address).takeRetainedValue()
        // Callouts at its end still find it as their thread's loop.
        local.keep(loop) { loop.end() }
    })

    /// A run loop for the calling thread.
    ///
    /// - Parameters:
    ///   - poller: the kernel, or what a test puts in its place.
    ///   - mainQueue: served by this loop in its common modes.
    package convenience init(poller: any Poller, mainQueue: (any MainQueue)? = nil) {
        self.init(
            thread: pthread_self(), poller: poller,
            mainQueue: mainQueue.map { queue in MainQueuePort { queue } })
    }

    /// A run loop for the main thread, which claims it when it first meets it.
    convenience init(unclaimedOn poller: any Poller, mainQueue: MainQueuePort) {
        self.init(thread: LoopLink.unclaimed, poller: poller, mainQueue: mainQueue)
    }

    private init(thread: pthread_t, poller: any Poller, mainQueue: MainQueuePort?) {
        self.poller = poller
        link = LoopLink(poller: poller, thread: thread)
        defaultState = ModeState(mode: .default, link: link)
        self.mainQueue = mainQueue
        link.lead(to: self)
    }

    /// The calling thread's run loop, made on first use and the same object ever after.
    ///
    /// - Thread: any thread; the answer is the caller's own.
    /// - Blocks: never.
    public static var current: ThreadRunLoop {
        if let loop = currentIfMade { return loop }
        return SystemThread.isMain ? main : makeCurrent(poller: SystemPoller())
    }

    /// The calling thread's run loop; nil when it has not asked for one.
    static var currentIfMade: ThreadRunLoop? { local.current }

    /// Makes the calling thread's run loop, with a poller of the caller's choice.
    ///
    /// - Thread: a thread that has no run loop yet (traps otherwise), and not the main thread,
    ///   whose loop is `main`.
    package static func makeCurrent(
        poller: any Poller, mainQueue: (any MainQueue)? = nil
    ) -> ThreadRunLoop {
        let loop = ThreadRunLoop(poller: poller, mainQueue: mainQueue)
        loop.keepForThread()
        return loop
    }

    private func keepForThread() {
        link.threadNumber.store(SystemThread.ID.current.number, ordering: .relaxed)
        Self.local.set(self)
        SystemThread.setCurrentTimerSlackToMinimum()
    }

    /// A loop for a thread that is yet to start: the caller's own while it furnishes it.
    ///
    /// A thread that need not allocate to come into being has no heap of its own: that is what most
    /// of an idle thread's memory would be.
    package static func makeUnclaimed(poller: any Poller) -> ThreadRunLoop {
        ThreadRunLoop(poller: poller)
    }

    /// Leaves the loop to the thread that will claim it: it has no thread meanwhile.
    ///
    /// - Thread: the one that has made it.
    package func leave() { link.thread.store(LoopLink.noThread, ordering: .releasing) }

    /// Makes the loop the calling thread's, which has none yet.
    package func claim() {
        link.thread.store(pthread_self(), ordering: .releasing)
        keepForThread()
    }

    /// Ends a loop whose thread could not be started.
    package func abandon() {
        link.thread.store(pthread_self(), ordering: .releasing)
        end()
    }

    /// Ends a loop that is yet to be claimed, now that no thread will.
    ///
    /// - Thread: any thread; of several, one does it.
    func abandonUnclaimed() {
        let isMine = link.thread.compareExchange(
            expected: LoopLink.unclaimed, desired: pthread_self(), ordering: .acquiringAndReleasing
        ).exchanged
        if isMine { end() }
    }

    /// Whether it is yet to be claimed.
    var isUnclaimed: Bool { link.thread.load(ordering: .relaxed) == LoopLink.unclaimed }

    /// The time by which this loop's timers and deadlines go.
    ///
    /// - Thread: any thread.
    public var now: Instant { poller.now }

    /// Whether the caller runs on the loop's own thread.
    ///
    /// - Thread: any thread.
    public var isOnThread: Bool {
        link.thread.load(ordering: .relaxed) == pthread_self() || claimOnMainThread()
    }

    /// Gives the main thread its loop, if it is yet to claim it and calls.
    @inline(never)
    private func claimOnMainThread() -> Bool {
        guard isUnclaimed, SystemThread.isMain else { return false }
        link.thread.store(pthread_self(), ordering: .relaxed)
        keepForThread()
        return true
    }

    /// Traps unless the caller runs on the loop's own thread.
    ///
    /// - Parameter what: what the caller asks for, as the message names it.
    @inline(__always)
    public func preconditionOnLoop(_ what: StaticString = #function) {
        require(
            isOnThread,
            "\(what) is for the loop's own thread only; from another one, use perform { }")
    }

    /// Ends the loop's sleep, or its next one: the loop makes another pass.
    ///
    /// - Thread: any thread, also a signal handler.
    /// - Blocks: never; a system call only if the loop sleeps.
    /// - Source: CFRunLoopWakeUp.
    public func wakeUp() {
        poller.wake()
    }

    /// Makes the innermost run under way return `stopped` at the end of its pass.
    ///
    /// A run that ends with that pass for another reason, a source that was handled or its
    /// deadline, says so instead. Called while no run is under way it is forgotten. That is why a
    /// thread is stopped by a flag *and* a stop, with the flag looked at on the thread.
    ///
    /// - Thread: any thread.
    /// - Blocks: never.
    /// - Source: CFRunLoopStop.
    public func stop() {
        stopRequested.store(true, ordering: .sequentiallyConsistent)
        poller.wake()
    }

    /// Makes every run under way return `stopped`, the innermost first.
    ///
    /// - Thread: the loop's own thread.
    package func stopAllRuns() {
        preconditionOnLoop()
        guard innermostMode != nil else { return }
        isUnwinding = true
        stop()
    }

    /// Whether its thread has ended, or ends right now: it takes nothing any more.
    ///
    /// - Thread: any thread.
    package var hasEnded: Bool { madeRequests.load()?.isClosed ?? false }

    /// Whether the loop sleeps right now; out of date as soon as it is known.
    ///
    /// - Thread: any thread.
    public var isWaiting: Bool { poller.isAsleep }

    /// The mode of the innermost run under way; nil outside of runs.
    ///
    /// - Thread: the loop's own thread.
    public var currentMode: Mode? {
        preconditionOnLoop()
        return innermostMode
    }

    /// The modes that there are: the default one, and each that was run or that something was put
    /// into.
    ///
    /// - Thread: the loop's own thread.
    /// - Source: CFRunLoopCopyAllModes.
    public var allModes: [Mode] {
        preconditionOnLoop()
        return modes.map(\.mode)
    }

    /// The state of a mode, made on first use.
    func state(of mode: Mode) -> ModeState { state(at: index(of: mode)) }

    /// The state of the mode at a place among all.
    @inline(__always)
    func state(at index: Int) -> ModeState { index == 0 ? defaultState : otherModes[index - 1] }

    /// The place of a mode among `modes`, for as long as the loop lives; made on first use.
    @inline(__always)
    func index(of mode: Mode) -> Int { mode == .default ? 0 : indexOfAnother(mode) }

    private func indexOfAnother(_ mode: Mode) -> Int {
        if let index = existingIndex(of: mode) { return index }
        require(mode != .common, "the common modes are no mode to run in or to look into")
        otherModes.append(ModeState(mode: mode, link: link))
        return otherModes.count
    }

    /// Tells the owner that a run begins, as a run itself does: so a mode can be furnished ahead of
    /// it.
    ///
    /// - Thread: the loop's own thread.
    package func prepareRun(of mode: Mode) { prepareRun(in: state(of: mode)) }

    func prepareRun(in state: ModeState) {
        let isFirst = !state.wasRun
        state.wasRun = true
        owner?.runBegins(in: state.mode, isFirst: isFirst)
    }

    /// Whether a source or port of a mode is signalled; on the loop's own thread.
    package func hasSignals(in mode: Mode) -> Bool {
        guard let state = existingState(of: mode) else { return false }
        return state.firstSignalledSource() != nil || state.hasSignalledPort
    }

    /// Whether a run in a mode has begun; on the loop's own thread.
    package func hasRun(_ mode: Mode) -> Bool { existingState(of: mode)?.wasRun ?? false }

    func existingState(of mode: Mode) -> ModeState? {
        if mode == .default { return defaultState }
        guard let index = existingIndex(of: mode) else { return nil }
        return state(at: index)
    }

    @inline(__always)
    private func existingIndex(of mode: Mode) -> Int? {
        // By index: who walks through the array keeps it and each of its elements meanwhile.
        for index in otherModes.indices where otherModes[index].mode == mode { return index + 1 }
        return nil
    }

    /// Tells the owner of the calling thread's loop, as it ends, that so many closures, messages or
    /// commands were taken and never have their turn.
    ///
    /// Does nothing on a thread whose loop does not end.
    package static func noteAbandoned(_ count: Int) {
        guard count > 0, let loop = local.current, loop.isEnding else { return }
        loop.owner?.abandoned(count)
    }

    /// Takes everything out of the loop: sources are cancelled, items invalid, later requests
    /// refused; blocks that still wait are dropped, and the owner is told how many.
    ///
    /// - Thread: the loop's own thread, when it ends.
    func end() {
        preconditionOnLoop()
        var left: [Request] = []
        requests.close(into: &left, waiting: SystemThread.yield)
        // Code that asked to add or to remove an item is told by its callouts that it came and
        // went.
        isEnding = true
        for case .action(let action) in left { calling(.change) { action() } }
        for case .block(let block) in left { pendingBlocks.append(block) }
        left = []
        // A block that may be postponed is known, and counted, by the owner of its request.
        Self.noteAbandoned(pendingBlocks.count { !$0.mayBePostponed })
        pendingBlocks.removeAll()
        calling(.change) { takeOutAll() }
        commonItems.removeAll()
        owner = nil
        measuring.withLock { $0.end(isMeasured) }
        if isMeasured { watch.load()?.finish() }
        otherModes.removeAll()
        defaultState.giveBack()
        link.thread.store(LoopLink.noThread, ordering: .releasing)
        atomicMemoryFence(ordering: .sequentiallyConsistent)  // LoopWatch.E3
        watch.load()?.close()
        endObservers.end()
    }
}

/// The maker of a loop for a thread of its own, which furnishes it.
package protocol RunLoopOwner: AnyObject {
    /// A run begins, be it nested in another; nothing was done in it so far.
    ///
    /// - Parameters:
    ///   - mode: its mode.
    ///   - isFirst: whether it is the first one in that mode: what is kept in modes need not be put
    ///     into those that are never run.
    /// - Thread: the loop's own thread.
    func runBegins(in mode: ThreadRunLoop.Mode, isFirst: Bool)

    /// Whether requests to the thread wait, in a run in this mode.
    ///
    /// - Thread: the loop's own thread.
    func postponesRequests(in mode: ThreadRunLoop.Mode) -> Bool

    /// So many closures, messages or commands that were taken never have their turn: the loop ends.
    ///
    /// - Thread: the loop's own thread.
    func abandoned(_ count: Int)
}
