// Proves that chains keep their order when values are removed from their middle.

import Structures
import Support
import Testing

@Suite struct `Linked slots` {
    @Test func `keep several chains apart in one table`() {
        var table = LinkedSlots<Int>()
        var even = LinkedSlots<Int>.Chain()
        var odd = LinkedSlots<Int>.Chain()
        var slots: [Int] = []
        for number in 0..<10 {
            let isEven = number % 2 == 0
            slots.append(
                isEven ? table.append(number, to: &even) : table.append(number, to: &odd))
        }
        #expect(table.remove(slots[0], from: &even) == 0)
        #expect(table.remove(slots[5], from: &odd) == 5)
        #expect(table.remove(slots[9], from: &odd) == 9)
        #expect(table.remove(slots[9], from: &odd) == nil)
        #expect(values(of: even, in: table) == [2, 4, 6, 8])
        #expect(values(of: odd, in: table) == [1, 3, 7])
        #expect(table.count == 7)
    }

    @Test func `reuse a slot and change a value in place`() {
        var table = LinkedSlots<[Int]>()
        var chain = LinkedSlots<[Int]>.Chain()
        let slot = table.append([1], to: &chain)
        table[slot]?.append(2)
        #expect(table.remove(slot, from: &chain) == [1, 2])
        #expect(table.append([3], to: &chain) == slot)
        #expect(table.slotCount == 1)
    }

    @Test func `release the memory of a burst when the last value leaves, not below the limit`() {
        for (burst, kept) in [
            (LayoutLimits.keptSlotCount, LayoutLimits.keptSlotCount),
            (LayoutLimits.keptSlotCount + 1, 0),
        ] {
            var table = LinkedSlots<Int>()
            var chain = LinkedSlots<Int>.Chain()
            for number in 0..<burst { _ = table.append(number, to: &chain) }
            while let slot = chain.first { _ = table.remove(slot, from: &chain) }
            #expect(table.slotCount == kept)
            #expect(chain.first == nil)
            #expect(chain.last == nil)
            _ = table.append(1, to: &chain)
            #expect(values(of: chain, in: table) == [1])
        }
    }

    @Test(arguments: [1, 2, 3] as [UInt64])
    func `agree with an array, forwards and backwards`(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        var table = LinkedSlots<Int>()
        var chain = LinkedSlots<Int>.Chain()
        var model: [(slot: Int, value: Int)] = []
        for step in 0..<3_000 {
            if model.isEmpty || random.chance(52) {
                model.append((table.append(step, to: &chain), step))
            } else {
                let victim = model.remove(at: model.indices.randomElement(using: &random) ?? 0)
                #expect(table.remove(victim.slot, from: &chain) == victim.value)
            }
            if step % 50 == 0 {
                #expect(values(of: chain, in: table) == model.map(\.value))
                let backwards = sequence(first: chain.last) { slot in
                    slot.map { table.slot(before: $0) }
                }
                #expect(backwards.compactMap { $0 } == model.reversed().map(\.slot))
            }
        }
        #expect(table.count == model.count)
    }

    private func values(of chain: LinkedSlots<Int>.Chain, in table: LinkedSlots<Int>) -> [Int] {
        var values: [Int] = []
        var next = chain.first
        while let slot = next, let value = table[slot] {
            values.append(value)
            next = table.slot(after: slot)
        }
        return values
    }
}
