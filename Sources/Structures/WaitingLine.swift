// A queue of waiters that may give up without notice.

/// Keeps elements in order of arrival; some give up and stay in the queue until they are found.
///
/// Elements that have given up are removed now and then, so that the queue never has more than
/// about twice as many as wait, and a few: a client that repeatedly joins, waits a moment and gives
/// up does not make it grow.
///
/// - Thread: confined to its owner's.
/// - Complexity: O(1) for joining and taking the first, amortised.
@usableFromInline
package struct WaitingLine<Element> {
    @usableFromInline var elements = FIFO<Element>()
    /// How many are in it when those that have left are looked for next.
    private var nextLookCount = Self.nextLookCount(after: 0)

    private static func nextLookCount(after count: Int) -> Int { max(64, 2 * count) }

    /// An empty line.
    package init() {}

    /// The number of elements, those that have given up and were not yet found included.
    package var count: Int { elements.count }

    /// Whether nothing is in it.
    @inlinable
    package var isEmpty: Bool { elements.count == 0 }

    /// Adds an element at the end.
    ///
    /// - Parameter hasLeft: whether an element has given up.
    /// - Returns: the elements that were found to have given up; they are removed.
    package mutating func join(_ element: Element, hasLeft: (Element) -> Bool) -> [Element] {
        elements.append(element)
        guard elements.count >= nextLookCount else { return [] }
        let left = removeAll(where: hasLeft)
        nextLookCount = Self.nextLookCount(after: elements.count)
        return left
    }

    /// Takes the first element, or returns nil if there is none.
    package mutating func popFirst() -> Element? {
        defer { nextLookCount = min(nextLookCount, Self.nextLookCount(after: elements.count)) }
        return elements.popFirst()
    }

    /// Removes all elements that `isMeant` accepts; the others keep their order.
    ///
    /// - Complexity: O(n).
    package mutating func removeAll(where isMeant: (Element) -> Bool) -> [Element] {
        var removed: [Element] = []
        for _ in 0..<elements.count {
            guard let element = elements.popFirst() else { break }
            if isMeant(element) { removed.append(element) } else { elements.append(element) }
        }
        return removed
    }
}
