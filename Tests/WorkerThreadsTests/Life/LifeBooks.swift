// The books of a life game: work that was handed over and asked for, and the order in which it ran.

import Kernel
import Support
import WorkerThreads

/// An item that was handed to the thread.
struct LifeItem: Sendable {
    enum Kind: Sendable, Equatable {
        case submitted
        /// Submitted by a task, which waits for its end.
        case awaited
        case delayed(milliseconds: Int)
        /// A selector that is performed in the common modes.
        case performed
        case command
        /// One that a message port receives.
        case message
        case block
        /// A task of the thread's executor, in two steps.
        case task
        /// One that sleeps between its steps by the clock of the thread's loop.
        case sleeper(milliseconds: Int)
    }

    let kind: Kind
    let player: LifePlayer
    var progress = GameProgress.waits
    var ticket: WorkerThread.Ticket?
    var dueAt: Instant?
    /// When a task that sleeps is to go on.
    var wakesAt: Instant?
    /// Opens at the end of a task of the thread's executor.
    let taskEnd = Latch()
    /// Whether it came after the thread had been told to stop.
    var isAfterStop = false
    /// Whether a thread of its own hands it over, which may be blocked.
    var isSent = false
    /// Why it was refused.
    var refusal: SubmitError?
    /// The answer to its sender, if that one waits for it.
    var answer: LifeAnswer?
    var task: Task<Void, Never>?
    /// Goes with its closure.
    var token: WeakReference<Token>?
    /// Whether its task was cancelled when its thread may have begun or refused it already.
    var isAskedBack = false

    var isQueued: Bool { kind == .submitted || kind == .awaited }

    /// Whether it is a task of the thread's executor.
    var isTask: Bool {
        switch kind {
        case .task, .sleeper: true
        default: false
        }
    }

    /// Whether its sender was told that it is not taken.
    var isSentBack: Bool { isSent && answer?.outcome != .done }

    var hasBegun: Bool { progress == .runs || progress == .hasRun }

    /// Whether it waits, and gave way to another: its closure is gone, or the task that keeps it
    /// was told.
    var isGone: Bool {
        guard isQueued, !isSent, progress == .waits else { return false }
        if let answer { return answer.outcome == .refused(.dropped(thread: "life")) }
        return token.map { $0.object == nil } ?? false
    }

    /// Whether it certainly waits for its turn.
    var isExpected: Bool { isQueued && !isSent && progress == .waits && !isAskedBack }

    /// Whether those of its kind begin in the order in which they came, and a run takes all of
    /// them.
    var keepsOrderByKind: Bool { kind == .performed || kind == .message }

    /// Whether it is of this kind, and waits.
    func waits(as kind: Kind) -> Bool { self.kind == kind && progress == .waits }

    /// Whether the thread counts it as abandoned if it never runs.
    var isCountedIfLeft: Bool {
        switch kind {
        case .submitted, .awaited, .delayed, .performed, .command, .message, .block: true
        case .task, .sleeper: false
        }
    }

    /// Whether the thread refuses it after a stop, and holds it in a pause.
    var isCounted: Bool {
        switch kind {
        case .submitted, .awaited, .delayed, .performed: true
        case .command, .message, .block, .task, .sleeper: false
        }
    }
}

/// How far an item of a game has come.
enum GameProgress: Sendable {
    case refused
    case waits
    case cancelled
    /// It gave way to another.
    case dropped
    case runs
    case hasRun

    /// Whether it is taken and has not ended.
    var isOpen: Bool { self == .waits || self == .runs }
}

/// The books of one life, and the promises that they are compared with.
struct LifeBooks: Sendable {
    private(set) var life = LifeCycle()
    var faults: [String] = []
    var items: [LifeItem] = []
    let room: LifeRoom
    var lastDroppedCount = 0
    /// How many waited for room when the thread was told to stop.
    private var linedAtStop = 0...0
    /// Whether no submitted item may begin: asked for on the thread itself, or long enough ago.
    private(set) var holdsSubmitted = false
    /// Whether nothing may begin at all: the thread sleeps in mode `paused`.
    private var holdsAll = false
    private var changeCount = 0
    private var stoppedAt: Instant?
    private var servingCount = 0

    init(room: LifeRoom) { self.room = room }

    /// The items that wait in the thread's queue.
    private var submittedThatWait: [Int] {
        items.indices.filter { items[$0].isExpected }
    }

    /// Notes what was handed over: the thread takes all before a stop that it has room for, and
    /// nothing after it.
    mutating func note(_ item: LifeItem, now: Instant, droppedCount: Int) {
        let number = items.count
        let isRefused = item.progress == .refused
        if life.stop != nil {
            let isRight = !item.isCounted || item.isSent || item.refusal == .stopped(thread: "life")
            if !isRight { faults.append("item \(number) was taken after a stop") }
            return items.append(item)
        }
        if isRefused && !item.isCounted { faults.append("item \(number) was refused") }
        if let fault = roomFault(of: item, now: now) { faults.append("item \(number) \(fault)") }
        items.append(item)
        noteDropped(for: item.player, droppedCount: droppedCount)
        if isOverfull(for: item.player) { faults.append("item \(number) found no room") }
    }

    var nextNumber: Int { items.count }

    /// The last item that can be asked to be taken back.
    var lastTaken: Int? { items.lastIndex { $0.ticket != nil || $0.task != nil } }

    mutating func noteCancel(of number: Int, succeeded: Bool) {
        // Work that was told to stop, or begins just now, may be out of reach already.
        if succeeded {
            if items[number].progress != .waits { faults.append("item \(number) taken back late") }
            items[number].progress = .cancelled
        }
    }

    /// Notes that a task which waits for an item was cancelled.
    mutating func noteCancelledTask(of number: Int, by player: LifePlayer) {
        guard items[number].progress == .waits else { return }
        if life.stop == nil && isAlone(player) {
            items[number].progress = .cancelled
        } else {
            items[number].isAskedBack = true
        }
    }

    mutating func change(_ move: LifeMove, by player: LifePlayer, now: Instant) {
        let changed =
            switch move {
            case .pause: life.pause()
            case .resume: life.resume()
            case .stop(let policy): life.stop(policy)
            default: false
            }
        guard changed else { return }
        changeCount += 1
        if life.stop != nil && stoppedAt == nil {
            stoppedAt = now
            linedAtStop = lined(for: player)
        }
        holdsAll = false
        holdsSubmitted = life.beginsNothing && (holdsSubmitted || player == .thread)
    }

    mutating func begin(_ number: Int) {
        let item = items[number]
        if item.progress != .waits { faults.append("item \(number) began, was \(item.progress)") }
        items[number].progress = .runs
        if item.isTask { return beginTask(number) }
        if holdsAll || (holdsSubmitted && item.isCounted) {
            faults.append("item \(number) began in spite of a pause or stop")
        }
        if isServing { faults.append("item \(number) began while a job was served") }
        let earlier = items[..<number].contains {
            $0.isExpected
        }
        if item.isQueued && !item.isSent && earlier {
            faults.append("item \(number) overtook another")
        }
        if item.keepsOrderByKind && items[..<number].contains(where: { $0.waits(as: item.kind) }) {
            faults.append("item \(number) overtook another \(item.kind)")
        }
    }

    private mutating func beginTask(_ number: Int) {
        noteStep(of: number)
        if items[..<number].contains(where: { $0.isTask && $0.progress == .waits }) {
            faults.append("task \(number) overtook another")
        }
    }

    /// Notes a step of a task: a pause holds it, if no job is served; a stop does not.
    mutating func noteStep(of number: Int) {
        if life.stop == nil && !isServing && (holdsAll || holdsSubmitted) {
            faults.append("task \(number) went on in spite of a pause")
        }
    }

    /// Notes that a task begins to sleep.
    mutating func noteSleep(of number: Int, until instant: Instant) {
        items[number].wakesAt = instant
    }

    /// Notes that a task's sleep has ended, by itself or because there is no loop any more.
    mutating func noteWaking(of number: Int, now: Instant, isLoopGone: Bool) {
        if isLoopGone {
            if life.stop == nil { faults.append("the sleep of task \(number) lost its loop") }
        } else if let wakesAt = items[number].wakesAt, wakesAt > now {
            faults.append("task \(number) woke before its time")
        }
    }

    mutating func end(_ number: Int) {
        items[number].progress = .hasRun
        items[number].taskEnd.open()
    }

    /// The work of a nested run that begins now.
    func beginNest() -> (waiting: [Int], changeCount: Int) {
        // Items that waited for room may have been refused.
        let isSure = !life.beginsNothing && linedAtStop.upperBound == 0
        let tasks = items.indices.filter(isTaskThatWaits)
        let messages = items.indices.filter { items[$0].waits(as: .message) }
        let performs = items.indices.filter { items[$0].waits(as: .performed) }
        return (
            (isSure ? submittedThatWait + performs : []) + (life.isPaused ? [] : tasks) + messages,
            changeCount
        )
    }

    mutating func endNest(_ nest: (waiting: [Int], changeCount: Int)) {
        guard nest.changeCount == changeCount else { return }
        for number in nest.waiting where mustHaveBegun(number) {
            faults.append("item \(number) waits, a nested run left it out")
        }
    }

    /// Whether an item waits that a run does not leave out.
    private func mustHaveBegun(_ number: Int) -> Bool {
        let item = items[number]
        return item.isExpected || isTaskThatWaits(number)
            || (item.keepsOrderByKind && item.progress == .waits)
    }

    private func isTaskThatWaits(_ number: Int) -> Bool {
        items[number].isTask && items[number].progress == .waits
    }

    /// The end of a task that has not come to it.
    var nextTaskEnd: Latch? { items.first { $0.isTask && $0.progress.isOpen }?.taskEnd }

    /// Whether a job is served.
    var isServing: Bool { servingCount > 0 }

    mutating func beginServing() { servingCount += 1 }

    mutating func endServing() { servingCount -= 1 }

    /// The thread sleeps, or has ended.
    mutating func settled(now: Instant, hasEnded: Bool) {
        if hasEnded { return }
        if life.stop != nil { faults.append("told to stop, and asleep") }
        if life.beginsNothing {
            holdsSubmitted = true
            holdsAll = true
            return
        }
        for (number, item) in items.enumerated() where item.progress.isOpen {
            if let dueAt = item.dueAt ?? item.wakesAt, dueAt > now { continue }
            faults.append("item \(number) did not run, and nothing holds it")
        }
    }

    mutating func threadEnded(abandonedCount: Int) {
        hear()
        var leftCount = 0
        for (number, item) in items.enumerated() {
            if item.progress == .runs { faults.append("item \(number) was left in its middle") }
            guard item.progress == .waits, life.stop == .finishQueued else { continue }
            let wasDue = item.dueAt.map { $0 <= stoppedAt ?? .distantFuture } ?? true
            if item.isAfterStop || !wasDue || item.isSentBack { continue }
            if item.isQueued && linedAtStop.upperBound > 0 {
                leftCount += 1
            } else {
                faults.append("item \(number) was left out at the end")
            }
        }
        // No sender gets in any more that waited for room then.
        if life.stop == .finishQueued && !linedAtStop.contains(leftCount) {
            faults.append("\(leftCount) were left out, \(linedAtStop) waited for room")
        }
        let left = items.count {
            $0.isCountedIfLeft && $0.progress == .waits && !$0.isSentBack
        }
        let expected = max(0, left - linedAtStop.upperBound)...max(0, left - linedAtStop.lowerBound)
        if !expected.contains(abandonedCount) {
            faults.append("\(abandonedCount) abandoned, not \(expected)")
        }
    }

    /// Compares what senders are told with what became of their items.
    mutating func hear() {
        for (number, item) in items.enumerated() {
            guard let answer = item.answer else { continue }
            if item.progress == .runs { continue }
            if item.progress == .waits && life.stop == nil && !item.isAskedBack { continue }
            let outcome = answer.wait()
            if item.isAskedBack && item.progress == .waits && outcome == .cancelled {
                items[number].progress = .cancelled
            }
            let stopped = LifeOutcome.refused(.stopped(thread: "life"))
            let isRight =
                switch items[number].progress {
                case .refused: outcome == item.refusal.map { .refused($0) }
                case .waits: outcome == stopped || (item.isSent && outcome == .done)
                case .cancelled: outcome == .cancelled
                case .dropped: outcome == .refused(.dropped(thread: "life"))
                case .runs, .hasRun: outcome == .done
                }
            if !isRight { faults.append("the sender of item \(number) was told \(outcome as Any)") }
        }
    }
}
