// The queue of a thread: a few lanes, first in first out within each, the highest lane first.
//
// Each element has a ticket, with which its submitter can take it back, and a sequence number that
// the owner supplies. Queues whose owner numbers them from one counter can be compared by ticket: a
// worker chooses between its own queue and that of its pool this way. Lanes are numbers; the queue
// does not know their names.

/// Keeps elements in lanes and hands out those of lane 0 first.
///
/// - Thread: confined to its owner's.
/// - Complexity: O(1) for everything but `removeAll(where:)` and iteration, which are O(count).
@usableFromInline
package struct PriorityFIFO<Element> {
    /// Names an element while it waits; smaller tickets are handed out first.
    @usableFromInline
    package struct Ticket: Hashable, Comparable, Sendable {
        /// Its lane, 0 the highest.
        @usableFromInline package let lane: Int

        /// The number that its owner gave it.
        @usableFromInline package let sequence: UInt64

        @usableFromInline let slot: UInt32

        @inlinable
        init(lane: Int, sequence: UInt64, slot: Int) {
            self.lane = lane
            self.sequence = sequence
            self.slot = UInt32(truncatingIfNeeded: slot)
        }

        /// Whether `lhs` is handed out before `rhs`.
        @inlinable
        package static func < (lhs: Ticket, rhs: Ticket) -> Bool {
            lhs.lane == rhs.lane ? lhs.sequence < rhs.sequence : lhs.lane < rhs.lane
        }
    }

    @usableFromInline
    struct Item {
        @usableFromInline let sequence: UInt64
        @usableFromInline let element: Element

        @inlinable
        init(sequence: UInt64, element: Element) {
            self.sequence = sequence
            self.element = element
        }
    }

    @usableFromInline var items = LinkedSlots<Item>()
    @usableFromInline var lanes = InlineArray<3, LinkedSlots<Item>.Chain>(repeating: .init())

    /// Makes an empty queue.
    @inlinable
    package init() {}

    /// The number of lanes.
    @inlinable
    package static var laneCount: Int { 3 }

    /// The number of elements.
    @inlinable
    package var count: Int { items.count }

    /// Whether the queue is empty.
    @inlinable
    package var isEmpty: Bool { items.count == 0 }

    /// The ticket of the element that would be handed out now.
    @inlinable
    package var firstTicket: Ticket? {
        for lane in 0..<Self.laneCount {
            if let slot = lanes[lane].first { return ticket(of: slot, lane: lane) }
        }
        return nil
    }

    /// The element that would be handed out now.
    @inlinable
    package var first: Element? {
        for lane in 0..<Self.laneCount {
            if let slot = lanes[lane].first { return items[slot]?.element }
        }
        return nil
    }

    /// The ticket of the oldest element of the lowest lane that is not empty.
    @inlinable
    package var lowestTicket: Ticket? {
        for lane in (0..<Self.laneCount).reversed() {
            if let slot = lanes[lane].first { return ticket(of: slot, lane: lane) }
        }
        return nil
    }

    /// Adds `element` at the end of its lane.
    ///
    /// - Parameters:
    ///   - lane: `0..<laneCount`, 0 is handed out first.
    ///   - sequence: larger than that of any element now in the lane, and never used again.
    @inlinable
    package mutating func push(_ element: Element, lane: Int, sequence: UInt64) -> Ticket {
        precondition(lane >= 0 && lane < Self.laneCount, "no lane \(lane) of \(Self.laneCount)")
        if let slot = lanes[lane].last, let last = items[slot]?.sequence {
            precondition(sequence > last, "sequence \(sequence) is pushed behind \(last)")
        }
        let item = Item(sequence: sequence, element: element)
        let slot = items.append(item, to: &lanes[lane])
        return Ticket(lane: lane, sequence: sequence, slot: slot)
    }

    /// Takes the first element of the highest lane that is not empty.
    @inlinable
    package mutating func popFirst() -> (ticket: Ticket, element: Element)? {
        for lane in 0..<Self.laneCount {
            guard let slot = lanes[lane].first else { continue }
            guard let item = items.remove(slot, from: &lanes[lane]) else { continue }
            return (Ticket(lane: lane, sequence: item.sequence, slot: slot), item.element)
        }
        return nil
    }

    /// Takes one element back.
    ///
    /// - Returns: the element, or `nil` if it is no longer in the queue.
    @inlinable
    package mutating func remove(_ ticket: Ticket) -> Element? {
        let slot = Int(ticket.slot)
        guard items[slot]?.sequence == ticket.sequence else { return nil }
        return items.remove(slot, from: &lanes[ticket.lane])?.element
    }

    /// Takes back all elements that `isUnwanted` accepts.
    ///
    /// - Returns: those elements, in the order in which they would have been handed out.
    @inlinable
    package mutating func removeAll(where isUnwanted: (Element) -> Bool) -> [Element] {
        var removed: [Element] = []
        for lane in 0..<Self.laneCount {
            var next = lanes[lane].first
            while let slot = next, let item = items[slot] {
                next = items.slot(after: slot)
                guard isUnwanted(item.element) else { continue }
                removed.append(item.element)
                _ = items.remove(slot, from: &lanes[lane])
            }
        }
        return removed
    }

    @inlinable
    func ticket(of slot: Int, lane: Int) -> Ticket? {
        items[slot].map { Ticket(lane: lane, sequence: $0.sequence, slot: slot) }
    }
}

extension PriorityFIFO: Sequence {
    /// Iterates over a queue in the order in which it hands out.
    @usableFromInline
    package struct Iterator: IteratorProtocol {
        @usableFromInline let queue: PriorityFIFO
        @usableFromInline var lane = 0
        @usableFromInline var slot: Int?

        @inlinable
        init(_ queue: PriorityFIFO) {
            self.queue = queue
            self.slot = queue.lanes[0].first
        }

        /// The next element with its ticket.
        @inlinable
        package mutating func next() -> (ticket: Ticket, element: Element)? {
            while slot == nil, lane + 1 < PriorityFIFO.laneCount {
                lane += 1
                slot = queue.lanes[lane].first
            }
            guard let slot, let item = queue.items[slot] else { return nil }
            self.slot = queue.items.slot(after: slot)
            return (Ticket(lane: lane, sequence: item.sequence, slot: slot), item.element)
        }
    }

    /// Makes an iterator over the elements that are in the queue now.
    @inlinable
    package func makeIterator() -> Iterator { Iterator(self) }
}
