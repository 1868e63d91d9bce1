// A list whose first element needs no memory of its own: for what is mostly one.

/// Elements in the order in which they were appended, the first of them in place.
///
/// - Complexity: linear to find and to remove; it is meant for a handful.
@usableFromInline
package struct ShortList<Element> {
    @usableFromInline var head: Element?
    @usableFromInline var rest: [Element] = []

    /// Makes an empty list, which owns no memory.
    @inlinable
    package init() {}

    @inlinable package var isEmpty: Bool { head == nil }

    @inlinable package var count: Int { head == nil ? 0 : 1 + rest.count }

    /// Adds an element at the end.
    @inlinable
    package mutating func append(_ element: Element) {
        if head == nil { head = element } else { rest.append(element) }
    }

    /// Removes the first element that matches.
    ///
    /// - Returns: it, or nil when none does.
    @inlinable
    @discardableResult
    package mutating func removeFirst(where matches: (Element) -> Bool) -> Element? {
        guard let found = head else { return nil }
        if matches(found) {
            head = rest.isEmpty ? nil : rest.removeFirst()
            return found
        }
        return rest.firstIndex(where: matches).map { rest.remove(at: $0) }
    }

    @inlinable
    package mutating func removeAll() {
        head = nil
        rest = []
    }
}

extension ShortList: Sequence {
    /// Walks through the elements as they were when it was made.
    @usableFromInline
    package struct Iterator: IteratorProtocol {
        @usableFromInline let list: ShortList
        @usableFromInline var index = -1

        @inlinable
        init(list: ShortList) { self.list = list }

        @inlinable
        package mutating func next() -> Element? {
            defer { index += 1 }
            if index < 0 { return list.head }
            return index < list.rest.count ? list.rest[index] : nil
        }
    }

    @inlinable
    package func makeIterator() -> Iterator { Iterator(list: self) }
}

extension ShortList: Sendable where Element: Sendable {}
