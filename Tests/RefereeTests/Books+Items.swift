// The state of sources, ports and timers, as far as rules need it.

import RunLoops

extension Books {
    /// The state of a timer.
    struct TimerBook {
        /// The unit at which it is due; `.max` for never.
        var due: Int
        let interval: Interval
        /// Whether that was past already when it was set.
        var wasPast = false
        var isFiring = false
        /// Whether a nested run has called it while another timer is being called.
        var wasCalledInside = false
        /// The unit for which it is being called.
        var calledFor = 0
        /// The mode of the run that calls it.
        var calledIn: ModeName?

        /// Whether it will be due again at dates that follow from an earlier one.
        var keepsGrid: Bool {
            guard case .often = interval else { return false }
            return isFiring || due != .max
        }
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

    // MARK: Ports

    /// The ports that are ready in the mode of the innermost run.
    var readyPortsOfMode: [Int] {
        guard let mode = runs.last?.mode, !readyPorts.isEmpty else { return [] }
        return readyPorts.filter { isIn($0, mode) }
    }

    mutating func portIsSignalled(_ item: Int) -> Rule? {
        let isFirst = readyPorts.insert(item).inserted
        if !isFirst && program.items[item].carriesData { moreMessages[item, default: 0] += 1 }
        let rule = portChanges(item)
        return rule ?? signalPortIsReady(item)
    }

    mutating func portBegins(_ item: Int) -> Rule? {
        hasLooked()
        let holdsMore = moreMessages[item, default: 0] > 0
        if let more = moreMessages[item], more > 0 {
            moreMessages[item] = more - 1
        } else {
            readyPorts.remove(item)
        }
        withRun { run in
            run.heldPort = nil
            run.isWoken = false
        }
        return holdsMore ? .moreMessages : nil
    }

    mutating func portIsAdded(_ item: Int) -> Rule? {
        readyPorts.contains(item) ? signalPortIsReady(item) : nil
    }

    /// Ours wakes the loop for a port without a descriptor, and looks at it once the timers were
    /// called.
    private mutating func signalPortIsReady(_ item: Int) -> Rule? {
        guard program.items[item].isSignalPort else { return nil }
        isWakeLeft = true
        let isInTime = runs.contains { $0.hasPolled && isIn(item, $0.mode) }
        return isInTime ? .signalInSamePass : nil
    }

    private func portChanges(_ item: Int) -> Rule? {
        runs.contains { $0.heldPort == item } ? .eventTakenEarly : nil
    }

    func hasOneShotObserverOfWaiting(in mode: ModeName) -> Bool {
        program.items.indices.contains { index in
            guard case .observer(let activities, repeats: false, _) = program.items[index].kind
            else { return false }
            return !activities.isDisjoint(with: [.beforeWaiting, .afterWaiting])
                && isIn(index, mode)
        }
    }

    // MARK: Items and timers

    mutating func invalidates(_ item: Int) -> Rule? {
        timers[item]?.due = .max
        let wasSignalled = signalled.remove(item) != nil
        return wasSignalled && runs.contains { $0.lastSource == item } ? .lastSourceCounts : nil
    }

    mutating func removes(_ item: Int) -> Rule? {
        if let rule = portChanges(item) { return rule }
        guard isDue(item), timers.values.contains(where: \.isFiring) else { return nil }
        return .timerLeftMode
    }

    /// Another thread changes where items are, in a pass: whether it shows when ours does it.
    ///
    /// - Parameter left: what observers will yet be told of in this pass.
    func changesInPass(_ items: [Int], left: ThreadRunLoop.Activity) -> Rule? {
        let shows = items.contains { item in
            if isDue(item) || readyPorts.contains(item) { return true }
            if signalled.contains(item) && mayComeToSources { return true }
            guard case .observer(let activities, _, _) = program.items[item].kind else {
                return false
            }
            return !activities.isDisjoint(with: left)
        }
        return shows ? .changeByOthers : nil
    }

    /// Whether the innermost run's pass may have to come to the sources yet.
    private var mayComeToSources: Bool {
        guard let run = runs.last else { return false }
        return !run.hasPolled && run.told != .beforeWaiting
    }

    /// Activities that observers will yet be told of in the innermost run's pass, or may be told
    /// right now.
    var activitiesLeft: ThreadRunLoop.Activity {
        let all: [ThreadRunLoop.Activity] = [
            .beforeTimers, .beforeSources, .beforeWaiting, .afterWaiting,
        ]
        let told = runs.last?.told ?? .entry
        return all.reduce(into: []) { left, activity in
            if activity.rawValue >= told.rawValue { left.formUnion(activity) }
        }
    }

    /// Whether a timer of the innermost run's mode is due.
    var hasDueTimer: Bool {
        guard let mode = runs.last?.mode else { return false }
        return timers.contains { index, timer in
            timer.due <= timetable.now && !timer.isFiring && isIn(index, mode)
        }
    }

    /// Whether several timers of the innermost run's mode are due, one of them for a date that was
    /// past when it was set: that date counts in which order they are called, but not for
    /// CFRunLoop.
    var isOneOfSeveralDueLongPast: Bool {
        guard let mode = runs.last?.mode else { return false }
        let due = timers.filter { index, timer in
            timer.due <= timetable.now && !timer.isFiring && isIn(index, mode)
        }
        return due.count > 1 && due.values.contains(where: \.wasPast)
    }

    private func isDue(_ item: Int) -> Bool {
        timers[item].map { $0.due <= timetable.now } ?? false
    }

    /// When the next timer of a mode is due; nil when that is now or never.
    func nextTimer(in mode: ModeName) -> Int? {
        let waiting = timers.filter { index, timer in
            timer.due > timetable.now && timer.due != .max && !timer.isFiring && isIn(index, mode)
        }
        return waiting.values.map(\.due).min()
    }

    /// The unit that a date of the program means for a timer.
    func unit(of item: Int, _ due: Due) -> Int {
        let lane = program.items[..<item].count(where: \.isTimer)
        return switch due {
        case .now: timetable.now
        case .never: .max
        case .past: timetable.unit(turns: -1, lane: lane)
        case .soon(let turns): timetable.unit(turns: turns, lane: lane)
        }
    }

    mutating func sets(_ item: Int, _ due: Due) {
        timers[item]?.due = .max
        if case .soon = due { restartIfNothingIsDue() }
        let unit = unit(of: item, due)
        timers[item]?.due = unit
        timers[item]?.wasPast = due == .past
    }

    /// Waits before a date is set to now until the timer's next place has come, so that the dates
    /// that follow keep to its places.
    ///
    /// - Returns: the unit of that place; nil for a timer that has none.
    mutating func waitsToSetNow(_ item: Int) -> Int? {
        guard isOften(item) else { return nil }
        timers[item]?.due = .max
        restartIfNothingIsDue()
        let place = unit(of: item, .soon(1))
        timetable.holdUp(until: place)
        return place
    }

    func isOften(_ item: Int) -> Bool {
        if case .often = timers[item]?.interval { true } else { false }
    }

    mutating func timerBegins(_ item: Int) {
        hasLooked()
        withRun { $0.holdsTimerEvent = false }
        noteArmedModes()
        let isInside = timers.values.contains(where: \.isFiring)
        if var timer = timers[item] {
            timer.calledFor = timer.due
            timer.due = .max
            timer.isFiring = true
            timer.wasCalledInside = isInside
            timer.calledIn = runs.last?.mode
            timers[item] = timer
        }
        // The first of a pass takes the event. The kernel's timer is armed for the next one, and
        // that stays, though it is called in the same pass.
        if let run = runs.last, !run.hasFiredTimer { armedModes.remove(run.mode) }
        withRun { $0.hasFiredTimer = true }
        noteArmedModes()
    }

    mutating func timerEnds(_ item: Int, wasSet: Bool) -> Rule? {
        let rule = dateAfterCall(of: item, wasSet: wasSet)
        let isDueAgain = timers.contains { index, timer in
            index != item && timer.wasCalledInside && isDue(index)
        }
        if !timers.values.contains(where: \.isFiring) {
            for index in Array(timers.keys) { timers[index]?.wasCalledInside = false }
        }
        return rule ?? (isDueAgain ? .calledInNestedRun : nil)
    }

    private mutating func dateAfterCall(of item: Int, wasSet: Bool) -> Rule? {
        guard let timer = timers[item] else { return nil }
        timers[item]?.isFiring = false
        timers[item]?.wasPast = false
        if !wasSet, case .often(let turns) = timer.interval {
            let width = turns * Timetable.turn
            let late = max(0, timetable.now - timer.calledFor)
            // It may have been called for no date at all, which the trace then shows.
            let places = timer.calledFor == .max ? 0 : (late / width + 1) * width
            timers[item]?.due = timer.calledFor + places
            return timer.wasPast ? .pastDate : nil
        }
        if wasSet && timer.wasPast && timer.interval != .once { return .pastDate }
        guard timer.due != .max, let mode = runs.last?.mode else { return nil }
        return ModeName.runnable.contains { $0 != mode && isIn(item, $0) }
            ? .ownDateInOtherMode : nil
    }

    // MARK: CoreFoundation's timer in the kernel

    /// Whether the kernel's timer of a mode is armed though no timer waits there, or for the date
    /// of one that is being called in another mode.
    func isStale(_ mode: ModeName) -> Bool {
        let isCalled = timers.contains { index, timer in
            timer.isFiring && timer.calledIn != mode && isIn(index, mode)
        }
        return isCalled || armedModes.contains(mode) && !hasWaitingTimer(mode)
    }

    mutating func noteArmedModes() {
        for mode in ModeName.runnable where hasWaitingTimer(mode) { armedModes.insert(mode) }
    }

    private func hasWaitingTimer(_ mode: ModeName) -> Bool {
        timers.contains { index, timer in !timer.isFiring && isIn(index, mode) }
    }
}
