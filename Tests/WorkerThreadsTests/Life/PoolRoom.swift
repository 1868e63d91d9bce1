// The promises of a pool in which as much waits as may.

import WorkerThreads

extension PoolBooks {
    /// Items that wait in the pool, or in line for a place there.
    private func waiting(_ isMeant: (PoolItem) -> Bool = { _ in true }) -> Int {
        items.count { $0.isPooled && $0.progress == .waits && isMeant($0) }
    }

    /// How many items members may have taken that have not begun.
    func takenCount(besides player: Int?) -> Int {
        lives.indices.count { $0 != player && !held.contains($0) } + formerTakenCount
    }

    /// How many places may be asked for.
    func places(for player: Int?) -> ClosedRange<Int> {
        let sure = waiting { !$0.isAskedBack && !mayBeLeft($0) }
        return max(0, sure - takenCount(besides: player))...waiting()
    }

    /// The fault in an item's having been taken or refused, as far as room is concerned.
    func roomFault(of item: PoolItem, by player: Int?) -> String? {
        guard item.isPooled else { return nil }
        let places = places(for: player)
        guard item.isFull else {
            let refuses =
                room.whenFull == .refuse || (room.whenFull == .wait && item.answer == nil)
            let isOver = refuses && item.progress == .waits && places.lowerBound >= room.limit
            return isOver ? "was taken, \(places) wait" : nil
        }
        if places.upperBound < room.limit { return "was refused, \(places) wait" }
        switch room.whenFull {
        case .refuse: return nil
        case .wait: return item.answer == nil ? nil : "was refused, and can wait"
        case .dropOldest:
            let later = waiting {
                $0.priority.rawValue >= item.priority.rawValue && !$0.isAskedBack && !mayBeLeft($0)
            }
            // Some of them may have given way before.
            let goneCount = takenCount(besides: player) + unknownDropCount
            return later > goneCount ? "was refused before \(later) others" : nil
        }
    }

    /// Notes what gave way to an item that was handed over last.
    mutating func noteDropped(for player: Int?, droppedCount: Int) {
        let count = droppedCount - lastDroppedCount
        lastDroppedCount = droppedCount
        // Work that a member has left out at its end is gone as well.
        let isSure = !items.contains { $0.isPooled && $0.progress == .waits && mayBeLeft($0) }
        if isSure { waitUntil { items.count { $0.isGone } >= count } }
        let gone = items.indices.filter { items[$0].isGone && !mayBeLeft(items[$0]) }
        unknownDropCount += count - gone.count
        if unknownDropCount < 0 || (isSure && gone.count < count) || count > 1 {
            faults.append("\(gone) gave way, \(count) more are counted")
        }
        for index in gone { items[index].progress = .dropped }
        // Else it may have given way to an earlier one.
        guard isSure, unknownDropCount == 0, gone.count == count else { return }
        guard let dropped = gone.first, let new = items.last else { return }
        let item = items[dropped]
        let before = items.indices.count { index in
            let other = items[index]
            let isLower = other.priority.rawValue > item.priority.rawValue
            return other.isPooled && other.progress == .waits && !other.isAskedBack
                && !mayBeLeft(other)
                && (isLower || (other.priority == item.priority && index < dropped))
        }
        // The new one is noted already, and may be lower than what it found.
        if before > takenCount(besides: player)
            || item.priority.rawValue < new.priority.rawValue
            || places(for: player).upperBound < room.limit
        {
            faults.append("item \(dropped) gave way, \(before) were to do so before")
        }
    }

    /// Whether an item that waits for room has so many before it that it found none.
    func isInLine(_ number: Int) -> Bool {
        guard room.whenFull == .wait, items[number].answer != nil else { return false }
        return items[..<number].count { $0.isPooled && $0.progress == .waits } >= room.limit
    }

    /// The fault in the pool's queues when all members sleep.
    func roomFault(waitingCount: Int, newcomerCount: Int) -> String? {
        let all = waiting()
        let cancelled = items.count { $0.isPooled && $0.answer != nil && $0.progress == .cancelled }
        let isRight =
            waitingCount == min(room.limit, all) && newcomerCount >= all - waitingCount
            && newcomerCount <= all - waitingCount + cancelled
            && (room.whenFull == .wait || newcomerCount == 0)
        return isRight ? nil : "\(waitingCount) wait, \(newcomerCount) for room, not \(all)"
    }
}
