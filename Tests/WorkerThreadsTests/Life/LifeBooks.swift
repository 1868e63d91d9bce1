// What a life game knows of its thread: what was handed over and asked for, and in which order it ran.

import Kernel
import WorkerThreads

/// An item that was handed to the thread.
struct LifeItem: Sendable {
    enum Kind: Sendable, Equatable {
        case submitted
        case delayed(milliseconds: Int)
        case command
        case block
    }

    let kind: Kind
    let player: LifePlayer
    var progress = GameProgress.waits
    var ticket: WorkerThread.Ticket?
    var dueAt: Instant?
    /// Whether it came after the thread had been told to stop.
    var isAfterStop = false

    /// Whether the thread counts it as abandoned if it never runs.
    var isCounted: Bool {
        switch kind {
        case .submitted, .delayed: true
        case .command, .block: false
        }
    }
}

/// How far an item of a game has come.
enum GameProgress: Sendable {
    case refused
    case waits
    case cancelled
    case runs
    case hasRun

    /// Whether it is taken and has not ended.
    var isOpen: Bool { self == .waits || self == .runs }
}

/// The books of one life, and the promises that they are compared with.
struct LifeBooks: Sendable {
    private(set) var life = LifeCycle()
    private(set) var faults: [String] = []
    private var items: [LifeItem] = []
    /// Whether no submitted item may begin: asked for on the thread itself, or long enough ago.
    private var holdsSubmitted = false
    /// Whether nothing may begin at all: the thread sleeps in mode `paused`.
    private var holdsAll = false
    private var changeCount = 0
    private var stoppedAt: Instant?
    private var servingCount = 0

    /// What waits in the thread's queue.
    private var submittedThatWait: [Int] {
        items.indices.filter { items[$0].kind == .submitted && items[$0].progress == .waits }
    }

    /// Notes what was handed over: the thread takes all before a stop, and nothing after it.
    mutating func note(_ item: LifeItem) {
        if item.isCounted && (item.progress == .refused) != (life.stop != nil) {
            faults.append("item \(items.count) was taken after a stop, or refused before it")
        }
        if item.progress == .refused && life.stop == nil {
            faults.append("item \(items.count) was refused")
        }
        items.append(item)
    }

    var nextNumber: Int { items.count }

    /// The last item that can be asked to be taken back.
    var lastTicket: (number: Int, ticket: WorkerThread.Ticket)? {
        for number in items.indices.reversed() {
            if let ticket = items[number].ticket { return (number, ticket) }
        }
        return nil
    }

    mutating func noteCancel(of number: Int, succeeded: Bool) {
        // What has been told to stop, or begins just now, may be out of reach already.
        if succeeded {
            if items[number].progress != .waits { faults.append("item \(number) taken back late") }
            items[number].progress = .cancelled
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
        if life.stop != nil && stoppedAt == nil { stoppedAt = now }
        holdsAll = false
        holdsSubmitted = life.holdsWaiting && (holdsSubmitted || player == .thread)
    }

    mutating func begin(_ number: Int) {
        let item = items[number]
        if item.progress != .waits { faults.append("item \(number) began, was \(item.progress)") }
        items[number].progress = .runs
        if holdsAll || (holdsSubmitted && item.kind == .submitted) {
            faults.append("item \(number) began in spite of a pause or stop")
        }
        if servingCount > 0 { faults.append("item \(number) began while a job was served") }
        let earlier = items[..<number].contains {
            $0.kind == .submitted && $0.player == item.player && $0.progress == .waits
        }
        if item.kind == .submitted && earlier { faults.append("item \(number) overtook another") }
    }

    mutating func end(_ number: Int) { items[number].progress = .hasRun }

    /// What a nested run that begins now has to run.
    func beginNest() -> (waiting: [Int], changeCount: Int) {
        (life.holdsWaiting ? [] : submittedThatWait, changeCount)
    }

    mutating func endNest(_ nest: (waiting: [Int], changeCount: Int)) {
        guard nest.changeCount == changeCount else { return }
        for number in nest.waiting where items[number].progress == .waits {
            faults.append("item \(number) waits, a nested run left it out")
        }
    }

    mutating func beginServing() { servingCount += 1 }

    mutating func endServing() { servingCount -= 1 }

    /// The thread sleeps, or has ended.
    mutating func settled(now: Instant, hasEnded: Bool) {
        if hasEnded { return }
        if life.stop != nil { faults.append("told to stop, and asleep") }
        if life.holdsWaiting {
            holdsSubmitted = true
            holdsAll = true
            return
        }
        for (number, item) in items.enumerated() where item.progress.isOpen {
            if let dueAt = item.dueAt, dueAt > now { continue }
            faults.append("item \(number) did not run, and nothing holds it")
        }
    }

    mutating func threadEnded(abandonedCount: Int) {
        for (number, item) in items.enumerated() {
            if item.progress == .runs { faults.append("item \(number) was left in its middle") }
            guard item.progress == .waits, life.stop == .finishQueued else { continue }
            let wasDue = item.dueAt.map { $0 <= stoppedAt ?? .distantFuture } ?? true
            if !item.isAfterStop && wasDue {
                faults.append("item \(number) was left out at the end")
            }
        }
        let expected = items.count { $0.isCounted && $0.progress == .waits }
        if abandonedCount != expected {
            faults.append("\(abandonedCount) abandoned, not \(expected)")
        }
    }
}
