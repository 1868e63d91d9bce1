// The pending timers of one run loop, ordered by when they fire.
//
// A 4-ary heap in one contiguous array: half as deep as a binary one, and the four children that a
// sift compares lie side by side. Each timer has a slot that remembers where in the heap it is, so
// that cancelling and rescheduling by handle need no search. Times are plain nanoseconds: the heap
// knows no clock, no mode and no callout.

/// Keeps payloads in the order of their fire times, those with equal times in order of arrival.
///
/// - Thread: confined to its owner's.
/// - Complexity: O(log count) to insert, remove and update; O(1) to look at the first.
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
    }

    @usableFromInline var entries: [Entry] = []
    @usableFromInline var payloads = SlotMap<Payload>()

    /// The place in `entries` of each slot's timer; what free slots have here means nothing.
    @usableFromInline var positions: [UInt32] = []

    /// The number of insertions and updates so far: orders timers that fire at the same time.
    @usableFromInline var sequence: UInt64 = 0

    /// The smallest `latest`, or `nil` if it has to be looked for again.
    @usableFromInline var knownDeadline: Int64?

    /// Makes an empty heap.
    @inlinable
    package init() {}

    /// The number of timers.
    @inlinable
    package var count: Int { entries.count }

    /// Whether there is no timer.
    @inlinable
    package var isEmpty: Bool { entries.isEmpty }

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
        let handle = payloads.insert(payload)
        if Int(handle.index) == positions.count { positions.append(0) }
        if entries.isEmpty { knownDeadline = latest } else { lowerKnownDeadline(to: latest) }
        let entry = newEntry(fire: fire, latest: latest, handle: handle)
        entries.append(entry)
        siftUp(entry, from: entries.count - 1)
        checkSmall()
        return handle
    }

    /// Takes a timer out.
    ///
    /// - Returns: its payload, or `nil` if it was no longer there.
    @inlinable
    package mutating func remove(_ handle: Handle) -> Payload? {
        guard let payload = payloads.remove(handle) else { return nil }
        let position = Int(positions[Int(handle.index)])
        forgetDeadline(setBy: entries[position])
        let last = entries.removeLast()
        if position < entries.count { sift(last, from: position) }
        checkSmall()
        return payload
    }

    /// Gives a timer new times, as though it were removed and inserted again under its old handle.
    ///
    /// - Returns: `false` if the timer was no longer there.
    @inlinable
    package mutating func update(_ handle: Handle, fire: Int64, latest: Int64) -> Bool {
        precondition(latest >= fire, "a timer's latest \(latest) is before its fire \(fire)")
        guard payloads.contains(handle) else { return false }
        let position = Int(positions[Int(handle.index)])
        forgetDeadline(setBy: entries[position])
        lowerKnownDeadline(to: latest)
        sift(newEntry(fire: fire, latest: latest, handle: handle), from: position)
        checkSmall()
        return true
    }

    /// Returns the payload of a timer, or `nil` if it is no longer there.
    @inlinable
    package func payload(of handle: Handle) -> Payload? { payloads[handle] }

    // MARK: - Sifting

    @inlinable
    mutating func newEntry(fire: Int64, latest: Int64, handle: Handle) -> Entry {
        sequence += 1
        return Entry(fire: fire, latest: latest, sequence: sequence, handle: handle)
    }

    /// Puts `entry` where it belongs, given that the entry at `position` is gone.
    @inlinable
    mutating func sift(_ entry: Entry, from position: Int) {
        if position > 0, entry.key < entries[(position - 1) / 4].key {
            siftUp(entry, from: position)
        } else {
            siftDown(entry, from: position)
        }
    }

    /// Moves the hole at `start` towards the root until `entry` fits into it.
    @inlinable
    mutating func siftUp(_ entry: Entry, from start: Int) {
        var hole = start
        while hole > 0 {
            let parent = (hole - 1) / 4
            guard entry.key < entries[parent].key else { break }
            place(entries[parent], at: hole)
            hole = parent
        }
        place(entry, at: hole)
    }

    /// Moves the hole at `start` towards the leaves until `entry` fits into it.
    @inlinable
    mutating func siftDown(_ entry: Entry, from start: Int) {
        var hole = start
        while let child = firstChild(of: hole), entries[child].key < entry.key {
            place(entries[child], at: hole)
            hole = child
        }
        place(entry, at: hole)
    }

    /// The position of the child that comes first, `nil` for a leaf.
    @inlinable
    func firstChild(of position: Int) -> Int? {
        let children = childPositions(of: position)
        guard var first = children.first else { return nil }
        var firstKey = entries[first].key
        for child in children.dropFirst() {
            let key = entries[child].key
            let isFirst = key < firstKey
            first = isFirst ? child : first
            firstKey = isFirst ? key : firstKey
        }
        return first
    }

    @inlinable
    func childPositions(of position: Int) -> Range<Int> {
        let start = min(4 * position + 1, entries.count)
        return start..<min(start + 4, entries.count)
    }

    @inlinable
    mutating func place(_ entry: Entry, at position: Int) {
        entries[position] = entry
        positions[Int(entry.handle.index)] = UInt32(truncatingIfNeeded: position)
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
            if let knownDeadline { return knownDeadline }
            var smallest = first.latest
            lower(&smallest, byChildrenOf: 0)
            knownDeadline = smallest
            return smallest
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
        handles.append(first.handle)
        collectChildren(of: 0, upTo: limit, into: &handles)
        guard handles.count > 1 else { return }
        handles.sort { entry(of: $0).key < entry(of: $1).key }
    }

    /// Checks the order of the heap and that slots and entries point at each other.
    ///
    /// - Complexity: O(count).
    @usableFromInline
    package func checkInvariants() {
        precondition(payloads.count == entries.count, "\(payloads.count) payloads of \(count)")
        for position in entries.indices {
            let entry = entries[position]
            precondition(entry.latest >= entry.fire, "latest before fire at \(position)")
            precondition(payloads.contains(entry.handle), "stale handle at \(position)")
            precondition(positions[Int(entry.handle.index)] == position, "lost \(position)")
            let parent = entries[max(0, position - 1) / 4]
            precondition(position == 0 || parent.key < entry.key, "out of order at \(position)")
        }
        guard let knownDeadline, let smallest = entries.lazy.map(\.latest).min() else { return }
        precondition(knownDeadline == smallest, "deadline \(knownDeadline), not \(smallest)")
    }

    @inlinable
    func entry(of handle: Handle) -> Entry {
        entries[Int(positions[Int(handle.index)])]
    }

    @inlinable
    mutating func forgetDeadline(setBy entry: Entry) {
        if entry.latest == knownDeadline { knownDeadline = nil }
    }

    @inlinable
    mutating func lowerKnownDeadline(to latest: Int64) {
        if let known = knownDeadline, latest < known { knownDeadline = latest }
    }

    /// Lowers `smallest` to the smallest `latest` below `position`.
    ///
    /// Skips each subtree that fires at `smallest` or later: nothing in it can be due earlier. The
    /// recursion is as deep as the heap, 16 levels at most.
    @inlinable
    func lower(_ smallest: inout Int64, byChildrenOf position: Int) {
        for child in childPositions(of: position) where entries[child].fire < smallest {
            smallest = min(smallest, entries[child].latest)
            lower(&smallest, byChildrenOf: child)
        }
    }

    @inlinable
    func collectChildren(
        of position: Int, upTo limit: Int64, into handles: inout [Handle]
    ) {
        for child in childPositions(of: position) where entries[child].fire <= limit {
            handles.append(entries[child].handle)
            collectChildren(of: child, upTo: limit, into: &handles)
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
