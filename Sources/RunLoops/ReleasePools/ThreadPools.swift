// The pools of one thread: places in one stack of objects, one for each `with` and each run of the
// loop. Confined to its thread; emptied by two observers, by the end of a scope, or by the
// thread's.

internal import Kernel

/// The autoreleased objects of the calling thread.
final class ThreadPools {
    /// A pool: what lies above its start, up to the start of the next one.
    private struct Pool {
        let start: Int
        /// How many runs of the thread's loop were under way when it was opened.
        let depth: Int
        /// Whether the run that it belongs to has begun its first pass.
        var hasBegun = false
    }

    private let pages = ObjectPages()
    private var pools: [Pool] = []
    /// That of the thread's loop, once it has one: cheaper to hold than the loop, which is asked
    /// for with each object.
    private var knownDepth: RunDepth?
    /// Told first of all that a run or a pass begins.
    private var firstObserver: ThreadRunLoop.Observer?
    /// Told last of all that the loop is about to sleep, or that a run ends.
    private var lastObserver: ThreadRunLoop.Observer?

    private static let local = ThreadLocal<ThreadPools>()
    /// The places of Cocoa's observers; no others are meant to lie beyond.
    private static let lastOrder = Int(Int32.max)

    private init() {}

    deinit {
        // Objects that are autoreleased while others go find a new one of these, which the thread
        // empties in turn.
        empty(to: 0)
        firstObserver?.invalidate()
        lastObserver?.invalidate()
    }

    /// The calling thread's pools, made on first use and emptied when the thread ends.
    static var current: ThreadPools {
        if let pools = local.current { return pools }
        let pools = ThreadPools()
        local.set(pools)
        return pools
    }

    var heldCount: Int { pages.count }
    var pageCount: Int { pages.pageCount }

    func add(_ object: AnyObject) {
        if runDepth > depth { serveRun(of: ThreadRunLoop.current) }
        pages.push(object)
    }

    /// Opens a pool.
    ///
    /// - Returns: what `close` needs to know it again.
    func open() -> Int {
        open(depth: runDepth)
        return pools.count - 1
    }

    /// Empties a pool, with those inside it that are open still, and closes them.
    func close(_ index: Int) {
        empty(index)
        if index < pools.count { pools.removeSubrange(index...) }
    }

    /// Empties a pool, with those inside it, which are closed.
    private func empty(_ index: Int) {
        guard index < pools.count else { return }
        // Emptied first: what its objects autorelease while they go belongs to it too.
        empty(to: pools[index].start)
        if index + 1 < pools.count { pools.removeSubrange((index + 1)...) }
    }

    /// Closes the pool of a run that has ended, if its observers have not done so: they were not
    /// told of the exit when the run's first object came in one of the calls that told it.
    fileprivate func closePools(deeperThan depth: Int) {
        guard self.depth > depth, let index = pools.firstIndex(where: { $0.depth > depth }) else {
            return
        }
        close(index)
    }

    /// Lets go of what was autoreleased after the observer had emptied the innermost run's pool, or
    /// in the call that put it into the mode: that round is over without it.
    fileprivate func emptyForSleep() {
        if let index = indexOfRun { empty(index) }
    }

    /// How many runs of the thread's loop are under way.
    private var runDepth: Int {
        if let knownDepth { return knownDepth.value }
        guard let loop = ThreadRunLoop.currentIfMade else { return 0 }
        let depth = RunDepth(loop.runningModes.count, pools: self)
        loop.runDepth = depth
        knownDepth = depth
        return depth.value
    }

    /// To how many runs there is a pool.
    private var depth: Int { pools.last?.depth ?? 0 }

    private func open(depth: Int) {
        pools.append(Pool(start: pages.count, depth: depth))
    }

    private func empty(to count: Int) {
        // Each object goes when it has left the stack: its deinit may autorelease, or run the loop.
        while pages.count > count { _ = pages.popLast() }
    }

    /// Opens a pool for the innermost run, which began in a mode without the observers.
    private func serveRun(of loop: ThreadRunLoop) {
        guard let mode = loop.currentMode else { return }
        let (first, last) = observers(of: loop)
        if !loop.contains(first, in: mode) {
            loop.add(first, to: mode)
            loop.add(last, to: mode)
        }
        open(depth: runDepth)
        pools[pools.count - 1].hasBegun = true
    }

    private func observers(
        of loop: ThreadRunLoop
    ) -> (ThreadRunLoop.Observer, ThreadRunLoop.Observer) {
        if let firstObserver, let lastObserver { return (firstObserver, lastObserver) }
        let first = ThreadRunLoop.Observer([.entry, .beforeTimers], order: -Self.lastOrder) {
            _, activity in
            Self.current.begin(activity)
        }
        let last = ThreadRunLoop.Observer([.beforeWaiting, .exit], order: Self.lastOrder) {
            _, activity in
            Self.current.end(activity)
        }
        loop.add(first, to: .common)
        loop.add(last, to: .common)
        (firstObserver, lastObserver) = (first, last)
        return (first, last)
    }

    /// A run, or a pass of it, begins.
    private func begin(_ activity: ThreadRunLoop.Activity) {
        if activity == .entry { return open(depth: runDepth) }
        guard let index = indexOfRun else { return }
        let pool = pools[index]
        pools[index].hasBegun = true
        // The passes before this one have ended, and a busy loop may not sleep for a long time.
        let isFull = pages.count - pool.start >= ObjectPages.objectsPerPage
        if pool.hasBegun && isFull { empty(index) }
    }

    /// Where the innermost run's pool is; nil when it needed none so far.
    private var indexOfRun: Int? {
        let depth = runDepth
        return pools.lastIndex { $0.depth == depth }
    }

    /// The loop is about to sleep, or a run ends.
    private func end(_ activity: ThreadRunLoop.Activity) {
        guard let index = indexOfRun else { return }
        if activity == .exit { close(index) } else { empty(index) }
    }
}

/// How many runs of a loop are under way, each nested in the one before; on the loop's own thread.
final class RunDepth {
    var value: Int
    private weak var pools: ThreadPools?

    init(_ value: Int, pools: ThreadPools) {
        self.value = value
        self.pools = pools
    }

    /// The innermost run is about to sleep, and all observers were told so.
    func sleepBegins() { pools?.emptyForSleep() }

    /// The innermost run has ended.
    func endRun() {
        value -= 1
        pools?.closePools(deeperThan: value)
    }
}
