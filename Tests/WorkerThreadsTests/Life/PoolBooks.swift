// The books of a game: work of its pool that was handed over and asked for, and where and in which
// order it ran.

import Support
import WorkerThreads

/// An item that was handed to a pool.
struct PoolItem: Sendable {
    enum Address: Sendable, Hashable {
        case shared
        /// A member, through the pool.
        case own(Int)
        /// A member's thread, past the pool.
        case direct(Int)
        case key(Int)
    }

    let address: Address
    let priority: SubmitPriority
    var progress = GameProgress.waits
    var ticket: WorkerPool.Ticket?
    /// Where it runs.
    var member: Int?
    /// The members that may have been chosen for its key.
    var candidates: Set<Int> = []
    /// Whether it was refused for want of room.
    var isFull = false
    /// The answer to the task that waits for it.
    var answer: LifeAnswer?
    var task: Task<Void, Never>?
    /// Goes with its closure.
    var token: WeakReference<Token>?
    /// Whether its task was cancelled when a member may have begun or refused it already.
    var isAskedBack = false
    /// Whether it was handed to a thread that was replaced.
    var isFormer = false

    /// Whether it waits in the pool.
    var isPooled: Bool { if case .direct = address { false } else { true } }

    var isKeyed: Bool { if case .key = address { true } else { false } }

    /// Whether it waits, and gave way to another: its closure is gone, or the task that keeps it
    /// was told.
    var isGone: Bool {
        guard isPooled, progress == .waits else { return false }
        if let answer { return answer.outcome == .refused(.dropped(thread: "all")) }
        return token.map { $0.object == nil } ?? false
    }

    /// Whether this one goes before one that was handed over later.
    ///
    /// A later one of a higher priority goes before this, if this has not been taken by then.
    func precedes(_ later: PoolItem) -> Bool {
        guard address == later.address else { return false }
        if case .direct = address { return true }
        return priority.rawValue <= later.priority.rawValue
    }
}

/// The books of one pool's life, and the promises that they are compared with.
struct PoolBooks: Sendable {
    var faults: [String] = []
    var items: [PoolItem] = []
    let room: LifeRoom
    var lastDroppedCount = 0
    /// How many were dropped that the books do not know of.
    var unknownDropCount = 0
    /// How many items threads may have taken, and not begun, when they were replaced.
    private(set) var formerTakenCount = 0
    /// Members that stand still, and their gates; without a place if one was replaced meanwhile.
    private(set) var parked: [(member: Int?, gate: Gate)] = []
    /// Whether no player stands still any more.
    private(set) var isOver = false
    private(set) var lives: [LifeCycle]
    /// Members on which nothing may begin: they asked for it themselves, or long enough ago.
    private(set) var held: Set<Int> = []
    /// Where items of a key have ended since all slept: the pool learns of an end after the game.
    private var lastMembers: [PoolItem.Address: Set<Int>] = [:]
    /// Members that were told to stop before all of them were.
    private var stoppedEarly: Set<Int> = []

    init(memberCount: Int, room: LifeRoom) {
        self.room = room
        lives = Array(repeating: LifeCycle(), count: memberCount)
    }

    var nextNumber: Int { items.count }

    private var open: [Int] { lives.indices.filter { lives[$0].stop == nil } }

    mutating func note(_ item: PoolItem, number: Int, by player: Int?, droppedCount: Int) {
        var item = item
        if let fault = roomFault(of: item, by: player) ?? (item.isFull ? nil : acceptance(of: item))
        {
            faults.append("item \(number) \(fault)")
        }
        if case .key = item.address {
            let unpaused = open.filter { !lives[$0].isPaused }
            let bound = items.last { $0.address == item.address && $0.progress.isOpen }
            // A task that was cancelled in line keeps its key bound until a sender is given a
            // place.
            let cancelled = items.filter {
                $0.address == item.address && $0.task != nil && $0.progress == .cancelled
            }
            let free = cancelled.reduce(
                Set(unpaused.isEmpty ? open : unpaused).union(lastMembers[item.address] ?? [])
            ) { $0.union($1.candidates) }
            // One that was asked back may have left its key to be bound anew.
            item.candidates =
                bound.map { $0.isAskedBack ? $0.candidates.union(free) : $0.candidates } ?? free
        }
        items.append(item)
        noteDropped(for: player, droppedCount: droppedCount)
    }

    /// The fault in an item's having been taken or refused.
    private func acceptance(of item: PoolItem) -> String? {
        let isRefused = item.progress == .refused
        let isRight =
            switch item.address {
            case .shared: isRefused == open.isEmpty
            case .own(let member), .direct(let member): isRefused == (lives[member].stop != nil)
            // Its thread may refuse what it has not begun, and not have ended.
            case .key:
                isRefused
                    ? lives.contains { $0.stop == .finishCurrent } || open.isEmpty
                    : !open.isEmpty
                        || items.contains { $0.address == item.address && $0.progress.isOpen }
            }
        return isRight ? nil : isRefused ? "was refused" : "was taken"
    }

    /// Whether its thread may refuse an item that has not begun.
    func mayBeLeft(_ item: PoolItem) -> Bool {
        if item.isFormer { return true }
        // It may wait for room.
        let isInLine = room.whenFull == .wait && item.answer != nil
        switch item.address {
        // The member that is told to stop last finishes it.
        case .shared: return stoppedEarly.count == lives.count || (isInLine && open.isEmpty)
        case .own(let member):
            return lives[member].stop == .finishCurrent || (isInLine && lives[member].stop != nil)
        case .direct(let member): return lives[member].stop == .finishCurrent
        case .key:
            return item.candidates.contains {
                lives[$0].stop == .finishCurrent || (isInLine && lives[$0].stop != nil)
            }
        }
    }

    var lastTaken: Int? { items.lastIndex { $0.ticket != nil || $0.task != nil } }

    /// Notes that a task which waits for an item was cancelled.
    mutating func noteCancelledTask(of number: Int, by player: Int?) {
        guard items[number].progress == .waits else { return }
        if takenCount(besides: player) == 0 && !mayBeLeft(items[number]) {
            items[number].progress = .cancelled
        } else {
            items[number].isAskedBack = true
        }
    }

    /// Notes that the caller stands still.
    ///
    /// - Returns: the gate that it waits at; nil when no player does any more.
    mutating func park(_ player: Int?) -> Gate? {
        if isOver { return nil }
        let gate = Gate()
        parked.append((player, gate))
        return gate
    }

    /// Lets all go on.
    mutating func unpark(forGood: Bool = false) {
        if forGood { isOver = true }
        for (_, gate) in parked { gate.open() }
        parked = []
    }

    /// Whether a member stands still.
    func isParked(_ member: Int) -> Bool { parked.contains { $0.member == member } }

    /// Notes that a fresh thread sits in a member's place.
    mutating func replace(_ member: Int, by player: Int?) {
        if player != member && !held.contains(member) { formerTakenCount += 1 }
        for index in parked.indices where parked[index].member == member {
            parked[index].member = nil
        }
        for index in items.indices {
            if items[index].member == member && items[index].progress == .runs {
                items[index].member = nil
            }
            if items[index].address == .direct(member) && items[index].progress == .waits {
                items[index].isFormer = true
            }
        }
    }

    mutating func noteCancel(of number: Int) {
        if items[number].progress != .waits { faults.append("item \(number) taken back late") }
        items[number].progress = .cancelled
    }

    /// Notes what a member was told.
    ///
    /// - Parameter player: the member that runs the item which told it; nil for the user.
    mutating func change(
        _ member: Int, by player: Int?, isLast: Bool = false, _ change: (inout LifeCycle) -> Bool
    ) {
        guard change(&lives[member]) else { return }
        if lives[member].stop != nil && !isLast { stoppedEarly.insert(member) }
        if lives[member].beginsNothing {
            if player == member { held.insert(member) }
        } else {
            held.remove(member)
        }
    }

    /// - Parameter member: nil for a thread that was replaced.
    mutating func begin(_ number: Int, on member: Int?) {
        let item = items[number]
        if item.progress != .waits { faults.append("item \(number) began, was \(item.progress)") }
        items[number].progress = .runs
        items[number].member = member
        guard let member else { return beginLate(number) }
        if held.contains(member) {
            faults.append("item \(number) began on \(member), which is held")
        }
        switch item.address {
        case .shared: return
        case .own(let own), .direct(let own):
            if own != member || item.isFormer {
                faults.append("item \(number) began on \(member)")
            }
        case .key:
            let others = items.contains {
                $0.address == item.address && $0.progress == .runs && $0.member != nil
                    && $0.member != member
            }
            if others { faults.append("item \(number) began beside another of its key") }
        }
        let overtaken = items[..<number].firstIndex {
            $0.progress == .waits && $0.precedes(item) && !mayBeLeft($0) && !$0.isAskedBack
        }
        // A thread that was replaced may have it, or it gave way.
        if let overtaken, formerTakenCount == 0, unknownDropCount == 0 {
            faults.append("item \(number) overtook \(overtaken)")
        }
    }

    /// A thread that was replaced begins what it had taken before.
    private mutating func beginLate(_ number: Int) {
        if formerTakenCount == 0 { faults.append("item \(number) began on a former member") }
        formerTakenCount -= 1
    }

    mutating func end(_ number: Int) {
        items[number].progress = .hasRun
        guard items[number].isKeyed else { return }
        // Whose it was when its thread was replaced is not known any more.
        let members = items[number].member.map { [$0] } ?? Set(lives.indices)
        lastMembers[items[number].address, default: []].formUnion(members)
    }

    /// All members sleep, or have ended.
    ///
    /// Or stand still.
    mutating func settled(waitingCount: Int, newcomerCount: Int, boundKeyCount: Int) {
        formerTakenCount = 0
        hear()
        lastMembers = [:]
        for member in lives.indices where lives[member].beginsNothing { held.insert(member) }
        let stays = { [lives, parked] (member: Int) in
            lives[member].isPaused || parked.contains { $0.member == member }
        }
        let running = open.filter { !stays($0) }
        for (number, item) in items.enumerated() where item.progress.isOpen {
            if item.progress == .runs {
                let isStill = item.member.map(isParked) ?? parked.contains { $0.member == nil }
                if isStill { continue }
            }
            let isHeld =
                switch item.address {
                case .shared: running.isEmpty
                case .own(let member), .direct(let member): stays(member)
                case .key: item.candidates.contains(where: stays)
                }
            // Work that its thread has left out when it ended is counted at the end.
            let isHeldUp = isHeld || mayBeLeft(item) || isInLine(number) || unknownDropCount > 0
            if item.progress == .runs || !isHeldUp {
                faults.append(
                    "item \(number) did not run, and nothing holds it: \(item.address), "
                        + "it \(item.progress), may be on \(item.candidates) of \(lives)")
            }
        }
        guard stoppedEarly.isEmpty, lives.count > 1 else { return }
        if let fault = roomFault(waitingCount: waitingCount, newcomerCount: newcomerCount) {
            faults.append(fault)
        }
        let keys = Set(items.filter { $0.isKeyed && $0.progress.isOpen }.map(\.address)).count
        let cancelled = items.count { $0.isKeyed && $0.task != nil && $0.progress == .cancelled }
        if !(keys...(keys + cancelled)).contains(boundKeyCount) {
            faults.append("\(boundKeyCount) keys are bound, not \(keys)")
        }
    }

    mutating func threadsEnded(abandonedCount: Int) {
        hear(isOver: true)
        for (number, item) in items.enumerated() where item.progress.isOpen {
            if item.progress == .runs || !(mayBeLeft(item) || unknownDropCount > 0) {
                faults.append("item \(number) was left out at the end, it \(item.progress)")
            }
        }
        let left = items.filter { $0.progress == .waits }
        // A thread that ended after it was replaced told the pool nothing of what was its own.
        let formerCount = left.count { $0.isFormer }
        // Items that waited for room were not taken.
        let lined = room.whenFull == .wait ? left.count { $0.answer != nil } : 0
        let expected = max(0, left.count - unknownDropCount - lined - formerCount)...left.count
        if !expected.contains(abandonedCount) {
            faults.append("\(abandonedCount) abandoned, not \(expected)")
        }
    }

    /// Compares what tasks are told with what became of their items.
    ///
    /// - Parameter isOver: whether nothing runs any more.
    private mutating func hear(isOver: Bool = false) {
        for (number, item) in items.enumerated() {
            guard let answer = item.answer, item.progress != .runs else { continue }
            if item.progress == .waits && !isOver && !item.isAskedBack { continue }
            let outcome = answer.wait()
            if item.isAskedBack && item.progress == .waits && outcome == .cancelled {
                items[number].progress = .cancelled
            }
            let isRight =
                switch (items[number].progress, outcome) {
                case (.waits, .refused(.stopped)), (.cancelled, .cancelled), (.hasRun, .done): true
                case (.dropped, .refused(.dropped)), (.refused, .refused): true
                case (.waits, .refused(.dropped)): unknownDropCount > 0
                default: false
                }
            if !isRight { faults.append("the task of item \(number) was told \(outcome as Any)") }
        }
    }
}
