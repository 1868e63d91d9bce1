// A queue in a ring of slots: first in, first out.
//
// The ring doubles when full and gives its memory back when it runs empty after a burst. The owner
// bounds its length: only the owner can tell a caller that it is refused.

/// Keeps elements in the order in which they were appended.
///
/// A collection whose index is the distance from the front, so that waiting elements can be
/// searched.
///
/// - Thread: confined to its owner's.
/// - Complexity: O(1) for everything, amortised where the ring grows.
@usableFromInline
package struct FIFO<Element> {
    /// Their number is a power of two, or zero.
    @usableFromInline var slots: [Element?] = []

    /// The slot of the first element.
    @usableFromInline var head = 0

    /// The number of elements.
    @usableFromInline package internal(set) var count = 0

    /// Makes an empty queue, which owns no memory yet.
    @inlinable
    package init() {}

    /// The number of elements that fit before the ring grows.
    @inlinable
    package var capacity: Int { slots.count }

    /// Adds `element` at the back.
    @inlinable
    package mutating func append(_ element: consuming Element) {
        if count == slots.count { grow() }
        slots[slot(at: count)] = element
        count += 1
    }

    /// Adds `element` at the front: it is the next one taken.
    @inlinable
    package mutating func prepend(_ element: Element) {
        if count == slots.count { grow() }
        head = slot(at: slots.count - 1)
        slots[head] = element
        count += 1
    }

    /// The first element, or `nil` if there is none.
    @inlinable
    package var first: Element? { count > 0 ? slots[head] : nil }

    /// Takes the first element, or returns `nil` if there is none.
    @inlinable
    package mutating func popFirst() -> Element? {
        guard count > 0 else { return nil }
        let element = slots[head].take()
        head = slot(at: 1)
        count -= 1
        if count == 0 { releaseBurst() }
        return element
    }

    /// Takes the first element, which has to be there.
    @inlinable
    package mutating func removeFirst() -> Element {
        guard let element = popFirst() else { preconditionFailure("the queue is empty") }
        return element
    }

    /// Drops all elements, and the memory with them.
    @inlinable
    package mutating func removeAll() {
        self = FIFO()
    }

    /// The slot of the element at `distance` from the front.
    @inlinable
    func slot(at distance: Int) -> Int {
        (head &+ distance) & (slots.count &- 1)
    }

    /// Doubles the ring and moves the elements to its start.
    @inlinable
    mutating func grow() {
        var larger: [Element?] = []
        larger.reserveCapacity(Swift.max(LayoutLimits.firstSlotCount, 2 * slots.count))
        for distance in 0..<count { larger.append(slots[slot(at: distance)].take()) }
        while larger.count < Swift.max(LayoutLimits.firstSlotCount, 2 * slots.count) {
            larger.append(nil)
        }
        slots = larger
        head = 0
    }

    @inlinable
    mutating func releaseBurst() {
        head = 0
        if slots.count > LayoutLimits.keptSlotCount { slots = [] }
    }
}

extension FIFO: RandomAccessCollection {
    /// The distance of the first element from the front: zero.
    @inlinable
    package var startIndex: Int { 0 }

    /// The number of elements.
    @inlinable
    package var endIndex: Int { count }

    /// The element at `distance` from the front.
    @inlinable
    package subscript(distance: Int) -> Element {
        guard indices.contains(distance), let element = slots[slot(at: distance)] else {
            preconditionFailure("no element at \(distance) of a queue of \(count)")
        }
        return element
    }
}

extension FIFO: Sendable where Element: Sendable {}
