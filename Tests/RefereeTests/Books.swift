// What has to be known of a program under way to tell where a rule applies, and whether a sleep
// will end by itself. It follows the operations and callouts, and asks the machine only who is in
// which mode.

/// What was signalled, queued, set and sent so far.
struct Books {
    /// A run under way.
    private struct Run {
        let mode: ModeName
        let limit: Limit
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
        /// Whether a timer was due when the loop went to sleep.
        var sleepsTowardsTimer = false
        /// Whether a timer has ended the sleep and none was called yet.
        var holdsTimerEvent = false
    }

    /// What a timer is doing.
    private struct Timer {
        var due: Due
        var isFiring = false
    }

    private let program: Program
    private let isIn: (Int, ModeName) -> Bool
    private var runs: [Run] = []
    private var blocksWaiting = 0
    private var blockDepth = 0
    private var signalled: Set<Int> = []
    private var timers: [Int: Timer] = [:]
    private var isWakePending = false
    /// Whether it was sent in a block, which a pass runs before it looks for events or after it.
    private var isWakeFromBlock = false
    /// Whether a wake-up was sent that only ours keeps for the next sleep.
    private var isWakeLeft = false
    /// Whether CoreFoundation may find the event of a timer that is not due any more.
    private var hasStaleTimer = false

    /// - Parameter isIn: whether an item is in a mode, by the machine.
    init(_ program: Program, isIn: @escaping (Int, ModeName) -> Bool) {
        self.program = program
        self.isIn = isIn
        for (index, item) in program.items.enumerated() {
            if case .timer(let due, _) = item.kind { timers[index] = Timer(due: due) }
        }
    }

    /// Whether a timer of the innermost run's mode is due.
    var hasDueTimer: Bool {
        guard let mode = runs.last?.mode else { return false }
        return timers.contains { index, timer in
            timer.due == .now && !timer.isFiring && isIn(index, mode)
        }
    }

    /// The rule that applies in this state, whatever happened last.
    var standingRule: Rule? {
        let isTaken = runs.dropLast().contains { $0.holdsTimerEvent }
        let hasOtherEvent = isWakePending || runs.last?.isWoken == true
        return (hasOtherEvent || isTaken) && hasDueTimer ? .oneEventForEachPass : nil
    }

    // MARK: Runs

    mutating func runBegins(
        _ mode: ModeName, _ limit: Limit, returnsAfterSource: Bool
    ) -> Rule? {
        let isInBriefRun = runs.contains { $0.limit == .brief }
        withRun { $0.hasNestedRun = true }
        runs.append(Run(mode: mode, limit: limit, returnsAfterSource: returnsAfterSource))
        if limit == .brief && isInBriefRun { return .limitOfOuterRun }
        return blockDepth > 0 && blocksWaiting > 0 ? .blocksInNestedRun : nil
    }

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
            run.hasNestedRun = false
            run.passCount += 1
        }
    }

    /// The pass has looked for events, and so taken a wake-up that was sent before.
    ///
    /// A run that is stopped before its first pass does not look.
    mutating func hasLooked() {
        guard let run = runs.last, run.passCount > 0, !run.hasPolled else { return }
        withRun { $0.hasPolled = true }
        if !hasStaleTimer && !isWakeFromBlock { isWakePending = false }
    }

    /// The loop is about to sleep.
    mutating func sleeps() {
        let isDue = hasDueTimer
        withRun { $0.sleepsTowardsTimer = isDue }
    }

    /// The loop is about to sleep, and nobody will end it but what was sent already.
    mutating func sleepsInEarnest() -> Rule? {
        sleeps()
        if hasStaleTimer { return .staleTimer }
        return isWakeLeft || runs.last?.hasNestedRun == true ? .onePassMore : nil
    }

    mutating func wokeUp() {
        isWakeFromBlock = false
        hasLooked()
        isWakeLeft = false
        withRun { run in
            run.isWoken = !run.sleepsTowardsTimer
            run.holdsTimerEvent = run.sleepsTowardsTimer
        }
    }

    mutating func wakes() {
        let hasPolled = runs.last?.hasPolled ?? true
        if !hasPolled { isWakePending = true }
        if blockDepth > 0 { isWakeFromBlock = true }
        if hasPolled || blockDepth > 0 { isWakeLeft = true }
    }

    private mutating func withRun(_ change: (inout Run) -> Void) {
        if let last = runs.indices.last { change(&runs[last]) }
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
    }

    // MARK: Sources

    mutating func signals(_ item: Int) {
        signalled.insert(item)
    }

    mutating func sourcePerforms(_ item: Int) -> Rule? {
        if let run = runs.last, run.lastSource == nil, !run.returnsAfterSource {
            let due = signalled.filter { isIn($0, run.mode) }
            let last = due.max { program.items[$0].order < program.items[$1].order }
            withRun { $0.lastSource = last }
        }
        signalled.remove(item)
        return runs.dropLast().contains { $0.lastSource == item } ? .lastSourceCounts : nil
    }

    // MARK: Items and timers

    mutating func invalidates(_ item: Int) -> Rule? {
        leaves(item)
        let wasSignalled = signalled.remove(item) != nil
        return wasSignalled && runs.contains { $0.lastSource == item } ? .lastSourceCounts : nil
    }

    mutating func removes(_ item: Int) -> Rule? {
        leaves(item)
        guard timers[item]?.due == .now, timers.values.contains(where: \.isFiring) else {
            return nil
        }
        return .timerLeftMode
    }

    /// A timer that is due is taken out of a mode, or is due no more.
    private mutating func leaves(_ item: Int) {
        if timers[item]?.due == .now { hasStaleTimer = true }
    }

    mutating func sets(_ item: Int, _ due: Due) {
        leaves(item)
        timers[item]?.due = due
    }

    mutating func timerBegins(_ item: Int) {
        hasLooked()
        withRun { $0.holdsTimerEvent = false }
        if ModeName.runnable.filter({ isIn(item, $0) }).count > 1 { hasStaleTimer = true }
        timers[item] = Timer(due: .never, isFiring: true)
        // The kernel's timer is armed for the next one, which is called in the same round.
        if hasDueTimer { hasStaleTimer = true }
    }

    mutating func timerEnds(_ item: Int) -> Rule? {
        timers[item]?.isFiring = false
        guard timers[item]?.due == .now, let mode = runs.last?.mode else { return nil }
        return ModeName.runnable.contains { $0 != mode && isIn(item, $0) }
            ? .ownDateInOtherMode : nil
    }
}
