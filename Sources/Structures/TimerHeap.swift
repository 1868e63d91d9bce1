// The pending timers of one run loop, ordered by when they fire.
//
// A 4-ary heap in one contiguous array: half as deep as a binary one, and the four children that a
// sift compares lie side by side in two cache lines. Nothing remembers where in the heap a timer is:
// cancelling and rescheduling leave the old entry where it is, dead, and it is thrown away when it
// comes to the front or when more are dead than alive. So neither touches more memory than the
// timer's own slot. Times are plain nanoseconds: the heap knows no clock, no mode and no callout.

/// Keeps payloads in the order of their fire times, those with equal times in order of arrival.
///
/// Payloads go when they are removed; what stays of them for a while is 32 bytes each, never more
/// than `Limits.keptDeadCount` beyond as many as there are timers.
///
/// - Thread: confined to its owner's.
/// - Complexity: O(log count) to insert and to update, on average O(1) for one that is not among the
///   first to fire; O(1) to remove, with O(log count) for each that comes to the front, and O(count)
///   after every `count` removals; O(1) to look at the first.
@usableFromInline
package struct TimerHeap<Payload> {
    /// Names one timer until it is removed; stale, never dangling, afterwards.
    @usableFromInline
    package typealias Handle = SlotMap<Payload>.Handle

    @usableFromInline
    struct Entry {
        /// The fire time above the sequence number.
        ///
        /// One comparison without a branch orders by time and then by arrival. Two fields compared
        /// in turn make moving the first of 100,000 timers take half as long again.
        @usableFromInline let key: Int128
        @usableFromInline let latest: Int64
        @usableFromInline let handle: Handle

        @inlinable
        init(fire: Int64, latest: Int64, sequence: UInt64, handle: Handle) {
            key = Int128(fire) << 64 | Int128(sequence)
            self.latest = latest
            self.handle = handle
        }

        @inlinable
        var fire: Int64 { Int64(truncatingIfNeeded: key >> 64) }

        /// What is noted beside the payload as long as this is the timer's newest entry.
        ///
        /// The lower half of the sequence number is enough: an entry is not dead for as long as it
        /// takes to come round again, `Limits.timerCountMax` sees to that.
        @inlinable
        var note: UInt32 { UInt32(truncatingIfNeeded: key) }
    }

    /// A time to wake at, and the timer for which it is.
    @usableFromInline
    struct Deadline {
        @usableFromInline var latest: Int64
        @usableFromInline var handle: Handle

        @inlinable
        init(of entry: Entry) {
            latest = entry.latest
            handle = entry.handle
        }
    }

    /// A heap of one living entry for each timer and of dead ones; the first is alive.
    @usableFromInline var entries: [Entry] = []
    @usableFromInline var payloads = SlotMap<Payload>()

    /// The number of insertions and updates so far: orders timers that fire at the same time.
    @usableFromInline var sequence: UInt64 = 0

    /// The smallest `latest`, or `nil` if it has to be looked for again.
    @usableFromInline var knownDeadline: Deadline?

    /// Makes an empty heap.
    @inlinable
    package init() {}

    /// The number of timers.
    @inlinable
    package var count: Int { payloads.count }

    /// The number of entries that it keeps, those of timers that are gone or were updated with them.
    @inlinable
    package var entryCount: Int { entries.count }

    /// Whether there is no timer.
    @inlinable
    package var isEmpty: Bool { payloads.isEmpty }

    /// The earliest `fire` of all timers.
    @inlinable
    package var firstFire: Int64? { entries.first?.fire }

    /// Adds a timer, behind those that already fire at the same time.
    ///
    /// - Parameters:
    ///   - fire: nanoseconds on the owner's clock before which the timer is not due.
    ///   - latest: `fire` plus the tolerance, not before `fire`.
    ///   - payload: what the handle stands for.
    @inlinable
    package mutating func insert(fire: Int64, latest: Int64, payload: Payload) -> Handle {
        precondition(latest >= fire, "a timer's latest \(latest) is before its fire \(fire)")
        precondition(count < Limits.timerCountMax, "a heap of timers is full: \(count)")
        sequence += 1
        let handle = payloads.insert(payload, note: UInt32(truncatingIfNeeded: sequence))
        push(Entry(fire: fire, latest: latest, sequence: sequence, handle: handle))
        checkSmall()
        return handle
    }

    /// Takes a timer out.
    ///
    /// - Returns: its payload, or `nil` if it was no longer there.
    @inlinable
    package mutating func remove(_ handle: Handle) -> Payload? {
        guard let payload = payloads.remove(handle) else { return nil }
        forgetDeadline(setBy: handle)
        throwAway()
        checkSmall()
        return payload
    }

    /// Gives a timer new times, as though it were removed and inserted again under its old handle.
    ///
    /// - Returns: `false` if the timer was no longer there.
    @inlinable
    package mutating func update(_ handle: Handle, fire: Int64, latest: Int64) -> Bool {
        precondition(latest >= fire, "a timer's latest \(latest) is before its fire \(fire)")
        guard payloads.setNote(UInt32(truncatingIfNeeded: sequence + 1), of: handle) else {
            return false
        }
        sequence += 1
        forgetDeadline(setBy: handle)
        push(Entry(fire: fire, latest: latest, sequence: sequence, handle: handle))
        throwAway()
        checkSmall()
        return true
    }

    /// Returns the payload of a timer, or `nil` if it is no longer there.
    @inlinable
    package func payload(of handle: Handle) -> Payload? { payloads[handle] }

    // MARK: - The living and the dead

    @inlinable
    mutating func push(_ entry: Entry) {
        if entries.isEmpty {
            knownDeadline = Deadline(of: entry)
        } else if let known = knownDeadline, entry.latest < known.latest {
            knownDeadline = Deadline(of: entry)
        }
        entries.append(entry)
        var heap = entries.mutableSpan
        Self.siftUp(entry, from: heap.count - 1, in: &heap)
    }

    /// Whether an entry is that of a timer which is still there and was not updated since.
    @inlinable
    func isAlive(_ entry: Entry) -> Bool {
        payloads.contains(entry.handle, notedAs: entry.note)
    }

    /// Throws dead entries away: those at the front, and all when there are too many.
    @inlinable
    mutating func throwAway() {
        if entries.count - count > count + Limits.keptDeadCount { return compact() }
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
        let payloads = payloads
        let keptCount = Self.gather(in: &entries) {
            payloads.countIfContains($0.handle, notedAs: $0.note)
        }
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
            if let knownDeadline { return knownDeadline.latest }
            var smallest = Deadline(of: first)
            lower(&smallest, byChildrenOf: 0)
            knownDeadline = smallest
            return smallest.latest
        }
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
        handles.append(first.handle)
        guard !due.isEmpty else { return }
        due.sort { $0.key < $1.key }
        handles.append(contentsOf: due.lazy.map(\.handle))
    }

    /// Checks the order of the heap, and that each timer has one living entry.
    ///
    /// - Complexity: O(entries).
    @usableFromInline
    package func checkInvariants() {
        var aliveCount = 0
        for position in entries.indices {
            let entry = entries[position]
            precondition(entry.latest >= entry.fire, "latest before fire at \(position)")
            if isAlive(entry) { aliveCount += 1 }
            let parent = entries[max(0, position - 1) / 4]
            precondition(position == 0 || parent.key < entry.key, "out of order at \(position)")
        }
        precondition(aliveCount == count, "\(aliveCount) alive of \(count)")
        precondition(entries.first.map(isAlive) ?? true, "the first is dead")
        let deadCount = entries.count - count
        precondition(deadCount <= count + Limits.keptDeadCount, "\(deadCount) dead of \(count)")
        guard let knownDeadline else { return }
        let smallest = entries.lazy.filter(isAlive).map(\.latest).min() ?? knownDeadline.latest
        precondition(
            knownDeadline.latest == smallest, "deadline \(knownDeadline), not \(smallest)")
    }

    @inlinable
    mutating func forgetDeadline(setBy handle: Handle) {
        if handle == knownDeadline?.handle { knownDeadline = nil }
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
            if entry.latest < smallest.latest, isAlive(entry) { smallest = Deadline(of: entry) }
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
