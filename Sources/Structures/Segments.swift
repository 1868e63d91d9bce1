// A list that grows without moving what is in it.
//
// An array that is full takes twice the memory and copies everything over. With a million timers that
// is one call that takes milliseconds, and memory that the system has to clear and hand over page by
// page, half of it for what was there already. It must not know what the elements are.

/// Keeps elements in segments, each twice as large as the one before, and never gives one up.
///
/// A copy shares the segments until one of the two is changed, as with an array.
///
/// - Thread: confined to its owner's.
/// - Complexity: O(1) for everything, with no exception but what the allocator takes for a segment.
@usableFromInline
struct Segments<Element> {
    /// Nil until there is an element.
    @usableFromInline var storage: SegmentStorage<Element>?

    /// The number of elements.
    @usableFromInline var count = 0

    @inlinable
    init() {}

    @inlinable
    subscript(index: Int) -> Element {
        @inline(__always) _read {
            yield unsafe address(of: index).pointee
        }
        @inline(__always) _modify {
            if !isKnownUniquelyReferenced(&storage) { ownStorage() }
            yield unsafe &address(of: index).pointee
        }
    }

    /// Adds an element behind the others.
    @inlinable
    @inline(__always)
    mutating func append(_ element: consuming Element) {
        if !isKnownUniquelyReferenced(&storage) { ownStorage() }
        if SegmentStorage<Element>.isFirst(count) { storage?.addSegment(for: count) }
        count &+= 1
        unsafe address(of: count &- 1).initialize(to: element)
        storage?.noteCount(count)
    }

    /// Where an element is, until this list is changed or gone.
    @inlinable
    @inline(__always)
    func address(of index: Int) -> UnsafeMutablePointer<Element> {
        guard let storage, UInt(bitPattern: index) < UInt(bitPattern: count) else {
            preconditionFailure("no element at \(index) of \(count)")
        }
        return unsafe storage.address(of: index)
    }

    @inlinable
    @inline(never)
    mutating func ownStorage() { storage = storage?.copy() ?? SegmentStorage() }
}
