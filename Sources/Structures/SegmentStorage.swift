// The memory of segments: who allocates it, where an element is in it, and who lets go of it.

/// Owns the segments of one list, and the elements in them.
@usableFromInline
@safe final class SegmentStorage<Element> {
    // SAFETY: `starts` has room for the start of each segment that there can be. The segments of the
    // first `count` elements are allocated, and these elements initialised, no others. Only `Segments`
    // asks for an address: of one of them, or of the next one, which it initialises and counts. It
    // is done with it before its own call ends, and before it changes anything it sees to it that
    // nobody else has this object. So accesses to `count` don't overlap either.
    @usableFromInline let starts: UnsafeMutablePointer<UnsafeMutablePointer<Element>>
    @exclusivity(unchecked) @usableFromInline var count = 0

    /// The size of the first segment; that of each other one is twice that of the one before.
    @inlinable static var firstSize: Int { 4 }
    @inlinable static var segmentCountMax: Int { 29 }

    @inlinable
    init() { unsafe starts = .allocate(capacity: Self.segmentCountMax) }

    deinit {
        var (left, segment) = (unsafe count, 0)
        while left > 0 {
            let filled = min(left, Self.firstSize << segment)
            unsafe starts[segment].deinitialize(count: filled)
            unsafe starts[segment].deallocate()
            left -= filled
            segment += 1
        }
        unsafe starts.deallocate()
    }

    /// In which segment an element is, and where in it.
    @inlinable
    @inline(__always)
    static func place(of index: Int) -> (segment: Int, offset: Int) {
        // Counted from the first size on, each segment begins with a power of two.
        let number = UInt(bitPattern: index &+ firstSize)
        let exponent = number.leadingZeroBitCount ^ (UInt.bitWidth &- 1)
        return (exponent &- 2, Int(bitPattern: number ^ (1 &<< UInt(bitPattern: exponent))))
    }

    /// Whether an element would be the first one of its segment.
    @inlinable
    @inline(__always)
    static func isFirst(_ index: Int) -> Bool {
        let number = index &+ firstSize
        return number & (number &- 1) == 0
    }

    /// The address of an element whose segment is allocated.
    @inlinable
    @inline(__always)
    func address(of index: Int) -> UnsafeMutablePointer<Element> {
        let place = Self.place(of: index)
        return unsafe starts[place.segment] + place.offset
    }

    /// Notes how many elements there are.
    @inlinable
    @inline(__always)
    func noteCount(_ newCount: Int) { unsafe count = newCount }

    /// Allocates the segment of an element that would be the first one in it.
    @inlinable
    @inline(never)
    func addSegment(for index: Int) {
        let segment = Self.place(of: index).segment
        precondition(segment < Self.segmentCountMax, "a list is full: \(index) elements")
        unsafe (starts + segment).initialize(to: .allocate(capacity: Self.firstSize << segment))
    }

    /// Another list of the same elements.
    @inlinable
    @inline(never)
    func copy() -> SegmentStorage {
        let copy = SegmentStorage()
        for index in 0..<(unsafe count) {
            if Self.isFirst(index) { copy.addSegment(for: index) }
            unsafe copy.address(of: index).initialize(to: address(of: index).pointee)
            copy.noteCount(index + 1)
        }
        return copy
    }
}
