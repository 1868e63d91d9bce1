// A run and its passes, in the order of Apple's guide. Everything here is on the loop's own thread.
//
//   entry
//   ┌─▶ before-timers, before-sources
//   │   blocks
//   │   signalled custom sources, by order ── handled any? ── blocks, and don't sleep in this pass
//   │   is a port ready? ── then don't sleep in this pass
//   │   before-waiting, sleep, after-waiting
//   │   timers that are due
//   │   ports that are ready
//   │   blocks
//   └── handled-source, timed-out, stopped, finished, or again
//   exit

public import Kernel
internal import Structures
internal import Synchronization

extension ThreadRunLoop {
    /// Runs the loop in a mode.
    ///
    /// May be nested: called from inside a callout it runs until it ends, then the outer run goes
    /// on.
    ///
    /// - Parameters:
    ///   - mode: what is served meanwhile; not `.common`.
    ///   - deadline: when to give up; a past one makes one pass without sleeping.
    ///   - returnAfterSourceHandled: whether to come back after one source or port; timers and
    ///     blocks do not count.
    /// - Returns: why it came back.
    /// - Thread: the loop's own thread.
    /// - Blocks: until something ends the run.
    /// - Source: CFRunLoopRunInMode.
    @discardableResult
    public func run(
        mode: Mode = .default, until deadline: Instant = .distantFuture,
        returnAfterSourceHandled: Bool = false
    ) -> RunResult {
        require(isOnThread, whereItRuns)
        runCount += 1
        returnDueBlocks()
        let isMainQueueAway = mainQueue?.runBegins(in: self) ?? false
        defer { if isMainQueueAway { mainQueue?.runEnds(in: self) } }
        let state = state(of: mode)
        prepareRun(in: state)
        // A stop is meant for the innermost run: the outer run's is set aside meanwhile, and one
        // that was sent while no run was under way is forgotten.
        let pending = stopRequested.exchange(false, ordering: .sequentiallyConsistent)
        let outerStop = pending && innermostMode != nil
        beginRun(in: mode)
        let outerRunsBlocksNext = runsBlocksNext
        runsBlocksNext = false
        // Begun before others' requests are done: a stop in a callout of those is this run's, and
        // one of all runs that comes in a run nested there is this one's too.
        let isEmpty = isFinished(state)
        let result =
            isEmpty ? .finished : fromEntryToExit(deadline, returnAfterSourceHandled, state)
        runsBlocksNext = outerRunsBlocksNext
        endRun()
        if innermostMode == nil { isUnwinding = false }
        // Forgets a stop that came too late for this run, and gives the outer run back its own.
        // Where there was nothing to run, one that has come meanwhile is the outer run's.
        if !isEmpty || outerStop || isUnwinding {
            stopRequested.store(outerStop || isUnwinding, ordering: .sequentiallyConsistent)
        }
        return result
    }

    private func fromEntryToExit(
        _ deadline: Instant, _ returnsAfterSource: Bool, _ state: ModeState
    ) -> RunResult {
        var run = Run(deadline: deadline, returnsAfterSource: returnsAfterSource)
        tell(.entry, state)
        let result = passes(&run, state)
        tell(.exit, state)
        return result
    }

    /// Said to a caller that runs the loop on another thread.
    private var whereItRuns: String {
        isMain
            ? "the main loop runs on the main thread only; an asynchronous main has left that "
                + "after its first await: let main be synchronous"
            : "a loop runs on its own thread only; from another one, use perform { }"
    }

    /// Runs the loop in a mode for a while.
    ///
    /// - Thread: the loop's own thread.
    /// - Blocks: until something ends the run.
    @discardableResult
    public func run(
        mode: Mode = .default, for duration: Duration, returnAfterSourceHandled: Bool = false
    ) -> RunResult {
        run(
            mode: mode, until: duration <= .zero ? .distantPast : now.advanced(by: duration),
            returnAfterSourceHandled: returnAfterSourceHandled)
    }

    /// Runs the loop in the default mode again and again, until there is nothing left in it.
    ///
    /// A stop ends a run, not this: a thread that calls it lives on. Use a flag and
    /// `run(mode:until:)` to be able to end it.
    ///
    /// - Thread: the loop's own thread.
    /// - Blocks: until the default mode is empty.
    /// - Source: NSRunLoop run.
    public func runForever() {
        while run(mode: .default) != .finished {}
    }

    /// A run under way.
    ///
    /// The mode it is in is not in here, but handed on beside it: so no reference is kept
    /// meanwhile.
    private struct Run {
        let deadline: Instant
        let returnsAfterSource: Bool
        /// Events of the poller, kept between passes for its storage.
        var ready: [ReadyEvent] = []
        /// How many runs had begun when the poller reported them.
        var runsWhenReported: UInt64 = 0
    }

    private func passes(_ run: inout Run, _ state: ModeState) -> RunResult {
        if takeStop() { return .stopped }
        while true {
            let handledSource = pass(&run, state)
            if handledSource && run.returnsAfterSource { return .handledSource }
            if hasPassed(run.deadline) { return .timedOut }
            // First others' requests: a run nested in a callout of those may take the wake-up of a
            // stop, with which the next pass would not sleep.
            let isEmpty = isFinished(state)
            if takeStop() { return .stopped }
            if isEmpty { return .finished }
        }
    }

    /// One pass.
    ///
    /// - Returns: whether a source or a port was handled.
    private func pass(_ run: inout Run, _ state: ModeState) -> Bool {
        let runsBefore = runCount
        let blocksBefore = counts.blocks.value
        counts.passes.increment()
        runsBlocksNext = true
        tell(.beforeTimers, state)
        tell(.beforeSources, state)
        runBlocks(of: state)
        runsBlocksNext = true
        let performed = performSources(of: state, onlyOne: run.returnsAfterSource)
        if performed { runBlocks(of: state) }
        runsBlocksNext = false
        // It was all there was: nothing would end the sleep, the block's own wake-up may have been
        // taken by a run in another mode.
        if counts.blocks.value != blocksBefore && isFinished(state) { poller.wake() }
        if !run.ready.isEmpty { run.ready.removeAll(keepingCapacity: true) }
        run.runsWhenReported = runCount
        if performed || hasPassed(run.deadline) {
            poller.takeWake()
            poller.check(state.descriptors?.set, ready: &run.ready)
        } else if !isPortReady(&run, state) {
            sleep(&run, state, runsBefore)
        }
        runsBlocksNext = true
        if state.timerCount > 0 { fireTimers(of: state) }
        let isAnyReady = !run.ready.isEmpty || state.hasSignalledPort
        let handled =
            isAnyReady
            && (run.returnsAfterSource ? handleOnePort(&run, state) : handlePorts(&run, state))
        runBlocks(of: state)
        return performed || handled
    }

    /// Whether a port is ready, so that the loop does not go to sleep.
    ///
    /// Looking at the descriptors costs a system call; where no observer is told of the waiting,
    /// none can tell the difference, and the sleep itself looks.
    private func isPortReady(_ run: inout Run, _ state: ModeState) -> Bool {
        let isSignalled = state.hasSignalledPort
        guard let set = state.descriptors?.set else { return isSignalled }
        // A signalled port leaves the sleep out. One that signals itself again in each call would
        // keep the loop from ever looking: in the second of such passes it does, and if only one
        // port is called, at once.
        let owedLook = state.owesLook || run.returnsAfterSource
        state.owesLook = isSignalled && !owedLook
        let isObserved = !state.observed.isDisjoint(with: [.beforeWaiting, .afterWaiting])
        guard isObserved || (isSignalled && owedLook) else { return isSignalled }
        poller.check(set, ready: &run.ready)
        return isSignalled || !run.ready.isEmpty
    }

    private func sleep(_ run: inout Run, _ state: ModeState, _ runsBefore: UInt64) {
        tell(.beforeWaiting, state)
        runDepth?.sleepBegins()
        // A run nested in this pass has taken wake-ups that were meant for this mode too.
        if runCount != runsBefore { poller.wake() }
        var deadline = run.deadline
        if state.timerCount > 0, let due = state.timerHeap.deadline {
            deadline = min(deadline, Instant(nanoseconds: due))
        }
        run.runsWhenReported = runCount
        sleeping {
            poller.wait(on: state.descriptors?.set, until: deadline, ready: &run.ready)
        }
        tell(.afterWaiting, state)
    }

    @inline(__always)
    private func tell(_ activity: Activity, _ state: ModeState) {
        if state.observed.contains(activity) { tellObservers(activity, state) }
    }

    private func tellObservers(_ activity: Activity, _ state: ModeState) {
        // Uninterested ones are passed over: a `ThreadBound` is one, and there may be thousands.
        for observer in state.observers where observer.activities.contains(activity) {
            let handler = callOfListed(observer, in: state.observers, of: state) {
                observer.beginTelling()
            }
            guard let handler else { continue }
            calling(.observer, from: observer.madeAt) { observer.tell(activity, handler) }
        }
    }

    /// The call of an item in a round that has listed it.
    ///
    /// One that was called before it may have taken it out of the mode, which does not matter, and
    /// given it to another loop, whose thread alone may call it from then on.
    @inline(__always)
    private func callOfListed<Listed: Item, Call>(
        _ item: Listed, in list: ShortList<Listed>, of state: ModeState, _ look: () -> Call?
    ) -> Call? {
        isListed(item, in: list, of: state) ? look() : item.ifLastIn(link, look)
    }

    /// Whether an item of this mode's list is in it still.
    @inline(__always)
    private func isListed<Listed: Item>(
        _ item: Listed, in list: ShortList<Listed>, of state: ModeState
    ) -> Bool {
        // The item knows by itself, under its lock. For a few it is sooner found in the list; of
        // thousands that are called in one round, each would be looked for among all.
        list.count > Self.searchedCount ? item.isIn(state) : list.contains { $0 === item }
    }

    /// The longest list that is searched.
    private static let searchedCount = 16

    /// Performs the sources that are signalled now; what they signal is for the next pass.
    private func performSources(of state: ModeState, onlyOne: Bool) -> Bool {
        if state.sources.count == 1 {
            return state.sources[0].isSignalled && perform(state.sources[0])
        }
        guard let first = state.firstSignalledSource() else { return false }
        guard state.firstSignalledSource(from: first + 1) != nil else {
            return perform(state.sources[first])
        }
        var performed = false
        for source in state.sources.filter({ $0.isSignalled }) {
            guard let call = callOfListed(source, in: state.sources, of: state, source.takeCall)
            else { continue }
            perform(source, call)
            performed = true
            if onlyOne { break }
        }
        return performed
    }

    private func perform(_ source: Source) -> Bool {
        guard let call = source.takeCall() else { return false }
        perform(source, call)
        return true
    }

    @inline(__always)
    private func perform(_ source: Source, _ call: @Sendable () -> Void) {
        calling(.source, from: source.madeAt) { Callout.performSource(call) }
        counts.sources.increment()
    }

    /// Calls the timers and time-outs that are due now; those which they add are for the next pass.
    private func fireTimers(of state: ModeState) {
        guard let first = state.timerHeap.firstFire else { return }
        let now = now
        guard first <= now.nanoseconds else { return }
        // By far most often it is one, for which no list need be made.
        if let only = state.timerHeap.onlyDue(upTo: now.nanoseconds) {
            return fire(only, at: now, of: state)
        }
        var due: [TimerHeap<Waiting>.Handle] = []
        state.timerHeap.collectDue(upTo: now.nanoseconds, into: &due)
        // A timer that one of them sets to the present moment is due in this round.
        for handle in due { fire(handle, at: self.now, of: state) }
    }

    private func fire(
        _ handle: TimerHeap<Waiting>.Handle, at now: Instant, of state: ModeState
    ) {
        let isCalled =
            switch state.timerHeap.payload(of: handle) {
            case .timer(let timer): calling(.timer, nil) { timer.fireIfDue(at: now, in: self) }
            case .timeout: calling(.timer, nil) { fireTimeout(at: handle, in: state) }
            // An earlier timer of this round has made it invalid, or it was cancelled.
            case nil: false
            }
        if isCalled { counts.timers.increment() }
    }

    /// Handles what is ready, by `order`: the ports that were signalled and those that the poller
    /// reported.
    private func handlePorts(_ run: inout Run, _ state: ModeState) -> Bool {
        var handled = false
        let signalled = state.hasSignalledPort ? state.signalledPorts : ShortList()
        var nextSignalled = 0
        state.descriptors?.sortByOrder(&run.ready)
        var next = 0
        while true {
            let reported = next < run.ready.count ? run.ready[next] : nil
            if nextSignalled < signalled.count,
                reported.map({ signalled[nextSignalled].order <= order(of: $0, state) }) ?? true
            {
                let port = signalled[nextSignalled]
                nextSignalled += 1
                guard handleSignalled(port, state) else { continue }
            } else if let reported {
                if runCount != run.runsWhenReported {
                    lookAgain(&run, state, from: next)
                    next = 0
                    continue
                }
                next += 1
                guard handleReported(reported, state) else { continue }
            } else {
                return handled
            }
            handled = true
            counts.ports.increment()
        }
    }

    /// Handles the first that is ready by `order`, for a run that comes back after one: the others
    /// are ready still in the next run.
    ///
    /// Of equal orders it is the one whose turn was the longest ago. The same sequence in each run
    /// would let one that is always ready keep the others waiting for ever.
    private func handleOnePort(_ run: inout Run, _ state: ModeState) -> Bool {
        if runCount != run.runsWhenReported { lookAgain(&run, state, from: 0) }
        var ready: [(port: Port, event: ReadyEvent?)] = []
        for port in state.signalledPorts where port.isSignalled { ready.append((port, nil)) }
        for event in run.ready {
            if let port = state.descriptors?.port(of: event) { ready.append((port, event)) }
        }
        ready.sort { ($0.port.order, $0.port.lastTurn) < ($1.port.order, $1.port.lastTurn) }
        for (port, event) in ready {
            // Before its call, out of which it may be moved to another thread's loop.
            port.lastTurn = counts.ports.value + 1
            let isHandled = event.map { handleReported($0, state) } ?? handleSignalled(port, state)
            guard isHandled else { continue }
            counts.ports.increment()
            return true
        }
        return false
    }

    /// - Returns: whether it was signalled still, and in this mode: a port before it may have
    ///   changed that.
    private func handleSignalled(_ port: Port, _ state: ModeState) -> Bool {
        isListed(port, in: state.signalledPorts, of: state) && port.isSignalled
            && calling(.port, from: port.madeAt) { port.handleIfSignalled() }
    }

    /// - Returns: false if its port has left the mode after the kernel had reported it, or wants it
    ///   no longer.
    private func handleReported(_ event: ReadyEvent, _ state: ModeState) -> Bool {
        guard let port = state.descriptors?.port(of: event) else { return false }
        return calling(.port, from: port.madeAt) { port.handle(event.readiness) }
    }

    private func order(of event: ReadyEvent, _ state: ModeState) -> Int {
        state.descriptors?.port(of: event)?.order ?? .max
    }

    /// Keeps of the events that were not handled yet what is true still: a nested run may have
    /// handled some, and a handler that reads a descriptor that is not ready may block for ever.
    private func lookAgain(_ run: inout Run, _ state: ModeState, from next: Int) {
        run.runsWhenReported = runCount
        let waiting = Set(run.ready[next...].map(\.token))
        run.ready.removeAll(keepingCapacity: true)
        poller.check(state.descriptors?.set, ready: &run.ready)
        run.ready.removeAll { !waiting.contains($0.token) }
        state.descriptors?.sortByOrder(&run.ready)
    }

    private func hasPassed(_ deadline: Instant) -> Bool {
        deadline != .distantFuture && deadline <= now
    }

    private func takeStop() -> Bool {
        guard stopRequested.load(ordering: .sequentiallyConsistent) else { return false }
        return stopRequested.exchange(false, ordering: .sequentiallyConsistent)
    }

    private func isFinished(_ state: ModeState) -> Bool {
        takeRequests()
        return state.isEmpty && !hasBlocks(for: state)
    }
}
