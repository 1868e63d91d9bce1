// A slot map as a whole: its handles as plain numbers, and a list of its values.

extension SlotMap.Handle {
    /// The handle as one number, for interfaces that carry 64 bits and give them back.
    ///
    /// Layout: the generation in the upper 32 bits, the index in the lower. The largest number is
    /// never a handle.
    package var rawValue: UInt64 { UInt64(generation) << 32 | UInt64(index) }

    /// The handle behind a number that came from `rawValue`.
    package init(rawValue: UInt64) {
        self.init(
            index: UInt32(truncatingIfNeeded: rawValue),
            generation: UInt32(truncatingIfNeeded: rawValue >> 32))
    }
}

extension SlotMap {
    /// The values, in no stated order.
    ///
    /// - Complexity: O(slots); O(1) for an empty table.
    @inlinable
    package var values: [Value] {
        var values: [Value] = []
        guard !isEmpty else { return values }
        values.reserveCapacity(count)
        for index in 0..<slots.count {
            if let value = slots[index].value { values.append(value) }
        }
        return values
    }
}

extension TimerHeap {
    /// The payloads of all timers, in no stated order.
    ///
    /// - Complexity: O(the largest number that there ever was at once).
    @inlinable
    package var values: [Payload] { timers.values.map(\.payload) }

    /// All timers with their handles, in no stated order.
    ///
    /// - Complexity: O(the largest number that there ever was at once).
    @inlinable
    package var all: [(handle: Handle, payload: Payload)] {
        timers.map { ($0.handle, $0.value.payload) }
    }
}
