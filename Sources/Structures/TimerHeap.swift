// The pending timers of one run loop, ordered by when they fire.
//
// A 4-ary heap in one contiguous array: half as deep as a binary one, and the four children that a
// sift compares lie side by side in two cache lines. A timer's place in the heap is recorded
// nowhere: cancelling and rescheduling leave the old entry where it is, dead. A dead entry is
// removed when it comes to the front, or when there are three dead entries for each live one. So
// neither operation touches more memory than the timer's own slot. Times are plain nanoseconds: the
// heap knows no clock, no mode and no callout.

/// Keeps payloads in the order of their fire times, those with equal times in order of arrival.
///
/// A payload is released when it is removed. 16 bytes of it stay for a while, for at most three
/// removed timers per timer and `LayoutLimits.keptDeadCount` more.
///
/// - Thread: confined to its owner's.
/// - Complexity: O(log count) to insert and to update, on average O(1) for a timer that is not
///   among the first to fire; O(1) to remove, with O(log count) for each that comes to the front,
///   and O(count) after every `count` removals; O(1) to look at the first.
@usableFromInline
package struct TimerHeap<Payload> {
    /// Names one timer until it is removed; stale afterwards, never dangling.
    @usableFromInline
    package typealias Handle = SlotMap<Timer>.Handle

    @usableFromInline
    struct Entry {
        /// The fire time above the number above the slot.
        ///
        /// One comparison without a branch orders by time and then by arrival, and four children
        /// are one cache line.
        @usableFromInline let key: Int128

        @inlinable
        @inline(__always)
        init(fire: Int64, number: UInt32, slot: UInt32) {
            key = Int128(fire) << 64 | Int128(UInt64(number) << 32 | UInt64(slot))
        }

        @inlinable
        var fire: Int64 { Int64(truncatingIfNeeded: key >> 64) }

        /// The number noted beside the payload while this is the timer's newest entry.
        @inlinable
        var number: UInt32 { UInt32(truncatingIfNeeded: key >> 32) }

        @inlinable
        var slot: UInt32 { UInt32(truncatingIfNeeded: key) }
    }

    /// The part of a timer that is kept once, however many entries it has.
    @usableFromInline
    package struct Timer {
        @usableFromInline let payload: Payload
        @usableFromInline var slack: Slack

        @inlinable
        init(payload: consuming Payload, slack: Slack) {
            self.payload = payload
            self.slack = slack
        }
    }

    /// A time to wake up at, and the slot of the timer that sets it.
    @usableFromInline
    struct Deadline {
        @usableFromInline let latest: Int64
        @usableFromInline let slot: UInt32

        @inlinable
        init(latest: Int64, slot: UInt32) {
            self.latest = latest
            self.slot = slot
        }

        /// The deadline of an empty heap: no timer's is later.
        @inlinable static var none: Deadline { Deadline(latest: .max, slot: noSlot) }

        /// Must be searched for again: no timer's is earlier.
        @inlinable static var unknown: Deadline { Deadline(latest: .min, slot: noSlot) }
    }

    /// A heap of one live entry for each timer and of dead ones; the first is alive.
    @usableFromInline var entries: [Entry] = []
    @usableFromInline var timers = SlotMap<Timer>()

    /// The number of the newest entry.
    ///
    /// It orders entries that fire at the same time, and tells an entry from all others in the
    /// heap.
    @usableFromInline var number: UInt32 = 0
    @usableFromInline let numberMax: UInt32

    /// The smallest `latest`, unless it is unknown.
    @usableFromInline var knownDeadline = Deadline.none

    /// Makes an empty heap.
    ///
    /// - Parameter numberMax: the number of entries after which all timers are renumbered; smaller
    ///   than the limit in tests only.
    @inlinable
    package init(numberMax: UInt32 = LayoutLimits.timerNumberMax) { self.numberMax = numberMax }

    /// The number of timers.
    @inlinable
    package var count: Int { timers.count }

    /// Whether there is no timer.
    @inlinable
    package var isEmpty: Bool { timers.isEmpty }

    /// The earliest `fire` of all timers.
    @inlinable
    package var firstFire: Int64? { entries.first?.fire }

    /// The timer that fires first; nil where there is none.
    @inlinable
    package var firstHandle: Handle? { entries.first.map { timers.handle(at: $0.slot) } }

    /// Adds a timer, behind those that already fire at the same time.
    ///
    /// - Parameters:
    ///   - fire: nanoseconds on the owner's clock before which the timer is not due.
    ///   - latest: `fire` plus the tolerance, not before `fire`.
    ///   - payload: the value that the handle stands for.
    @inlinable
    package mutating func insert(
        fire: Int64, latest: Int64, payload: consuming Payload
    ) -> Handle {
        precondition(latest >= fire, "a timer's latest \(latest) is before its fire \(fire)")
        precondition(count < LayoutLimits.timerCountMax, "a heap of timers is full: \(count)")
        let number = nextNumber()
        let slack = Slack(from: fire, to: latest)
        let handle = timers.insert(Timer(payload: payload, slack: slack), note: number)
        push(Entry(fire: fire, number: number, slot: handle.index), latest: slack.end(from: fire))
        checkSmall()
        return handle
    }

    /// Removes a timer.
    ///
    /// - Returns: its payload, or `nil` if it was no longer there.
    @inlinable
    package mutating func remove(_ handle: Handle) -> Payload? {
        guard let timer = timers.remove(handle) else { return nil }
        forgetDeadline(setBy: handle.index)
        throwAway(killed: handle.index)
        checkSmall()
        return timer.payload
    }

    /// Gives a timer new times, as if it were removed and inserted again under its old handle.
    ///
    /// - Returns: `false` if the timer was no longer there.
    @inlinable
    package mutating func update(_ handle: Handle, fire: Int64, latest: Int64) -> Bool {
        precondition(latest >= fire, "a timer's latest \(latest) is before its fire \(fire)")
        guard timers.contains(handle) else { return false }
        let number = nextNumber()
        let slack = Slack(from: fire, to: latest)
        timers.update(handle) { $0.slack = slack }
        _ = timers.setNote(number, of: handle)
        forgetDeadline(setBy: handle.index)
        push(Entry(fire: fire, number: number, slot: handle.index), latest: slack.end(from: fire))
        throwAway(killed: handle.index)
        checkSmall()
        return true
    }

    /// Returns the payload of a timer, or `nil` if it is no longer there.
    @inlinable
    package func payload(of handle: Handle) -> Payload? { timers[handle]?.payload }

    @inlinable
    mutating func nextNumber() -> UInt32 {
        if number == numberMax { numberAnew() }
        number += 1
        return number
    }

    /// Renumbers all timers in the order in which they fire, once the numbers are used up.
    @inlinable
    @inline(never)
    mutating func numberAnew() {
        precondition(count < Int(numberMax), "\(count) timers, and only \(numberMax) numbers")
        compact()
        // A sorted array is a heap.
        entries.sort { $0.key < $1.key }
        number = 0
        for position in entries.indices {
            let entry = entries[position]
            number += 1
            entries[position] = Entry(fire: entry.fire, number: number, slot: entry.slot)
            _ = timers.setNote(number, of: timers.handle(at: entry.slot))
        }
    }

    // MARK: - Live and dead entries

    /// - Parameter latest: after the timer's slack, which may be a little shorter than asked for.
    @inlinable
    @inline(__always)
    mutating func push(_ entry: Entry, latest: Int64) {
        if latest < knownDeadline.latest {
            knownDeadline = Deadline(latest: latest, slot: entry.slot)
        }
        let position = entries.count
        entries.append(entry)
        // Three of four entries stay where they are; then uniqueness of the memory is checked only
        // once.
        guard position > 0, entry.key < entries[(position - 1) / 4].key else { return }
        var heap = entries.mutableSpan
        Self.siftUp(entry, from: position, in: &heap)
    }

    /// Whether the entry's timer is still there and was not updated since.
    @inlinable
    func isAlive(_ entry: Entry) -> Bool {
        timers.count(notedAs: entry.number, at: entry.slot) == 1
    }

    /// Whether there are more than three dead entries for each live one, and a few.
    ///
    /// Each search for dead entries also touches all live ones. At three to one it touches 4
    /// entries for 3 cancelled timers; at one to one it would touch 2 for 1.
    @inlinable
    var hasTooManyDead: Bool { entries.count &- 4 &* count > LayoutLimits.keptDeadCount }

    /// Removes dead entries: those at the front, and all of them when there are too many.
    ///
    /// - Parameter slot: the slot of the timer whose entry has just died: no other dead entry can
    ///   have come to the front.
    @inlinable
    @inline(__always)
    mutating func throwAway(killed slot: UInt32) {
        if hasTooManyDead { return compact() }
        if entries.first?.slot == slot { removeDeadFirst() }
    }

    @inlinable
    @inline(never)
    mutating func removeDeadFirst() {
        while let first = entries.first, !isAlive(first) { removeFirst() }
    }

    @inlinable
    mutating func removeFirst() {
        let last = entries.removeLast()
        guard !entries.isEmpty else { return }
        var heap = entries.mutableSpan
        Self.siftDown(last, from: 0, in: &heap)
    }

    /// Removes all dead entries.
    ///
    /// The rest is nearly in order, so that most entries stay where they are put.
    @inlinable
    @inline(never)
    mutating func compact() {
        let timers = timers
        let keptCount = Self.gather(in: &entries) { timers.count(notedAs: $0.number, at: $0.slot) }
        entries.removeLast(entries.count - keptCount)
        guard keptCount > 1 else { return }
        var heap = entries.mutableSpan
        for position in (0...(keptCount - 2) / 4).reversed() {
            Self.siftDown(heap[position], from: position, in: &heap)
        }
    }

    /// Moves the entries to keep to the beginning, in their order.
    ///
    /// - Parameter countKept: 1 for an entry to keep, 0 for another. A number, because there must
    ///   be no branch on it.
    /// - Returns: the number of entries kept.
    @inlinable
    @inline(__always)
    static func gather(in entries: inout [Entry], _ countKept: (Entry) -> Int) -> Int {
        var heap = entries.mutableSpan
        var keptCount = 0
        for position in 0..<heap.count {
            let entry = heap[position]
            heap[keptCount] = entry
            keptCount &+= countKept(entry)
        }
        return keptCount
    }

    // MARK: - Sifting

    /// Moves the hole at `start` towards the root until `entry` fits into it.
    @inlinable
    static func siftUp(_ entry: Entry, from start: Int, in heap: inout MutableSpan<Entry>) {
        var hole = start
        while hole > 0 {
            let parent = (hole - 1) / 4
            guard entry.key < heap[parent].key else { break }
            heap[hole] = heap[parent]
            hole = parent
        }
        heap[hole] = entry
    }

    /// Moves the hole at `start` towards the leaves until `entry` fits into it.
    @inlinable
    static func siftDown(_ entry: Entry, from start: Int, in heap: inout MutableSpan<Entry>) {
        var hole = start
        while true {
            let children = childPositions(of: hole, count: heap.count)
            guard var first = children.first else { break }
            var firstKey = heap[first].key
            for child in children.dropFirst() {
                let key = heap[child].key
                let isFirst = key < firstKey
                first = isFirst ? child : first
                firstKey = isFirst ? key : firstKey
            }
            guard firstKey < entry.key else { break }
            heap[hole] = heap[first]
            hole = first
        }
        heap[hole] = entry
    }

    @inlinable
    static func childPositions(of position: Int, count: Int) -> Range<Int> {
        let start = min(4 * position + 1, count)
        return start..<min(start + 4, count)
    }
}

// MARK: - Due timers, and when to wake up for them

extension TimerHeap {
    /// The smallest `latest` of all timers: a loop that sleeps until then is late for none of them.
    ///
    /// Sleeping past the first `fire` lets neighbours share one wake-up: at the deadline all timers
    /// with an earlier `fire` are due together.
    ///
    /// - Complexity: O(1) until the timer that set it leaves; then O(timers that fire before the
    ///   first timer's `latest`), which is O(1) again where tolerances are zero.
    @inlinable
    package var deadline: Int64? {
        mutating get {
            guard let first = entries.first else { return nil }
            if knownDeadline.latest != .min { return knownDeadline.latest }
            var smallest = deadline(of: first)
            lower(&smallest, byChildrenOf: 0)
            knownDeadline = smallest
            return smallest.latest
        }
    }

    /// The only timer with `fire <= limit`; nil where there is none or there may be more.
    ///
    /// - Complexity: O(1).
    @inlinable
    package func onlyDue(upTo limit: Int64) -> Handle? {
        guard let first = entries.first, first.fire <= limit else { return nil }
        for child in Self.childPositions(of: 0, count: entries.count)
        where entries[child].fire <= limit { return nil }
        return timers.handle(at: first.slot)
    }

    /// Lists the timers with `fire <= limit` in the order in which they fire.
    ///
    /// The heap is not changed, so that a callout may insert, remove and update while its caller
    /// works through the list. The caller must look up each handle again, since an earlier callout
    /// may have removed the timer.
    ///
    /// - Parameter handles: its contents are replaced, its memory is reused.
    /// - Complexity: O(due + due log due).
    @inlinable
    package func collectDue(upTo limit: Int64, into handles: inout [Handle]) {
        handles.removeAll(keepingCapacity: true)
        guard let first = entries.first, first.fire <= limit else { return }
        var due: [Entry] = []
        collectChildren(of: 0, upTo: limit, into: &due)
        handles.append(timers.handle(at: first.slot))
        guard !due.isEmpty else { return }
        due.sort { $0.key < $1.key }
        for entry in due { handles.append(timers.handle(at: entry.slot)) }
    }

    /// The first timers to fire, in the order in which they do.
    ///
    /// Many dead entries in front of them make it find fewer.
    ///
    /// - Parameter countMax: the number of timers wanted.
    /// - Complexity: O(countMax²).
    @inlinable
    package func first(_ countMax: Int) -> [(handle: Handle, fire: Int64)] {
        var found: [(handle: Handle, fire: Int64)] = []
        // The entries whose parent was looked at: one of them is next.
        var next = entries.isEmpty ? [] : [0]
        for _ in 0..<4 * countMax where found.count < countMax {
            let first = next.indices.min { entries[next[$0]].key < entries[next[$1]].key }
            guard let first else { break }
            let position = next.remove(at: first)
            let entry = entries[position]
            if isAlive(entry) { found.append((timers.handle(at: entry.slot), entry.fire)) }
            next += Self.childPositions(of: position, count: entries.count)
        }
        return found
    }

    /// Checks the order of the heap, and that each timer has one live entry.
    ///
    /// - Complexity: O(entries).
    @usableFromInline
    package func checkInvariants() {
        var aliveCount = 0
        for position in entries.indices {
            let entry = entries[position]
            if isAlive(entry) {
                aliveCount += 1
                let latest = deadline(of: entry).latest
                precondition(latest >= entry.fire, "latest before fire at \(position)")
            }
            let parent = entries[max(0, position - 1) / 4]
            precondition(position == 0 || parent.key < entry.key, "out of order at \(position)")
        }
        precondition(aliveCount == count, "\(aliveCount) alive of \(count)")
        precondition(entries.first.map(isAlive) ?? true, "the first is dead")
        precondition(!hasTooManyDead, "\(entries.count - count) dead of \(count)")
        guard knownDeadline.latest != .min else { return }
        let smallest = entries.lazy.filter(isAlive).map { deadline(of: $0).latest }.min() ?? .max
        precondition(
            knownDeadline.latest == smallest, "deadline \(knownDeadline), not \(smallest)")
    }

    @inlinable
    mutating func forgetDeadline(setBy slot: UInt32) {
        if slot == knownDeadline.slot { knownDeadline = isEmpty ? .none : .unknown }
    }

    /// The deadline that the timer of a live entry sets.
    @inlinable
    func deadline(of entry: Entry) -> Deadline {
        guard let timer = timers[timers.handle(at: entry.slot)] else {
            preconditionFailure("slot \(entry.slot) of a living entry is free")
        }
        return Deadline(latest: timer.slack.end(from: entry.fire), slot: entry.slot)
    }

    /// Lowers `smallest` to the smallest `latest` below `position`.
    ///
    /// Skips each subtree that fires at `smallest` or later: nothing in it can be due earlier. The
    /// recursion is as deep as the heap, 16 levels at most.
    @inlinable
    func lower(_ smallest: inout Deadline, byChildrenOf position: Int) {
        for child in Self.childPositions(of: position, count: entries.count)
        where entries[child].fire < smallest.latest {
            let entry = entries[child]
            if isAlive(entry) {
                let deadline = deadline(of: entry)
                if deadline.latest < smallest.latest { smallest = deadline }
            }
            lower(&smallest, byChildrenOf: child)
        }
    }

    @inlinable
    func collectChildren(of position: Int, upTo limit: Int64, into due: inout [Entry]) {
        for child in Self.childPositions(of: position, count: entries.count)
        where entries[child].fire <= limit {
            if isAlive(entries[child]) { due.append(entries[child]) }
            collectChildren(of: child, upTo: limit, into: &due)
        }
    }

    /// Runs `checkInvariants()`, which traps on a fault, inside an assertion.
    @inlinable
    func isSound() -> Bool {
        checkInvariants()
        return true
    }

    /// Checks the whole heap after a change, in debug builds and while it is small.
    @inlinable
    func checkSmall() {
        assert(count > LayoutLimits.checkedCountMax || isSound())
    }
}
