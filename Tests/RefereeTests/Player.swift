// Plays a program on a machine and notes what is observed. It keeps a run from sleeping in earnest:
// right before each sleep it does something that ends it, unless a timer or port that is due will.

import Kernel
import RunLoops

/// One play of one program, on one thread.
final class Player {
    let program: Program
    private var trace: [String] = []
    private var books: Books
    private var machine: (any Machine)?
    private var tellsOfWaitingWithReadyPort = false
    private var rounds: [Int]
    /// Modes that sources entered and left in the operation under way: the sequence is open.
    private var registrations: [String] = []
    /// How the sleeps of each run under way end; nil in a brief one, whose sleeps are not ended.
    private var endings: [[Ending]?] = []
    /// Timers whose own callouts have set their date.
    private var timersSet: Set<Int> = []
    /// The act of another thread during the sleep under way.
    private var errand: Errand?
    /// The items that another thread has moved in this pass, and where they were before: that
    /// counts until the pass has ended, by when both loops have moved them.
    private var moved: [Int: [ModeName]] = [:]
    /// The change that the other thread made; nil when both loops have done it.
    private var pendingChange: Change?
    /// Whether that was in a block, which may have been the last thing of the pass.
    private var wasMovedInBlock = false
    /// Whether another thread changes where items are outside of runs.
    private var isChangedByAnother = false
    /// Whether an item enters or leaves one mode right now, which may do something then.
    private var isOneMove = false
    /// Sources that have done what they do as they enter a mode, and as they leave one.
    private var entered: Set<Int> = []
    private var left: Set<Int> = []
    /// Items that were added to the common modes at some time.
    private var common: Set<Int> = []
    /// Modes that sources entered and left meanwhile: when in the pass is open.
    private var lateRegistrations: [String] = []
    /// Whether no rule has applied yet, so that what is noted will be compared.
    private var isCompared = true

    private init(_ program: Program, unit: Duration) {
        self.program = program
        rounds = Array(repeating: 0, count: program.items.count)
        books = Books(program, unit: unit) { _, _ in false }
    }

    /// Plays a program.
    ///
    /// - Parameter unit: how long a unit of the timetable is.
    static func play<M: Machine>(_ program: Program, on kind: M.Type, unit: Duration) -> Play {
        let player = Player(program, unit: unit)
        let machine = kind.init(program, player: player)
        player.machine = machine
        player.tellsOfWaitingWithReadyPort = kind.tellsOfWaitingWithReadyPort
        let timetable = player.books.timetable
        player.books = Books(program, unit: unit) { [weak machine, unowned player] item, mode in
            guard let machine, machine.isValid(item) else { return false }
            if let modes = player.moved[item] { return modes.contains(mode) }
            return machine.contains(item, in: mode)
        }
        player.books.timetable = timetable
        for mode in ModeName.runnable { machine.watch(mode) }
        player.play(program.main)
        player.noteEnd(of: machine)
        let trace = player.trace
        machine.close()
        player.machine = nil
        return Play(trace: trace, fault: player.books.timetable.fault)
    }

    /// Has something else than a program played on a machine whose items are in the default mode.
    ///
    /// - Returns: what its items' callouts have noted.
    static func playStorm<M: Machine>(
        _ program: Program, on kind: M.Type, _ body: (any Machine) -> Void
    ) -> [String] {
        let player = Player(program, unit: .milliseconds(1))
        let machine = kind.init(program, player: player)
        player.machine = machine
        for item in program.items.indices { machine.add(item, to: .standard) }
        body(machine)
        let trace = player.trace
        machine.close()
        player.machine = nil
        return trace
    }

    // MARK: Dates for the machine

    func firstDate(of item: Int) -> TimerDate {
        date(of: item, unit: books.timers[item]?.due ?? .max)
    }

    func duration(of interval: Interval) -> Duration? {
        switch interval {
        case .once: nil
        case .rarely: rareInterval
        case .often(let turns): books.timetable.unit * (turns * Timetable.turn)
        }
    }

    private func date(of item: Int, unit: Int) -> TimerDate {
        if unit == .max { return .never }
        let isNow = unit <= books.timetable.now && books.timers[item]?.wasPast == false
        return isNow ? .now : .at(books.timetable.date(of: unit))
    }

    // MARK: Callouts of the machine

    func perform(_ item: Int) {
        trace.append("\(program.name(item)) performs")
        mark(books.sourcePerforms(item))
        callout(of: item)
    }

    func handle(_ item: Int) {
        trace.append("\(program.name(item)) is handled")
        mark(books.portBegins(item))
        callout(of: item)
    }

    func handleInVain(_ item: Int) {
        trace.append("\(program.name(item)) \(Comparison.inVain)")
    }

    func tell(_ item: Int, _ activity: ThreadRunLoop.Activity) {
        if isSilent(activity) { return }
        trace.append("\(program.name(item)) is told \(activity)")
        callout(of: item)
    }

    func fire(_ item: Int) {
        checkTime()
        trace.append("\(program.name(item)) fires")
        books.timerBegins(item)
        timersSet.remove(item)
        callout(of: item)
        mark(books.timerEnds(item, wasSet: timersSet.contains(item)))
        // Its own call may have set it to now, while something else is ready.
        if timersSet.contains(item) { mark(books.standingRule()) }
    }

    func schedule(_ item: Int, _ mode: String) {
        register("\(program.name(item)) is scheduled in \(mode)")
        if isOneMove && entered.insert(item).inserted {
            playAsItMoves(program.items[item].whenScheduled)
        }
        // When a source enters a mode that another thread asked for is open, and on which thread.
        guard let mode = program.items[item].makesCommon, pendingChange == nil, !isChangedByAnother
        else { return }
        move(to: .common) { machine?.addCommonMode(mode) }
        allMayBeAdded()
    }

    func cancel(_ item: Int, _ mode: String) {
        register("\(program.name(item)) is cancelled in \(mode)")
        if isOneMove && left.insert(item).inserted {
            playAsItMoves(program.items[item].whenCancelled)
        }
    }

    /// Plays what a source does as it enters or leaves a mode; what else moves is told afterwards.
    private func playAsItMoves(_ script: [Operation]) {
        guard let machine else { return }
        isOneMove = false
        defer { isOneMove = true }
        for operation in script {
            play(operation, on: machine)
            mark(books.standingRule())
            checkTime()
        }
    }

    /// Moves an item into a mode or out of it, or all that are common.
    ///
    /// Its operations as it moves are played for one mode alone: of several the sequence is open,
    /// and CFRunLoop holds its lock meanwhile, as it does when it takes out what was made invalid.
    private func move(to mode: ModeName, _ act: () -> Void) {
        let was = isOneMove
        isOneMove = mode != .common && pendingChange == nil
        act()
        isOneMove = was
    }

    private func register(_ word: String) {
        if pendingChange == nil {
            registrations.append(word)
        } else {
            lateRegistrations.append(word)
        }
    }

    /// First of all observers.
    func isTold(_ activity: ThreadRunLoop.Activity, in mode: ModeName) {
        if activity == .beforeWaiting && tellsOfWaitingWithReadyPort {
            let isReady = !books.readyPortsOfMode.isEmpty
            books.withRun { $0.isSilent = isReady }
        }
        if isSilent(activity) { return }
        if activity == .afterWaiting {
            errand?.finish()
            errand = nil
            let late = books.wokeUp()
            if late != 0 && isCompared { trace.append("it woke \(late) units late") }
        }
        if activity == .exit && wasMovedInBlock { mark(.changeByOthers) }
        // A run that is nested in the pass has begun by doing it.
        if [.entry, .beforeTimers, .exit].contains(activity) { settle() }
        books.withRun { $0.told = activity }
        checkTime()
        trace.append("\(mode.rawValue): \(activity)")
        if activity == .beforeTimers { books.passBegins() }
        if activity == .beforeWaiting { books.isAboutToSleep() }
        if activity == .exit { books.hasLooked() }
    }

    /// Both loops have done what another thread asked for in the last pass.
    private func settle() {
        guard pendingChange != nil else { return }
        pendingChange = nil
        moved = [:]
        wasMovedInBlock = false
        trace += lateRegistrations.sorted()
        lateRegistrations.removeAll()
        mark(books.standingRule())
    }

    /// Whether only CFRunLoop tells of this, because a port was ready before the sleep.
    private func isSilent(_ activity: ThreadRunLoop.Activity) -> Bool {
        books.runs.last?.isSilent == true
            && (activity == .beforeWaiting || activity == .afterWaiting)
    }

    /// Ends the sleep that is about to begin.
    func aboutToSleep() {
        guard let last = endings.indices.last, !isSilent(.beforeWaiting) else { return }
        checkTime()
        if books.runs.last?.wasBlockAll == true { mark(.blockWasAll) }
        guard let left = endings[last] else { return mark(books.sleepsUntilNextEvent()) }
        endings[last]?.removeFirst(left.isEmpty ? 0 : 1)
        books.sleeps()
        if books.hasDueTimer || !books.readyPortsOfMode.isEmpty { return }
        guard let ending = left.first else { return stop(.itself) }
        end(by: ending)
    }

    private func end(by ending: Ending) {
        guard let machine, let mode = books.runs.last?.mode else { return }
        // A sleep that may end by itself is not waited for.
        let isEarnest = books.sleepsInEarnest() == nil && !books.isWakePending
        let caller = isEarnest || ending.caller == .itself ? ending.caller : .another
        switch ending.act {
        case .signal(let item) where program.items[item].isSource:
            if machine.isValid(item) { books.signals(item) }
            call(caller) { machine in
                machine.signal(item)
                machine.wakeUp()
            }
            books.wakes()
        case .signal(let item)
        where program.items[item].isPort && books.isIn(item, mode) && moved[item] == nil:
            mark(books.sleepsInEarnest())
            mark(books.portIsSignalled(item))
            mark(books.standingRule())
            call(caller) { $0.signal(item) }
        case .change(let change) where pendingChange == nil:
            self.change(change, by: caller == .itself ? .another : caller, left: .afterWaiting)
        case .perform(let block):
            let body = body(of: block)
            call(caller) { $0.perform(inModes: block.modes, body) }
            books.wakes()
        case .stop: stop(caller)
        case .nothing where books.nextTimer(in: mode) != nil:
            mark(books.sleepsUntilNextEvent())
        default:
            call(caller) { $0.wakeUp() }
            books.wakes()
        }
    }

    // MARK: Operations

    private func callout(of item: Int) {
        checkTime()
        let round = rounds[item]
        rounds[item] += 1
        let scripts = program.items[item].scripts
        if round < scripts.count { play(scripts[round]) }
    }

    private func play(_ operations: [Operation]) {
        guard let machine else { return }
        for operation in operations {
            play(operation, on: machine)
            trace += registrations.sorted()
            registrations.removeAll()
            mark(books.standingRule())
            checkTime()
        }
    }

    private func play(_ operation: Operation, on machine: any Machine) {
        if let change = pendingChange, operation.mayMeet(change, of: moved.keys) {
            mark(.changeByOthers)
        }
        switch operation {
        case .add(let item, let mode):
            note(item, in: mode)
            move(to: mode) { machine.add(item, to: mode) }
            mark(books.portIsAdded(item))
        case .remove(let item, let mode):
            mark(books.removes(item))
            move(to: mode) { machine.remove(item, from: mode) }
        case .invalidate(let item):
            mark(books.invalidates(item))
            machine.invalidate(item)
        case .changeFromElsewhere(let change): play(change, on: machine)
        case .signal(let item, let caller): signal(item, caller, on: machine)
        case .setDate(let item, let due):
            setDate(item, due, on: machine)
        case .holdUp(let places): books.holdsUp(places)
        case .wakeUp(let caller):
            books.wakes()
            call(caller) { $0.wakeUp() }
        case .stop(let caller): stop(caller)
        case .addCommonMode(let mode):
            machine.addCommonMode(mode)
            allMayBeAdded()
        case .enqueue(let block, let caller):
            let body = body(of: block)
            call(caller) { $0.enqueue(inModes: block.modes, body) }
        case .perform(let block, let caller):
            let body = body(of: block)
            books.wakesForBlock(from: caller)
            call(caller) { $0.perform(inModes: block.modes, body) }
        case .look(let item): trace.append(look(at: machine).words(of: item))
        case .lookAtLoop: trace.append(look(at: machine).wordsOfLoop)
        case .run(let mode, let limit, let returnsAfterSource):
            run(mode, limit, returnsAfterSource, on: machine)
        }
    }

    private func play(_ change: Change, on machine: any Machine) {
        if books.runs.last?.isInPass == true && pendingChange == nil {
            return self.change(change, by: .another, left: books.activitiesLeft)
        }
        // Before the first pass, or behind another change, it is open when ours would do it.
        guard books.runs.isEmpty else { return play(change.operation, on: machine) }
        switch change {
        case .add(let item, let mode): note(item, in: mode)
        case .makeCommon: break
        case .remove(let item, _): mark(books.removes(item))
        case .invalidate(let item): mark(books.invalidates(item))
        }
        isChangedByAnother = true
        call(.another) { $0.change(change) }
        machine.takeChanges()
        isChangedByAnother = false
        books.wakes()
        allMayBeAdded()
    }

    /// Lets another thread change where items are, in a pass.
    ///
    /// - Parameter left: what observers will yet be told of in this pass.
    private func change(_ change: Change, by caller: Caller, left: ThreadRunLoop.Activity) {
        guard let machine else { return }
        let items = change.item.map { [$0] } ?? Array(common)
        mark(books.changesInPass(items, left: left))
        switch change {
        case .add(let item, let mode): note(item, in: mode)
        case .remove(let item, _): mark(books.removes(item))
        case .invalidate(let item): mark(books.invalidates(item))
        case .makeCommon:
            // A block that waits may be for the common modes.
            if books.blockDepth > 0 && books.blocksWaiting > 0 { mark(.changeByOthers) }
        }
        for item in items {
            moved[item] = ModeName.allCases.filter { machine.contains(item, in: $0) }
        }
        pendingChange = change
        wasMovedInBlock = books.blockDepth > 0
        call(caller) { $0.change(change) }
        books.wakes()
    }

    private func note(_ item: Int, in mode: ModeName) {
        if mode == .common { common.insert(item) }
    }

    private func allMayBeAdded() {
        for item in program.items.indices { mark(books.portIsAdded(item)) }
    }

    private func setDate(_ item: Int, _ due: Due, on machine: any Machine) {
        guard program.items[item].isTimer else { return }
        timersSet.insert(item)
        guard machine.isValid(item) else { return machine.setDate(item, .now) }
        // A run that a time limit is to end can't wait.
        let due = due == .now && books.isOften(item) && books.isInBriefRun ? .soon(1) : due
        let unit = due == .now ? books.waitsToSetNow(item) : nil
        books.sets(item, due)
        machine.setDate(item, date(of: item, unit: books.timers[item]?.due ?? .max))
        if let unit { books.timetable.checkStart(of: unit) }
    }

    private func stop(_ caller: Caller) {
        books.wakes()
        call(caller) { $0.stop() }
    }

    private func signal(_ item: Int, _ caller: Caller, on machine: any Machine) {
        switch program.items[item].kind {
        case .source: if machine.isValid(item) { books.signals(item) }
        case .port: if machine.isValid(item) { mark(books.portIsSignalled(item)) }
        case .observer, .timer: return
        }
        call(caller) { $0.signal(item) }
    }

    private func run(
        _ mode: ModeName, _ limit: Limit, _ returnsAfterSource: Bool, on machine: any Machine
    ) {
        mark(books.runBegins(mode, limit, returnsAfterSource: returnsAfterSource))
        mark(books.standingRule())
        trace.append("run in \(mode.rawValue) begins")
        let duration: Duration
        switch limit {
        case .poll:
            endings.append([])
            duration = .zero
        case .past:
            endings.append([])
            duration = .seconds(-1)
        case .sleeps(let all):
            endings.append(all)
            duration = books.timetable.longestRun
        case .brief:
            endings.append(nil)
            let end = books.timetable.date(of: books.timetable.briefLimit)
            duration = SystemClock().now().duration(to: end)
        }
        let result = machine.run(mode, for: duration, returnsAfterSource: returnsAfterSource)
        settle()
        checkTime()
        endings.removeLast()
        books.runEnds()
        trace.append("run in \(mode.rawValue) ends \(result)")
    }

    /// The body of a block that is queued now.
    private func body(of block: Block) -> () -> Void {
        books.blockIsQueued()
        return { [weak self] in
            guard let self, self.machine != nil else { return }
            trace.append("block\(block.name) runs")
            books.blockBegins()
            play(block.script)
            books.blockEnds()
        }
    }

    /// Does something on the thread that is to do it.
    private func call(_ caller: Caller, _ act: @escaping (any Machine) -> Void) {
        guard let machine else { return }
        switch caller {
        case .itself: act(machine)
        case .another: Errand(for: machine, duringSleep: false, act).finish()
        case .anotherDuringSleep: errand = Errand(for: machine, duringSleep: true, act)
        }
    }

    private func mark(_ rule: Rule?) {
        guard let rule else { return }
        trace.append("rule \(rule.rawValue)")
        isCompared = false
    }

    private func checkTime() {
        if isCompared { books.timetable.check(next: books.nextUnit) }
    }

    private func look(at machine: any Machine) -> Look {
        Look(program: program, machine: machine, books: books)
    }

    private func noteEnd(of machine: any Machine) {
        let look = look(at: machine)
        trace += program.items.indices.map { look.words(of: $0) } + [look.wordsOfLoop]
        checkTime()
    }
}
