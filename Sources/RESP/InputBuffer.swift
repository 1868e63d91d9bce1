// The bytes that came in and are not consumed yet, in one contiguous array: how it grows, when
// bytes are moved, when memory is given back. Knows nothing of their meaning.

/// A contiguous queue of bytes: appended at the end, consumed at the front.
///
/// Consuming only moves an offset. When room is needed, the consumed prefix is closed up if it is
/// at least as long as the bytes to move, so each byte is moved once at most on average; otherwise
/// the array grows at least twofold.
///
/// Layout: `bytes[start...]` is pending; `bytes[..<start]` is consumed.
struct InputBuffer: ~Copyable, Sendable {
    /// Consumed and pending bytes.
    ///
    /// A copy of this array shares its memory. If the copy still lives when the buffer changes, the
    /// buffer takes new memory and the copy is unchanged.
    var bytes: [UInt8] = []

    /// The offset of the first pending byte.
    private(set) var start = 0

    var pendingCount: Int { bytes.count - start }

    /// The memory held, in bytes.
    var capacity: Int { bytes.capacity }

    /// Drops `count` bytes from the front.
    mutating func consume(_ count: Int) {
        start += count
        assert(start <= bytes.count, "consumed \(start) of \(bytes.count) bytes")
    }

    /// Looks for a byte among the pending ones.
    ///
    /// - Parameter offsets: where to look, counted from the first pending byte.
    func firstOffset(of byte: UInt8, in offsets: Range<Int>) -> Int? {
        let pending = bytes.span.extracting(droppingFirst: start)
        for offset in offsets.clamped(to: 0..<pending.count) where pending[offset] == byte {
            return offset
        }
        return nil
    }

    /// Lets `body` write into the uninitialised room behind the last byte.
    mutating func withUninitializedTail<Failure>(
        atLeast minimum: Int, missing: Int,
        _ body: (inout OutputSpan<UInt8>) throws(Failure) -> Void
    ) throws(Failure) {
        precondition(minimum > 0, "a tail of at least one byte, not \(minimum)")
        makeRoom(for: minimum, missing: missing)
        try bytes.append(addingCapacity: bytes.capacity - bytes.count, initializingWith: body)
    }

    /// Gives back memory that the pending and missing bytes don't need, unless it is little.
    ///
    /// - Parameter retained: the memory that may stay, in bytes.
    /// - Complexity: O(pending) if something is given back, and pending is then at most a quarter
    ///   of the memory held; else O(1).
    mutating func releaseSurplus(missing: Int, retained: Int) {
        guard bytes.capacity > retained else { return }
        let needed = pendingCount + missing
        guard needed <= bytes.capacity / 4 else { return }
        reallocate(capacity: needed)
    }

    /// Takes memory for the bytes to come, if it holds none.
    mutating func takeMemory(_ spare: inout [UInt8]) {
        if bytes.capacity == 0 { swap(&bytes, &spare) }
    }

    /// Lets go of its memory, if no byte is pending.
    mutating func giveMemory(_ spare: inout [UInt8]) {
        guard pendingCount == 0, bytes.capacity > 0 else { return }
        spare = []
        bytes.removeAll(keepingCapacity: true)
        start = 0
        swap(&bytes, &spare)
    }

    /// Drops all bytes and gives all memory back.
    mutating func removeAll() {
        bytes = []
        start = 0
    }

    private mutating func makeRoom(for minimum: Int, missing: Int) {
        if pendingCount == 0 && start > 0 {
            bytes.removeAll(keepingCapacity: true)
            start = 0
        }
        // The missing bytes and the minimum, so that there is room for the minimum up to the moment
        // when the last of the missing bytes arrives: announced bytes are never moved again.
        let wanted = minimum + missing
        if bytes.capacity - bytes.count >= wanted { return }
        if start >= pendingCount && bytes.capacity - pendingCount >= wanted {
            bytes.removeSubrange(..<start)
            start = 0
        } else {
            reallocate(capacity: max(pendingCount + wanted, 2 * pendingCount))
        }
    }

    private mutating func reallocate(capacity: Int) {
        var fresh: [UInt8] = []
        fresh.reserveCapacity(capacity)
        fresh.append(contentsOf: bytes[start...])
        bytes = fresh
        start = 0
    }
}
