// Values behind handles that go stale instead of dangling.
//
// For tables whose entries are named from outside, by the owner of a timer or a source. A handle is
// an index plus a generation. The slot's generation moves on when its value leaves, so an old
// handle is refused even after its slot was given to another value. The table knows nothing of the
// values and keeps them in no order.

/// Keeps values in reused slots and gives out a generation-stamped handle to each.
///
/// Slots are never given back to the system, because each remembers its generation: the table keeps
/// the memory of its largest size.
///
/// - Thread: confined to its owner's.
/// - Complexity: O(1) for everything but iteration, which is O(slots).
@usableFromInline
package struct SlotMap<Value> {
    /// Names one value while it is in the table, and nothing ever after.
    @usableFromInline
    package struct Handle: Hashable, Sendable {
        @usableFromInline let index: UInt32
        @usableFromInline let generation: UInt32

        @inlinable
        init(index: UInt32, generation: UInt32) {
            self.index = index
            self.generation = generation
        }
    }

    @usableFromInline
    struct Slot {
        /// `nil` while the slot is free.
        @usableFromInline var value: Value?

        /// The generation of the value in the slot; of a free slot, that of its next value.
        ///
        /// So a handle whose generation matches is a handle to a value that is there.
        @usableFromInline var generation: UInt32

        /// The next free slot with the upper bit set, or the owner's note beside the value.
        ///
        /// The free list ends with `noSlot`. A note has the upper bit clear.
        @usableFromInline var link: UInt32

        @inlinable
        init(value: consuming Value, note: UInt32) {
            self.value = value
            self.generation = 0
            self.link = note
        }

        /// Stores a value, if the slot is free.
        ///
        /// - Returns: its generation, and the link that the slot had.
        @inlinable
        mutating func fill(
            with value: consuming Value, note: UInt32
        ) -> (generation: UInt32, link: UInt32) {
            defer { link = note }
            self.value = value
            return (generation, link)
        }

        /// Removes the value and frees the slot for another one, if the value is of this
        /// generation.
        @inlinable
        mutating func empty(_ generation: UInt32, link: UInt32) -> Value? {
            guard self.generation == generation else { return nil }
            self.generation = generation &+ 1
            self.link = link
            return value.take()
        }
    }

    /// Set in the links of free slots, so that no link is taken for a note.
    @inlinable static var freeMark: UInt32 { 1 << 31 }

    @usableFromInline var slots = Pages<Slot>()
    /// The slot that was freed last, in the form of a link.
    @usableFromInline var firstFree = noSlot
    @usableFromInline let generationMax: UInt32

    /// The number of values.
    @usableFromInline package internal(set) var count = 0

    /// Makes an empty table.
    ///
    /// - Parameter generationMax: the number of values that a slot may have one after the other
    ///   before it is retired; smaller than the limit in tests only.
    @inlinable
    package init(generationMax: UInt32 = LayoutLimits.generationMax) {
        self.generationMax = generationMax
    }

    /// Whether the table is empty.
    @inlinable
    package var isEmpty: Bool { count == 0 }

    /// The number of slots, in use, free or retired.
    @inlinable
    package var slotCount: Int { slots.count }

    /// The value behind `handle`, `nil` once it has been removed.
    @inlinable
    package subscript(handle: Handle) -> Value? {
        guard contains(handle) else { return nil }
        return slots[Int(handle.index)].value
    }

    /// Calls `body` with the value behind `handle`, in place.
    ///
    /// - Returns: the result of `body`, or `nil` once the value has been removed.
    @inlinable
    @discardableResult
    package mutating func update<Result>(
        _ handle: Handle, _ body: (inout Value) -> Result
    ) -> Result? {
        guard contains(handle), var value = slots[Int(handle.index)].value.take() else {
            return nil
        }
        defer { slots[Int(handle.index)].value = value }
        return body(&value)
    }

    /// Whether the value behind `handle` is still there.
    @inlinable
    package func contains(_ handle: Handle) -> Bool {
        let index = Int(handle.index)
        return index < slots.count && slots[index].generation == handle.generation
    }

    /// Notes a number below 2^31 beside the value behind `handle`, in memory that only free slots
    /// need.
    ///
    /// - Returns: `false` once the value has been removed.
    @inlinable
    package mutating func setNote(_ note: UInt32, of handle: Handle) -> Bool {
        guard contains(handle) else { return false }
        slots[Int(handle.index)].link = note
        return true
    }

    /// The number of slots with this index, 1 or 0, whose value has `note` beside it.
    ///
    /// A number, computed without a branch: a caller that counts many slots in turn, none of them
    /// in the cache, has them fetched side by side, and no wrong guess is undone when a slot has
    /// come from memory.
    ///
    /// - Parameters:
    ///   - note: tells the value from removed ones, if its owner gives each its own.
    ///   - index: that of a handle which this table gave out.
    @inlinable
    package func count(notedAs note: UInt32, at index: UInt32) -> Int {
        let difference = slots[Int(index)].link ^ note
        return Int(truncatingIfNeeded: (UInt64(difference) &- 1) >> 63)
    }

    /// The handle of the value in a slot.
    @inlinable
    package func handle(at index: UInt32) -> Handle {
        Handle(index: index, generation: slots[Int(index)].generation)
    }

    /// Puts `value` into the slot that was freed last, or into a new one.
    ///
    /// - Parameter note: kept beside the value until it leaves; below 2^31.
    @inlinable
    @inline(__always)
    package mutating func insert(_ value: consuming Value, note: UInt32 = 0) -> Handle {
        count &+= 1
        guard firstFree != noSlot else {
            precondition(
                slots.count < LayoutLimits.slotCountMax, "a slot map is full: \(slots.count)")
            slots.append(Slot(value: value, note: note))
            return Handle(index: UInt32(truncatingIfNeeded: slots.count - 1), generation: 0)
        }
        let index = firstFree ^ Self.freeMark
        let (generation, next) = slots[Int(index)].fill(with: value, note: note)
        firstFree = next
        return Handle(index: index, generation: generation)
    }

    /// Removes the value behind `handle`; every copy of the handle is stale from then on.
    ///
    /// - Returns: the value, or `nil` if it had been removed before.
    @inlinable
    @inline(__always)
    package mutating func remove(_ handle: Handle) -> Value? {
        let index = Int(handle.index)
        guard index < slots.count else { return nil }
        let isRetired = handle.generation &+ 1 >= generationMax
        let link = isRetired ? noSlot : firstFree
        guard let value = slots[index].empty(handle.generation, link: link) else { return nil }
        count &-= 1
        if !isRetired { firstFree = handle.index | Self.freeMark }
        return value
    }
}

/// The index that stands for none: the end of a free list or a chain.
@inlinable var noSlot: UInt32 { .max }

extension SlotMap: Sequence {
    /// Iterates over the values in the order of their slots.
    @inlinable
    package func makeIterator() -> some IteratorProtocol<(handle: Handle, value: Value)> {
        (0..<slots.count).lazy.compactMap { entry(at: $0) }.makeIterator()
    }

    @inlinable
    func entry(at index: Int) -> (handle: Handle, value: Value)? {
        let slot = slots[index]
        let handle = Handle(index: UInt32(index), generation: slot.generation)
        return slot.value.map { (handle, $0) }
    }
}
