// The state of a program under way, as far as it is needed to tell where a rule applies, and
// whether a sleep will end by itself: the runs under way and the wake-ups. It follows the
// operations and callouts, and asks the machine only which items are in which mode. Items are kept
// in Books+Items.swift.

import RunLoops

/// The signals, blocks, dates and wake-ups so far.
struct Books {
    /// A run under way.
    struct Run {
        let mode: ModeName
        /// The unit at which a brief run ends; nil for others.
        let deadline: Int?
        let returnsAfterSource: Bool
        /// The last of the sources that were signalled when the pass came to them; nil before.
        var lastSource: Int?
        /// Whether the pass has looked for events, so that a wake-up asks for nothing any more.
        var hasPolled = false
        var passCount = 0
        /// Whether another run was nested in this pass.
        var hasNestedRun = false
        /// Whether something other than a timer has ended the sleep, and no timer was called yet.
        var isWoken = false
        /// Whether a timer was due, or only a timer was to come, when the loop went to sleep.
        var sleepsTowardsTimer = false
        /// The unit at which the sleep is to end by itself.
        var sleepsUntil: Int?
        /// Whether a timer has ended the sleep and none was called yet.
        var holdsTimerEvent = false
        /// Whether a timer was called in this pass.
        var hasFiredTimer = false
        /// The port that has ended the sleep and was not called yet.
        var heldPort: Int?
        /// Whether a port was ready before the sleep, of which only CFRunLoop tells.
        var isSilent = false
        /// Whether a block has run in this pass.
        var hasRunBlock = false
        /// Whether the mode held nothing but that when the loop made up its mind to sleep.
        var wasBlockAll = false
        /// The activity that observers were told last.
        var told = ThreadRunLoop.Activity.entry

        /// Whether a pass of it is under way.
        var isInPass: Bool { told != .entry && told != .exit }
    }

    let program: Program
    let isIn: (Int, ModeName) -> Bool
    var timetable: Timetable
    var runs: [Run] = []
    var blocksWaiting = 0
    var blockDepth = 0
    var signalled: Set<Int> = []
    var timers: [Int: TimerBook] = [:]
    var readyPorts: Set<Int> = []
    /// How many messages wait in ports that carry data, beyond the first.
    var moreMessages: [Int: Int] = [:]
    /// Modes whose timer was armed in the kernel, by CoreFoundation, and may be so still.
    var armedModes: Set<ModeName> = []
    private(set) var isWakePending = false
    /// Whether CFRunLoop may have taken the event of a stale timer in its place.
    private var isWakeInDoubt = false
    /// Whether it was sent in a block, which a pass runs before it looks for events or after it.
    private var isWakeFromBlock = false
    /// Whether a wake-up was sent for a block that this pass runs, which ours leaves out.
    private var isWakeSaved = false
    /// Whether a wake-up was sent that only ours keeps for the next sleep.
    var isWakeLeft = false

    /// - Parameter isIn: whether an item is valid and in a mode, by the machine.
    init(_ program: Program, unit: Duration, isIn: @escaping (Int, ModeName) -> Bool) {
        self.program = program
        self.isIn = isIn
        timetable = Timetable(unit: unit)
        for (index, item) in program.items.enumerated() {
            guard case .timer(let due, let interval) = item.kind else { continue }
            let unit = self.unit(of: index, due)
            timers[index] = TimerBook(due: unit, interval: interval, wasPast: due == .past)
        }
    }

    /// The rule that applies in this state, whatever happened last.
    mutating func standingRule() -> Rule? {
        noteArmedModes()
        let ready = readyPortsOfMode
        let hasOtherEvent = isWakePending || runs.last?.isWoken == true
        let isTaken = runs.dropLast().contains { $0.holdsTimerEvent }
        if (hasOtherEvent || isTaken) && hasDueTimer { return .oneEventForEachPass }
        if isOneOfSeveralDueLongPast { return .pastDate }
        guard !ready.isEmpty, let mode = runs.last?.mode else { return nil }
        if ready.count > 1 || isWakePending || hasDueTimer { return .oneEventForEachPass }
        if isStale(mode) { return .staleTimer }
        return hasOneShotObserverOfWaiting(in: mode) ? .readyBeforeWaiting : nil
    }

    // MARK: Runs

    mutating func runBegins(
        _ mode: ModeName, _ limit: Limit, returnsAfterSource: Bool
    ) -> Rule? {
        let wasInBriefRun = isInBriefRun
        let isPortTaken = runs.contains { $0.heldPort != nil }
        withRun { $0.hasNestedRun = true }
        if limit.isBrief { restartIfNothingIsDue() }
        runs.append(
            Run(
                mode: mode, deadline: limit.isBrief ? timetable.briefLimit : nil,
                returnsAfterSource: returnsAfterSource))
        if limit.isBrief && wasInBriefRun { return .limitOfOuterRun }
        if isPortTaken { return .eventTakenEarly }
        return blockDepth > 0 && blocksWaiting > 0 ? .blocksInNestedRun : nil
    }

    /// Whether a time limit is to end a run under way.
    var isInBriefRun: Bool { runs.contains { $0.deadline != nil } }

    mutating func runEnds() {
        runs.removeLast()
    }

    mutating func passBegins() {
        hasLooked()
        withRun { run in
            run.lastSource = nil
            run.hasPolled = false
            run.isWoken = false
            run.holdsTimerEvent = false
            run.hasFiredTimer = false
            run.heldPort = nil
            run.hasNestedRun = false
            run.isSilent = false
            run.hasRunBlock = false
            run.wasBlockAll = false
            run.passCount += 1
        }
    }

    /// The pass has looked for events, and so taken a wake-up that was sent before.
    ///
    /// A run that is stopped before its first pass does not look.
    mutating func hasLooked() {
        guard let run = runs.last, run.passCount > 0, !run.hasPolled else { return }
        withRun { $0.hasPolled = true }
        let isStale = isStale(run.mode)
        if !isStale && !isWakeFromBlock {
            isWakePending = false
            isWakeSaved = false
        }
        isWakeInDoubt = isWakePending && (isStale || isWakeInDoubt)
    }

    /// The loop is about to sleep.
    mutating func sleeps() {
        let isDue = hasDueTimer
        withRun { run in
            run.sleepsTowardsTimer = isDue
            run.sleepsUntil = nil
        }
    }

    /// The loop is about to sleep, and only a signal that was sent already will end it, or a port
    /// that is signalled now.
    mutating func sleepsInEarnest() -> Rule? {
        sleeps()
        guard let run = runs.last else { return nil }
        if isStale(run.mode) || isWakeInDoubt { return .staleTimer }
        if isWakeSaved { return .wakeSaved }
        return isWakeLeft || run.hasNestedRun ? .onePassMore : nil
    }

    /// The loop is about to sleep until a timer is due or the time limit passes.
    mutating func sleepsUntilNextEvent() -> Rule? {
        let rule = sleepsInEarnest()
        guard let run = runs.last, !run.sleepsTowardsTimer, !isWakePending,
            readyPortsOfMode.isEmpty
        else { return rule }
        let timer = nextTimer(in: run.mode)
        let end = [timer, run.deadline].compactMap { $0 }.min()
        withRun { run in
            run.sleepsUntil = end
            run.sleepsTowardsTimer = timer != nil && timer == end
        }
        let isOuterLimit = runs.dropLast().contains { outer in
            outer.deadline.map { $0 < end ?? .max } ?? false
        }
        return rule ?? (isOuterLimit ? .limitOfOuterRun : nil)
    }

    /// - Returns: how many units too late it woke by itself, or if negative too early.
    mutating func wokeUp() -> Int {
        isWakeFromBlock = false
        hasLooked()
        isWakeLeft = false
        isWakeSaved = false
        let late = runs.last?.sleepsUntil.map { timetable.sleeps(until: $0) }
        let port = readyPortsOfMode.first
        withRun { run in
            run.isWoken = !run.sleepsTowardsTimer
            run.holdsTimerEvent = run.sleepsTowardsTimer
            run.heldPort = run.sleepsTowardsTimer ? nil : port
            run.sleepsUntil = nil
        }
        return late ?? 0
    }

    mutating func wakes() {
        let hasPolled = runs.last?.hasPolled ?? true
        if !hasPolled {
            isWakePending = true
            isWakeInDoubt = false
        }
        if blockDepth > 0 { isWakeFromBlock = true }
        if hasPolled || blockDepth > 0 { isWakeLeft = true }
    }

    /// Queueing a block wakes the loop for it.
    mutating func wakesForBlock(from caller: Caller) {
        wakes()
        if caller == .itself && !runs.isEmpty { isWakeSaved = true }
    }

    mutating func withRun(_ change: (inout Run) -> Void) {
        if let last = runs.indices.last { change(&runs[last]) }
    }

    // MARK: Time

    /// The unit at which something is due next that is not due yet; nil when nothing is shortly.
    var nextUnit: Int? {
        var next: Int?
        for timer in timers.values where timer.due > timetable.now && timer.due != .max {
            next = min(next ?? .max, timer.due)
        }
        for run in runs {
            guard let deadline = run.deadline, deadline > timetable.now else { continue }
            next = min(next ?? .max, deadline)
        }
        return next
    }

    mutating func restartIfNothingIsDue() {
        if isTimeFree { timetable.restart() }
    }

    /// Whether nothing hangs on how much time goes by.
    private var isTimeFree: Bool {
        nextUnit == nil && !timers.values.contains(where: \.keepsGrid)
    }

    /// The thread is busy while places in the timetable go by.
    ///
    /// Not in a run with a time limit: only CFRunLoop sleeps once that has passed.
    mutating func holdsUp(_ places: Int) {
        if isInBriefRun || isTimeFree { return }
        timetable.holdUp(until: timetable.unit(afterPlaces: places))
    }

    // MARK: Blocks

    mutating func blockIsQueued() {
        blocksWaiting += 1
    }

    mutating func blockBegins() {
        blocksWaiting -= 1
        blockDepth += 1
        withRun { $0.isWoken = false }
    }

    mutating func blockEnds() {
        blockDepth -= 1
        withRun { $0.hasRunBlock = true }
    }

    /// The first observer is told that the loop is about to sleep: notes whether the run's mode
    /// holds nothing, now that a block has run in this pass.
    mutating func isAboutToSleep() {
        guard let run = runs.last, run.hasRunBlock else { return }
        let isEmpty = !program.items.indices.contains { index in
            let item = program.items[index]
            return (item.isSource || item.isPort || item.isTimer) && isIn(index, run.mode)
        }
        withRun { $0.wasBlockAll = isEmpty }
    }
}
