// What a game knows of its pool: what was handed over and asked for, and where and in which order it ran.

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
    /// Who may have been chosen for its key.
    var candidates: Set<Int> = []

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
    private(set) var faults: [String] = []
    private var items: [PoolItem] = []
    private var lives: [LifeCycle]
    /// Members on which nothing may begin: they asked for it themselves, or long enough ago.
    private var held: Set<Int> = []
    /// Where items of a key have ended since all slept: the pool learns of an end after the game.
    private var lastMembers: [PoolItem.Address: Set<Int>] = [:]
    /// Members that were told to stop before all of them were.
    private var stoppedEarly: Set<Int> = []

    init(memberCount: Int) {
        lives = Array(repeating: LifeCycle(), count: memberCount)
    }

    var nextNumber: Int { items.count }

    private var open: [Int] { lives.indices.filter { lives[$0].stop == nil } }

    mutating func note(_ item: PoolItem, number: Int) {
        var item = item
        if let fault = acceptance(of: item) { faults.append("item \(number) \(fault)") }
        if case .key = item.address {
            let unpaused = open.filter { !lives[$0].isPaused }
            let bound = items.last { $0.address == item.address && $0.progress.isOpen }
            item.candidates =
                bound?.candidates
                ?? Set(unpaused.isEmpty ? open : unpaused).union(lastMembers[item.address] ?? [])
        }
        items.append(item)
    }

    /// What is wrong with an item's having been taken or refused.
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
    private func mayBeLeft(_ item: PoolItem) -> Bool {
        switch item.address {
        // Whoever is told to stop last finishes it.
        case .shared: stoppedEarly.count == lives.count
        case .own(let member), .direct(let member): lives[member].stop == .finishCurrent
        case .key: item.candidates.contains { lives[$0].stop == .finishCurrent }
        }
    }

    var lastTicket: (number: Int, ticket: WorkerPool.Ticket)? {
        for number in items.indices.reversed() {
            if let ticket = items[number].ticket { return (number, ticket) }
        }
        return nil
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
        if lives[member].holdsWaiting {
            if player == member { held.insert(member) }
        } else {
            held.remove(member)
        }
    }

    mutating func begin(_ number: Int, on member: Int) {
        let item = items[number]
        if item.progress != .waits { faults.append("item \(number) began, was \(item.progress)") }
        items[number].progress = .runs
        items[number].member = member
        if held.contains(member) {
            faults.append("item \(number) began on \(member), which is held")
        }
        switch item.address {
        case .shared: return
        case .own(let own), .direct(let own):
            if own != member { faults.append("item \(number) began on \(member)") }
        case .key:
            let others = items.contains {
                $0.address == item.address && $0.progress == .runs && $0.member != member
            }
            if others { faults.append("item \(number) began beside another of its key") }
        }
        let overtaken = items[..<number].firstIndex {
            $0.progress == .waits && $0.precedes(item) && !mayBeLeft($0)
        }
        if let overtaken { faults.append("item \(number) overtook \(overtaken)") }
    }

    mutating func end(_ number: Int) {
        items[number].progress = .hasRun
        guard case .key = items[number].address, let member = items[number].member else { return }
        lastMembers[items[number].address, default: []].insert(member)
    }

    /// All members sleep, or have ended.
    mutating func settled(waitingCount: Int, boundKeyCount: Int) {
        lastMembers = [:]
        for member in lives.indices where lives[member].holdsWaiting { held.insert(member) }
        let running = open.filter { !lives[$0].isPaused }
        for (number, item) in items.enumerated() where item.progress.isOpen {
            let isHeld =
                switch item.address {
                case .shared: running.isEmpty
                case .own(let member), .direct(let member): lives[member].isPaused
                case .key: item.candidates.contains { lives[$0].isPaused }
                }
            // What its thread has left out when it ended is counted at the end.
            if item.progress == .runs || !(isHeld || mayBeLeft(item)) {
                faults.append("item \(number) did not run, and nothing holds it")
            }
        }
        guard stoppedEarly.isEmpty, lives.count > 1 else { return }
        let waiting = items.filter { $0.progress == .waits }
        let waitsInPool = waiting.count { if case .direct = $0.address { false } else { true } }
        if waitingCount != waitsInPool {
            faults.append("\(waitingCount) wait, not \(waitsInPool)")
        }
        let keys = Set(waiting.map(\.address)).count { if case .key = $0 { true } else { false } }
        if boundKeyCount != keys { faults.append("\(boundKeyCount) keys are bound, not \(keys)") }
    }

    mutating func threadsEnded(abandonedCount: Int) {
        for (number, item) in items.enumerated() where item.progress.isOpen {
            if item.progress == .runs || !mayBeLeft(item) {
                faults.append("item \(number) was left out at the end")
            }
        }
        let expected = items.count { $0.progress == .waits }
        if abandonedCount != expected {
            faults.append("\(abandonedCount) abandoned, not \(expected)")
        }
    }
}
