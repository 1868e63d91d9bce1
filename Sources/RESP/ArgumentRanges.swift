// The places of a command's arguments. The array is overwritten for each command, instead of being
// emptied and appended to.

/// The ranges of a command's arguments, relative to the beginning of the command.
struct ArgumentRanges: Sendable {
    /// The place of one argument.
    ///
    /// Layout: eight bytes, two 32-bit numbers; `CommandLimits` makes sure that offsets within a
    /// command fit.
    struct Slot: Sendable {
        let start: UInt32
        let count: UInt32

        init(start: Int, count: Int) {
            self.start = UInt32(start)
            self.count = UInt32(count)
        }
    }

    /// The number of slots that belong to the command.
    let count: Int

    private let slots: [Slot]

    /// Takes the first `count` slots.
    init(_ slots: [Slot], count: Int) {
        assert(count <= slots.count, "\(count) arguments in \(slots.count) slots")
        self.slots = slots
        self.count = count
    }

    /// The range of an argument.
    subscript(index: Int) -> Range<Int> {
        precondition(index < count, "argument \(index) of \(count)")
        let slot = slots[index]
        let start = Int(slot.start)
        return start..<start &+ Int(slot.count)
    }
}

extension [ArgumentRanges.Slot] {
    /// Makes the array long enough for a command, and short again after a very long one.
    ///
    /// - Complexity: O(1), unless it was too short or much too long.
    mutating func fit(_ argumentCount: Int) {
        let isMuchTooLong = count > Self.keptCount && argumentCount <= Self.keptCount
        guard count < argumentCount || isMuchTooLong else { return }
        self = Array(repeating: Element(start: 0, count: 0), count: Swift.max(argumentCount, 8))
    }

    private static var keptCount: Int { 64 }
}
