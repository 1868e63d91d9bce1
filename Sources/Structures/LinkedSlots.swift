// Values in reused slots, chained in the order in which they were appended.
//
// The base of structures that must remove a value from the middle of an order at once: doubly
// linked lists whose nodes lie in one array and whose links are indices. A node costs no
// allocation, and a removal leaves no gap to skip or compact later. Several chains can share one
// table. Slots are bare indices: an owner that hands them out must add a generation.

/// Keeps values in an array of slots and in the order of one or more chains.
///
/// - Thread: confined to its owner's.
/// - Complexity: O(1) for everything.
@usableFromInline
package struct LinkedSlots<Value> {
    /// An order of some of the values, kept by the owner of the table and changed by the table.
    @usableFromInline
    package struct Chain: Sendable {
        @usableFromInline var firstSlot = noSlot
        @usableFromInline var lastSlot = noSlot

        /// Makes an empty chain.
        @inlinable
        package init() {}

        /// The slot of the first value.
        @inlinable
        package var first: Int? { firstSlot == noSlot ? nil : Int(firstSlot) }

        /// The slot of the last value.
        @inlinable
        package var last: Int? { lastSlot == noSlot ? nil : Int(lastSlot) }
    }

    @usableFromInline
    struct Node {
        /// `nil` while the slot is free.
        @usableFromInline var value: Value?

        /// Neighbours in the chain; `next` of a free slot is the next free one.
        @usableFromInline var previous: UInt32
        @usableFromInline var next = noSlot

        @inlinable
        init(value: consuming Value, previous: UInt32) {
            self.value = value
            self.previous = previous
        }
    }

    @usableFromInline var nodes: [Node] = []
    @usableFromInline var firstFree = noSlot

    /// The number of values in all chains.
    @usableFromInline package internal(set) var count = 0

    /// Makes an empty table, which owns no memory yet.
    @inlinable
    package init() {}

    /// The number of slots, in use or free.
    @inlinable
    package var slotCount: Int { nodes.count }

    /// The value in `slot`, `nil` if there is none; change it in place through `slots[slot]?`.
    ///
    /// Only `remove(_:from:)` may take it out.
    @inlinable
    package subscript(slot: Int) -> Value? {
        get { slot < nodes.count ? nodes[slot].value : nil }
        _modify {
            defer { assert(nodes[slot].value != nil, "slot \(slot) was emptied in its chain") }
            yield &nodes[slot].value
        }
    }

    /// Adds `value` at the end of `chain`.
    ///
    /// - Returns: its slot, which it keeps until it is removed.
    @inlinable
    package mutating func append(_ value: consuming Value, to chain: inout Chain) -> Int {
        let slot: Int
        if firstFree == noSlot {
            precondition(
                nodes.count < LayoutLimits.slotCountMax, "all \(nodes.count) slots are taken")
            slot = nodes.count
            nodes.append(Node(value: value, previous: chain.lastSlot))
        } else {
            slot = Int(firstFree)
            firstFree = nodes[slot].next
            nodes[slot] = Node(value: value, previous: chain.lastSlot)
        }
        link(chain.lastSlot, to: UInt32(truncatingIfNeeded: slot), in: &chain)
        chain.lastSlot = UInt32(truncatingIfNeeded: slot)
        count += 1
        return slot
    }

    /// Removes the value in `slot` from `chain`, the chain that it was appended to.
    ///
    /// - Returns: the value, or `nil` if the slot was free.
    @inlinable
    package mutating func remove(_ slot: Int, from chain: inout Chain) -> Value? {
        guard slot < nodes.count, let value = nodes[slot].value.take() else { return nil }
        let previous = nodes[slot].previous
        let next = nodes[slot].next
        link(previous, to: next, in: &chain)
        if next == noSlot {
            chain.lastSlot = previous
        } else {
            nodes[Int(next)].previous = previous
        }
        nodes[slot].next = firstFree
        firstFree = UInt32(truncatingIfNeeded: slot)
        count -= 1
        if count == 0, nodes.count > LayoutLimits.keptSlotCount { releaseBurst() }
        return value
    }

    /// The slot behind `slot` in its chain.
    @inlinable
    package func slot(after slot: Int) -> Int? {
        let next = nodes[slot].next
        return next == noSlot ? nil : Int(next)
    }

    /// The slot before `slot` in its chain.
    @inlinable
    package func slot(before slot: Int) -> Int? {
        let previous = nodes[slot].previous
        return previous == noSlot ? nil : Int(previous)
    }

    /// Makes `slot` the one after `previous`, or the first if that is `noSlot`.
    @inlinable
    mutating func link(_ previous: UInt32, to slot: UInt32, in chain: inout Chain) {
        if previous == noSlot { chain.firstSlot = slot } else { nodes[Int(previous)].next = slot }
    }

    @inlinable
    mutating func releaseBurst() {
        nodes = []
        firstFree = noSlot
    }
}
