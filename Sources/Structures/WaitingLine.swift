// A queue of those who wait for something and may go away meanwhile without a word.

/// Keeps elements in the order in which they came, of which some leave unseen.
///
/// Now and then they are looked for, so that it never holds more than about twice as many as wait, and a
/// few: who comes, waits a moment and leaves, again and again, does not make it grow.
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

    /// The number of elements, those among them that have left and were not yet found.
    package var count: Int { elements.count }

    /// Whether nothing is in it.
    @inlinable
    package var isEmpty: Bool { elements.count == 0 }

    /// Adds an element behind the others.
    ///
    /// - Parameter hasLeft: whether an element waits no more.
    /// - Returns: those that were found to have left, and are in it no more.
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

    /// Takes out all elements of a kind; the others keep their order.
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
