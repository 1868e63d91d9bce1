// The pending timers of one run loop, ordered by when they fire.
//
// A 4-ary heap in one contiguous array: half as deep as a binary one, and the four children that a
// sift compares lie side by side in two cache lines. Nothing remembers where in the heap a timer is:
// cancelling and rescheduling leave the old entry where it is, dead, and it is thrown away when it
// comes to the front or when three are dead for one that is alive. So neither touches more memory
// than the timer's own slot. Times are plain nanoseconds: the heap knows no clock, no mode and no callout.

/// Keeps payloads in the order of their fire times, those with equal times in order of arrival.
///
/// Payloads go when they are removed; what stays of them for a while is 16 bytes each, never more
/// than `Limits.keptDeadCount` beyond three times as many as there are timers.
///
/// - Thread: confined to its owner's.
/// - Complexity: O(log count) to insert and to update, on average O(1) for one that is not among the
///   first to fire; O(1) to remove, with O(log count) for each that comes to the front, and O(count)
///   after every `count` removals; O(1) to look at the first.
@usableFromInline
package struct TimerHeap<Payload> {
    /// Names one timer until it is removed; stale, never dangling, afterwards.
    @usableFromInline
    package typealias Handle = SlotMap<Timer>.Handle

    @usableFromInline
    struct Entry {
        /// The fire time above the number above the slot.
        ///
        /// One comparison without a branch orders by time and then by arrival, and four children are
        /// one cache line.
        @usableFromInline let key: Int128

        @inlinable
        @inline(__always)
        init(fire: Int64, number: UInt32, slot: UInt32) {
            key = Int128(fire) << 64 | Int128(UInt64(number) << 32 | UInt64(slot))
        }

        @inlinable
        var fire: Int64 { Int64(truncatingIfNeeded: key >> 64) }

        /// What is noted beside the payload as long as this is the timer's newest entry.
        @inlinable
        var number: UInt32 { UInt32(truncatingIfNeeded: key >> 32) }

        @inlinable
        var slot: UInt32 { UInt32(truncatingIfNeeded: key) }
    }

    /// What is kept of a timer once, however many entries it has.
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

    /// A time to wake at, and the slot of the timer for which it is.
    @usableFromInline
    struct Deadline {
        @usableFromInline let latest: Int64
        @usableFromInline let slot: UInt32

        @inlinable
        init(latest: Int64, slot: UInt32) {
            self.latest = latest
            self.slot = slot
        }

        /// That of a heap without timers: each timer's is earlier, or as good.
        @inlinable static var none: Deadline { Deadline(latest: .max, slot: noSlot) }

        /// Has to be looked for again: no timer's is earlier.
        @inlinable static var unknown: Deadline { Deadline(latest: .min, slot: noSlot) }
    }

    /// A heap of one living entry for each timer and of dead ones; the first is alive.
    @usableFromInline var entries: [Entry] = []
    @usableFromInline var timers = SlotMap<Timer>()

    /// The number of the newest entry: it orders those that fire at the same time, and tells an
    /// entry from all others that the heap keeps.
    @usableFromInline var number: UInt32 = 0
    @usableFromInline let numberMax: UInt32

    /// The smallest `latest`, unless it is unknown.
    @usableFromInline var knownDeadline = Deadline.none

    /// Makes an empty heap.
    ///
    /// - Parameter numberMax: how many entries are made before all timers are numbered anew; smaller
    ///   than the limit in tests only.
    @inlinable
    package init(numberMax: UInt32 = Limits.timerNumberMax) { self.numberMax = numberMax }

    /// The number of timers.
    @inlinable
    package var count: Int { timers.count }

    /// The number of entries that it keeps, those of timers that are gone or were updated with them.
    @inlinable
    package var entryCount: Int { entries.count }

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
    ///   - payload: what the handle stands for.
    @inlinable
    package mutating func insert(
        fire: Int64, latest: Int64, payload: consuming Payload
    ) -> Handle {
        precondition(latest >= fire, "a timer's latest \(latest) is before its fire \(fire)")
        precondition(count < Limits.timerCountMax, "a heap of timers is full: \(count)")
        let number = nextNumber()
        let slack = Slack(from: fire, to: latest)
        let handle = timers.insert(Timer(payload: payload, slack: slack), note: number)
        push(Entry(fire: fire, number: number, slot: handle.index), latest: slack.end(from: fire))
        checkSmall()
        return handle
    }

    /// Takes a timer out.
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

    /// Gives a timer new times, as though it were removed and inserted again under its old handle.
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

    /// Gives all timers new numbers, in the order in which they fire, when there are no more.
    @inlinable
    @inline(never)
    mutating func numberAnew() {
        precondition(count < Int(numberMax), "\(count) timers, and only \(numberMax) numbers")
        compact()
        // What is in order is a heap.
        entries.sort { $0.key < $1.key }
        number = 0
        for position in entries.indices {
            let entry = entries[position]
            number += 1
            entries[position] = Entry(fire: entry.fire, number: number, slot: entry.slot)
            _ = timers.setNote(number, of: timers.handle(at: entry.slot))
        }
    }

    // MARK: - The living and the dead

    /// - Parameter latest: by the timer's slack, which may be a little shorter than what was asked for.
    @inlinable
    @inline(__always)
    mutating func push(_ entry: Entry, latest: Int64) {
        if latest < knownDeadline.latest {
            knownDeadline = Deadline(latest: latest, slot: entry.slot)
        }
        let position = entries.count
        entries.append(entry)
        // Three of four stay where they are, and ask once whose the memory is.
        guard position > 0, entry.key < entries[(position - 1) / 4].key else { return }
        var heap = entries.mutableSpan
        Self.siftUp(entry, from: position, in: &heap)
    }

    /// Whether an entry is that of a timer which is still there and was not updated since.
    @inlinable
    func isAlive(_ entry: Entry) -> Bool {
        timers.count(notedAs: entry.number, at: entry.slot) == 1
    }

    /// Whether more dead entries are kept than three for each that is alive and a few.
    ///
    /// Each time that they are looked for all others are touched too: with three for one that is
    /// alive that is 4 entries for 3 cancelled timers, where with one for one it would be 2 for 1.
    @inlinable
    var hasTooManyDead: Bool { entries.count &- 4 &* count > Limits.keptDeadCount }

    /// Throws dead entries away: those at the front, and all when there are too many.
    ///
    /// - Parameter slot: that of the timer whose entry has just died: no other can have come to be
    ///   first.
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

    /// Throws all dead entries away.
    ///
    /// What is left is nearly in order, so that most entries stay where they are put.
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

    /// Moves those to the beginning that are to be kept, in the order in which they are.
    ///
    /// - Parameter countKept: 1 for an entry that is to be kept, 0 for another. A number, for there
    ///   must be no branch on it.
    /// - Returns: how many they are.
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

// MARK: - What is due, and when to wake for it

extension TimerHeap {
    /// The smallest `latest` of all timers: whoever sleeps until then is late for none of them.
    ///
    /// Sleeping past the first `fire` is what lets neighbours share one wake-up: at the deadline
    /// all timers with an earlier `fire` are due together.
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

    /// The timer with `fire <= limit`, where it is the only one; nil where there is none, or there may be more.
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
    /// The heap is left alone, so that a callout may insert, remove and update while its caller
    /// works through the list; whoever does asks again for each timer, since an earlier callout may
    /// have removed it.
    ///
    /// - Parameter handles: what is in it is replaced, its memory reused.
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

    /// The timers that fire first, in the order in which they do.
    ///
    /// Where dead entries are many in front of them, fewer are found.
    ///
    /// - Parameter countMax: how many are wanted.
    /// - Complexity: O(countMax²).
    @inlinable
    package func first(_ countMax: Int) -> [(handle: Handle, fire: Int64)] {
        var found: [(handle: Handle, fire: Int64)] = []
        // Those whose parent was looked at: one of them is next.
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

    /// Checks the order of the heap, and that each timer has one living entry.
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

    /// When to wake for the timer of a living entry.
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

    /// Lets an assertion run `checkInvariants()`, which traps where it finds a fault.
    @inlinable
    func isSound() -> Bool {
        checkInvariants()
        return true
    }

    /// Checks the whole heap after a change, in debug builds and while it is small.
    @inlinable
    func checkSmall() {
        assert(count > Limits.checkedCountMax || isSound())
    }
}
