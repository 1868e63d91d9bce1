// The memory of pages: allocates it, addresses the elements in it, and frees it.

/// Owns the pages of one list, and the elements in them.
@usableFromInline
@safe final class PageStorage<Element> {
    // SAFETY: `starts` has room for `startCountMax` starts, of which those of the pages with the
    // first `capacity` elements are set; the first `count` elements are initialised, and no others.
    // Only `Pages` changes anything, after it has made sure that it alone holds this object, so
    // accesses don't overlap either.
    @exclusivity(unchecked)
    @usableFromInline var starts: UnsafeMutablePointer<UnsafeMutablePointer<Element>>
    @exclusivity(unchecked) @usableFromInline var startCountMax = 4
    @exclusivity(unchecked) @usableFromInline var count = 0
    @exclusivity(unchecked) @usableFromInline var uncheckedCapacity = 0

    /// The number of elements that there is room for.
    @inlinable var capacity: Int { unsafe uncheckedCapacity }

    /// The size of a page; the first one begins smaller.
    @inlinable static var pageSize: Int { 1 &<< sizeExponent }
    @inlinable static var sizeExponent: Int { 9 }
    @inlinable static var firstCapacity: Int { 8 }

    /// Pages with a copy of the elements of `other`, or empty ones.
    @inlinable
    init(of other: PageStorage?) {
        unsafe starts = .allocate(capacity: 4)
        guard let other else { return }
        for index in 0..<(unsafe other.count) {
            if index == capacity { grow() }
            let element = unsafe Self.address(of: index, in: other.starts).pointee
            unsafe Self.address(of: index, in: starts).initialize(to: element)
            noteCount(index + 1)
        }
    }

    deinit {
        for first in stride(from: 0, to: unsafe uncheckedCapacity, by: Self.pageSize) {
            let page = unsafe starts[first / Self.pageSize]
            unsafe page.deinitialize(count: max(0, min(count - first, Self.pageSize)))
            unsafe page.deallocate()
        }
        unsafe starts.deallocate()
    }

    /// The address of an element below `capacity`.
    @inlinable
    @inline(__always)
    static func address(
        of index: Int, in starts: UnsafeMutablePointer<UnsafeMutablePointer<Element>>
    ) -> UnsafeMutablePointer<Element> {
        // By a shift: pages of doubling sizes would make the search for a page four times as long.
        unsafe starts[index &>> sizeExponent] + (index & (pageSize &- 1))
    }

    /// Records the number of elements.
    @inlinable
    @inline(__always)
    func noteCount(_ newCount: Int) { unsafe count = newCount }

    /// Makes room for more elements once there is none left.
    @inlinable
    @inline(never)
    func grow() {
        if capacity < Self.pageSize { growFirstPage() } else { addPage() }
    }

    @inlinable
    func growFirstPage() {
        let newCapacity = max(Self.firstCapacity, 2 * capacity)
        let page = UnsafeMutablePointer<Element>.allocate(capacity: newCapacity)
        if capacity > 0 {
            unsafe page.moveInitialize(from: starts[0], count: count)
            unsafe starts[0].deallocate()
        }
        unsafe starts[0] = unsafe page
        unsafe uncheckedCapacity = newCapacity
    }

    @inlinable
    func addPage() {
        let pageCount = capacity / Self.pageSize
        if unsafe pageCount == startCountMax {
            unsafe startCountMax *= 2
            let moved = unsafe UnsafeMutablePointer<UnsafeMutablePointer<Element>>.allocate(
                capacity: startCountMax)
            unsafe moved.moveInitialize(from: starts, count: pageCount)
            unsafe starts.deallocate()
            unsafe starts = unsafe moved
        }
        unsafe (starts + pageCount).initialize(to: .allocate(capacity: Self.pageSize))
        unsafe uncheckedCapacity += Self.pageSize
    }
}
