// How much may wait on a thread that is played with, and what is promised of one that is full.

import Kernel
import WorkerThreads

/// The limit of a thread's queue.
struct LifeRoom: Sendable {
    var limit = Int.max
    var whenFull = WhenFull.refuse
}

extension LifeBooks {
    /// Whether only the player can be taking an item out of the queue right now.
    func isAlone(_ player: LifePlayer) -> Bool { player == .thread || holdsSubmitted }

    /// Items in the queue or in line for it, but for those whose senders may not have come yet.
    private var waitingCount: Int {
        items.count { $0.isExpected }
    }

    /// The number of waiting items of senders that may be blocked.
    private var sentCount: Int { items.count { $0.isSent && $0.progress == .waits } }

    /// Cancelled items whose turn may not have come: they keep their places until then.
    private var ghostCount: Int {
        let last = items.lastIndex { $0.isQueued && !$0.isSent && $0.hasBegun } ?? -1
        return items[(last + 1)...].count {
            $0.isQueued && ($0.progress == .cancelled || ($0.isAskedBack && $0.progress == .waits))
        }
    }

    /// How many places of the queue may be asked for.
    ///
    /// The thread may have taken one item that has not begun.
    func taken(for player: LifePlayer) -> ClosedRange<Int> {
        let count = waitingCount
        let least = max(0, count - (isAlone(player) ? 0 : 1))
        return least...(count + sentCount + ghostCount)
    }

    /// How many performs may wait for their delay.
    func takenByDelays(now: Instant) -> ClosedRange<Int> {
        let delays = items.filter { $0.dueAt != nil && $0.progress == .waits }
        return delays.count { ($0.dueAt ?? now) > now }...delays.count
    }

    /// How many selectors may wait to be performed; the thread may have taken one that has not
    /// begun.
    private func takenByPerforms(for player: LifePlayer) -> ClosedRange<Int> {
        let count = items.count { $0.waits(as: .performed) }
        return max(0, count - (isAlone(player) ? 0 : 1))...count
    }

    /// How many places of those that an item asks for may be taken.
    private func taken(for item: LifeItem, now: Instant) -> ClosedRange<Int> {
        switch item.kind {
        case .delayed: takenByDelays(now: now)
        case .performed: takenByPerforms(for: item.player)
        default: taken(for: item.player)
        }
    }

    /// The fault in an item's having been taken or refused by a thread that was not stopped.
    func roomFault(of item: LifeItem, now: Instant) -> String? {
        guard item.isCounted, !item.isSent else { return nil }
        let taken = taken(for: item, now: now)
        let refuses =
            !item.isQueued || room.whenFull == .refuse
            || (room.whenFull == .wait && item.kind != .awaited)
        if item.progress == .refused {
            let isRight = refuses && item.refusal == .full(thread: "life", limit: room.limit)
            return isRight && taken.upperBound >= room.limit ? nil : "was refused, \(taken) wait"
        }
        return refuses && taken.lowerBound >= room.limit ? "was taken, \(taken) wait" : nil
    }

    /// Notes what gave way to an item that was handed over last.
    mutating func noteDropped(for player: LifePlayer, droppedCount: Int) {
        defer { lastDroppedCount = droppedCount }
        let count = droppedCount - lastDroppedCount
        // A task hears of it a moment later.
        waitUntil { items.count { $0.isGone } >= count }
        let gone = items.indices.filter { items[$0].isGone }
        if gone.count != count || count > 1 {
            faults.append("\(gone) gave way, \(count) more are counted")
        }
        guard let dropped = gone.first else { return }
        items[dropped].progress = .dropped
        let older = items[..<dropped].count { $0.isExpected }
        if older > (isAlone(player) ? 0 : 1) {
            faults.append("item \(dropped) gave way before \(older) older ones")
        }
        // The new one is noted already.
        let taken = taken(for: player)
        if room.whenFull != .dropOldest || taken.upperBound < room.limit {
            faults.append("item \(dropped) gave way, \(taken) wait")
        }
    }

    /// Whether more wait in the queue than may.
    func isOverfull(for player: LifePlayer) -> Bool {
        room.whenFull == .dropOldest && taken(for: player).lowerBound > room.limit
    }

    /// How many wait for room, but for those of blocked senders, when the thread is told to stop.
    func lined(for player: LifePlayer) -> ClosedRange<Int> {
        guard room.whenFull == .wait else { return 0...0 }
        let count = waitingCount
        let least = max(0, count - (isAlone(player) ? 0 : 1) - room.limit)
        return least...max(least, count + ghostCount + sentCount - room.limit)
    }

    /// Notes the queue of a thread that sleeps, once all senders have come.
    mutating func settledRoom(waitingCount: Int, newcomerCount: Int) {
        let taken = taken(for: .thread)
        let isRight =
            life.beginsNothing
            ? waitingCount <= room.limit && (newcomerCount == 0 || waitingCount == room.limit)
                && (shownCount...taken.upperBound).contains(waitingCount + newcomerCount)
            : waitingCount == 0 && newcomerCount == 0
        if !isRight {
            faults.append("\(waitingCount) wait, \(newcomerCount) for room, not \(shownCount)")
        }
    }

    /// Whether the queue stays as it is.
    var isHeld: Bool { life.isPaused && life.stop == nil }

    /// How many items a held queue has to show, once all senders have come.
    var shownCount: Int { waitingCount + sentCount }

    /// Senders that may still have to hand over their items.
    var sendersAtWork: [LifeAnswer] {
        items.compactMap { $0.isSent && $0.answer?.outcome == nil ? $0.answer : nil }
    }
}
