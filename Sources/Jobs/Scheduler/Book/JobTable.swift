// The values of jobs, found by number. Each job is looked up here several times.
//
// A dictionary protects itself against keys that a client chose to collide; this protection is most of
// the cost of a look-up. The daemon gives the numbers one after another, so a client that wants many of
// them in one slot must submit many times more jobs than the table has slots.

/// Values by the numbers of their jobs.
///
/// Open addressing with linear probing: `slots` has a power of two of them, at most three quarters in
/// use. A value is in its home slot or in the first free slot behind it. A removal leaves no mark: the
/// values behind it move up.
///
/// - Thread: confined to its owner's.
/// - Complexity: O(1) on average, also where it grows; `values` is O(its largest count).
@usableFromInline
package struct JobTable<Value> {
    @usableFromInline
    struct Slot {
        /// 0 while the slot is free: no job has this number.
        @usableFromInline var number: UInt64
        @usableFromInline var value: Value?

        @inlinable
        init(number: UInt64, value: Value?) {
            self.number = number
            self.value = value
        }
    }

    @usableFromInline var slots: [Slot] = []
    /// 64 less the bits of a place.
    @usableFromInline var shift: UInt64 = 64
    /// How many jobs are in it.
    @usableFromInline package internal(set) var count = 0

    @usableFromInline static var firstSlotCount: Int { 16 }
    /// So many slots are kept when it becomes empty.
    @usableFromInline static var keptSlotCount: Int { 4_096 }

    /// Makes an empty table, which owns no memory yet.
    @inlinable
    package init() {}

    /// Whether there is nothing in it.
    @inlinable
    package var isEmpty: Bool { count == 0 }

    /// The value of a job; nil if it has none.
    @inlinable
    package subscript(id: JobID) -> Value? {
        get { place(of: id.number).flatMap { slots[$0].value } }
        set {
            if let newValue { insert(newValue, id.number) } else { removeValue(forKey: id) }
        }
    }

    /// Takes out the value of a job.
    ///
    /// - Returns: it, or nil if there was none.
    @inlinable
    @discardableResult
    package mutating func removeValue(forKey id: JobID) -> Value? {
        guard let place = place(of: id.number) else { return nil }
        let value = slots[place].value.take()
        closeUp(place)
        count -= 1
        if count == 0, slots.count > Self.keptSlotCount { self = JobTable() }
        return value
    }

    /// All values, in no order.
    @inlinable
    package var values: [Value] { slots.compactMap(\.value) }

    /// Where a number stands; nil if it does not.
    @inlinable
    func place(of number: UInt64) -> Int? {
        guard count > 0, number != 0 else { return nil }
        var place = home(of: number)
        while slots[place].number != number {
            if slots[place].number == 0 { return nil }
            place = (place &+ 1) & (slots.count &- 1)
        }
        return place
    }

    /// Neighbours are far apart: those behind a long run of numbers have not to look through it.
    @inlinable
    func home(of number: UInt64) -> Int {
        // The golden ratio of 64 bits (Knuth, The Art of Computer Programming, 6.4).
        Int(truncatingIfNeeded: (number &* 0x9E37_79B9_7F4A_7C15) &>> shift)
    }

    @inlinable
    mutating func insert(_ value: Value, _ number: UInt64) {
        precondition(number != 0, "no job has the number 0")
        if count &* 4 >= slots.count &* 3 { grow() }
        var place = home(of: number)
        while slots[place].number != 0, slots[place].number != number {
            place = (place &+ 1) & (slots.count &- 1)
        }
        if slots[place].number == 0 { count += 1 }
        slots[place] = Slot(number: number, value: value)
    }

    /// Frees a place, and lets those behind move up that stand there only because theirs were taken.
    @inlinable
    mutating func closeUp(_ place: Int) {
        let mask = slots.count &- 1
        var free = place
        var next = (place &+ 1) & mask
        while slots[next].number != 0 {
            let distanceFromHome = (next &- home(of: slots[next].number)) & mask
            if distanceFromHome >= (next &- free) & mask {
                slots.swapAt(free, next)
                free = next
            }
            next = (next &+ 1) & mask
        }
        slots[free] = Slot(number: 0, value: nil)
    }

    @inlinable
    mutating func grow() {
        let before = slots
        let slotCount = max(Self.firstSlotCount, 2 * before.count)
        slots = Array(repeating: Slot(number: 0, value: nil), count: slotCount)
        shift = UInt64(64 - slotCount.trailingZeroBitCount)
        count = 0
        for slot in before {
            if let value = slot.value { insert(value, slot.number) }
        }
    }
}

extension JobTable: Sendable where Value: Sendable {}
extension JobTable.Slot: Sendable where Value: Sendable {}
