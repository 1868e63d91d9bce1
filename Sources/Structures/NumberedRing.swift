// The latest elements of an endless stream, each with its number. Readers keep a number of their
// own and come for more when they have room: nothing is queued for any of them, so a reader that is
// slow costs nothing, and finds out how much it has missed.

/// Keeps the latest elements of a numbered stream, within limits.
///
/// Invariant: the kept elements have the numbers `oldest..<next`, without gaps.
///
/// - Thread: confined to its owner's.
/// - Complexity: O(1) on average to append, O(1) to look up.
package struct NumberedRing<Element> {
    private var elements = FIFO<(element: Element, byteCount: Int)>()
    private var countMax: Int
    private var byteCountMax: Int
    /// The bytes of the kept elements, as `append` was told.
    package private(set) var byteCount = 0
    /// The number of the next element, from 1 on.
    package private(set) var next: UInt64 = 1

    /// - Parameters:
    ///   - countMax: the most elements that are kept.
    ///   - byteCountMax: the most bytes that they take; the latest one is kept in any case.
    package init(countMax: Int, byteCountMax: Int) {
        self.countMax = countMax
        self.byteCountMax = byteCountMax
    }

    /// The number of the oldest kept element; `next` if there is none.
    package var oldest: UInt64 { next - UInt64(elements.count) }

    /// Adds an element; drops the oldest ones over the limits.
    package mutating func append(_ element: Element, byteCount size: Int) {
        elements.append((element, size))
        byteCount += size
        next += 1
        dropOldest()
    }

    /// Changes the limits; drops the oldest elements over them.
    package mutating func limit(countMax: Int, byteCountMax: Int) {
        self.countMax = countMax
        self.byteCountMax = byteCountMax
        dropOldest()
    }

    private mutating func dropOldest() {
        while elements.count > countMax || byteCount > byteCountMax && elements.count > 1,
            let dropped = elements.popFirst()
        {
            byteCount -= dropped.byteCount
        }
    }

    /// The element of a number, which has to be kept.
    package subscript(number: UInt64) -> Element {
        elements[Int(number - oldest)].element
    }

    /// Drops all elements, and leaves one number out: no reader can take the next element for the
    /// one behind the last.
    package mutating func interrupt() {
        elements.removeAll()
        byteCount = 0
        next += 1
    }
}

/// A reader's place in a numbered ring.
package struct RingReader: Sendable {
    /// The number of the element that comes next.
    package private(set) var next: UInt64

    package enum Step<Element> {
        case element(Element, number: UInt64)
        /// So many elements were dropped before they were read; those up to this number.
        case missed(UInt64, through: UInt64)
    }

    package init(from number: UInt64) { next = number }

    /// Takes the next element, or is told how many were missed; nil if all is read.
    package mutating func take<Element>(from ring: NumberedRing<Element>) -> Step<Element>? {
        if next < ring.oldest {
            let count = ring.oldest - next
            next = ring.oldest
            return .missed(count, through: next - 1)
        }
        guard next < ring.next else { return nil }
        defer { next += 1 }
        return .element(ring[next], number: next)
    }
}
