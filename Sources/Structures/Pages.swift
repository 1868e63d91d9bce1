// A list that grows without moving its elements.
//
// A full array takes twice the memory and copies everything. With a million timers that is one long
// call, and memory that the system must clear and hand over page by page, half of it for elements
// that were there already. It knows nothing of the elements.

/// Keeps elements in pages of 512, and never frees one.
///
/// The first page grows up to that size, so that few elements take little memory; the others are
/// never moved. A copy shares the pages until one of the two is changed, as with an array.
///
/// - Thread: confined to its owner's.
/// - Complexity: O(1) for everything, but O(count) for the first change of a copy.
@usableFromInline
@safe package struct Pages<Element> {
    // SAFETY: `starts` is that of `storage`, which is held here, has room for `capacity` elements
    // and holds those below `count`. An address is used only within the call that computes it.

    /// Nil until there is an element.
    @usableFromInline var storage: PageStorage<Element>?

    /// The starts of the pages.
    ///
    /// The copy saves one memory access on the way to an element; each access waits for the one
    /// before.
    @usableFromInline var starts: UnsafeMutablePointer<UnsafeMutablePointer<Element>>?

    /// The number of elements.
    @usableFromInline package internal(set) var count = 0

    /// The number of elements that the pages have room for.
    @usableFromInline var capacity = 0

    /// Makes an empty list, which owns no memory yet.
    @inlinable
    package init() {}

    /// The element at `index`, changed in place.
    @inlinable
    package subscript(index: Int) -> Element {
        @inline(__always) _read {
            yield unsafe address(of: index).pointee
        }
        @inline(__always) _modify {
            if !isKnownUniquelyReferenced(&storage) { own(PageStorage(of: storage)) }
            yield unsafe &address(of: index).pointee
        }
    }

    /// Adds an element at the end.
    @inlinable
    @inline(__always)
    package mutating func append(_ element: consuming Element) {
        if !isKnownUniquelyReferenced(&storage) { own(PageStorage(of: storage)) }
        if count == capacity { grow() }
        count &+= 1
        unsafe address(of: count &- 1).initialize(to: element)
        storage?.noteCount(count)
    }

    @inlinable
    @inline(__always)
    func address(of index: Int) -> UnsafeMutablePointer<Element> {
        precondition(UInt(bitPattern: index) < UInt(bitPattern: count), "no element at \(index)")
        return unsafe PageStorage.address(of: index, in: starts.unsafelyUnwrapped)
    }

    /// Makes room for at least one more element; only for the sole owner of the pages.
    @inlinable
    @inline(never)
    mutating func grow() {
        guard let storage else { return }
        storage.grow()
        own(storage)
    }

    /// Takes these pages as its own.
    @inlinable
    @inline(never)
    mutating func own(_ storage: PageStorage<Element>) {
        self.storage = storage
        unsafe starts = storage.starts
        capacity = storage.capacity
    }
}
