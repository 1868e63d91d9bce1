// A list whose first element needs no memory of its own: most lists have one element.

/// Keeps elements in the order in which they were appended, a single one in place.
///
/// - Complexity: linear to find and to remove; it is meant for a handful.
@usableFromInline
package struct ShortList<Element> {
    /// Not an element beside an array of the others: an empty array costs a call for each list that
    /// is made, copied or dropped.
    @usableFromInline
    enum Storage {
        case none
        case one(Element)
        /// Two or more.
        case several([Element])
    }

    @usableFromInline var storage = Storage.none

    /// Makes an empty list, which owns no memory.
    @inlinable
    package init() {}

    @inlinable package var isEmpty: Bool {
        if case .none = storage { true } else { false }
    }

    @inlinable package var count: Int {
        switch storage {
        case .none: 0
        case .one: 1
        case .several(let elements): elements.count
        }
    }

    @inlinable package var first: Element? {
        switch storage {
        case .none: nil
        case .one(let element): element
        case .several(let elements): elements.first
        }
    }

    /// Adds an element at the end.
    @inlinable
    @inline(__always)
    package mutating func append(_ element: Element) {
        if case .none = storage { storage = .one(element) } else { appendToOthers(element) }
    }

    @inlinable
    mutating func appendToOthers(_ element: Element) {
        switch storage {
        case .none: storage = .one(element)
        case .one(let first): storage = .several([first, element])
        case .several(var elements):
            // Makes the array uniquely referenced, so that it is not copied.
            storage = .none
            elements.append(element)
            storage = .several(elements)
        }
    }

    /// Puts an element in front of the one at `index`, or at the end.
    @inlinable
    package mutating func insert(_ element: Element, at index: Int) {
        if index == count { return append(element) }
        var elements = Array(self)
        // Makes the array uniquely referenced, so that it is not copied.
        storage = .none
        elements.insert(element, at: index)
        storage = .several(elements)
    }

    /// Takes the only element out.
    ///
    /// - Returns: the element, or nil when there are none or several, which stay.
    @inlinable
    package mutating func takeOnly() -> Element? {
        guard case .one = storage else { return nil }
        // Moved out: a copy would cost a reference count.
        guard case .one(let element) = exchange(&storage, with: .none) else { return nil }
        return element
    }

    /// Removes the first element that matches.
    ///
    /// - Returns: the element, or nil when none matches.
    @inlinable
    @discardableResult
    package mutating func removeFirst(where matches: (Element) -> Bool) -> Element? {
        switch storage {
        case .none: return nil
        case .one(let element):
            guard matches(element) else { return nil }
            storage = .none
            return element
        case .several(var elements):
            guard let index = elements.firstIndex(where: matches) else { return nil }
            storage = .none
            let found = elements.remove(at: index)
            storage = elements.count > 1 ? .several(elements) : .one(elements[0])
            return found
        }
    }

    @inlinable
    package mutating func removeAll() { storage = .none }

    /// Removes all elements that match; the others keep their order.
    ///
    /// Gives memory back if it is enough for many more.
    @inlinable
    package mutating func removeAll(where matches: (Element) -> Bool) {
        switch storage {
        case .none: return
        case .one(let element): if matches(element) { storage = .none }
        case .several(var elements):
            // Makes the array uniquely referenced, so that it is not copied.
            storage = .none
            elements.removeAll(where: matches)
            if elements.count < 2 {
                storage = elements.first.map(Storage.one) ?? .none
            } else if elements.capacity > 64, elements.capacity / 8 > elements.count {
                storage = .several(elements.map { $0 })
            } else {
                storage = .several(elements)
            }
        }
    }
}

extension ShortList: RandomAccessCollection {
    @inlinable package var startIndex: Int { 0 }
    @inlinable package var endIndex: Int { count }

    @inlinable
    package subscript(index: Int) -> Element {
        switch storage {
        case .none: preconditionFailure("no element at \(index)")
        case .one(let element):
            precondition(index == 0, "no element at \(index)")
            return element
        case .several(let elements): return elements[index]
        }
    }
}

extension ShortList.Storage: Sendable where Element: Sendable {}
extension ShortList: Sendable where Element: Sendable {}
