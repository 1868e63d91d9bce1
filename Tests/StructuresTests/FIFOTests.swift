// Proves the order of a queue and that it gives back the memory of a burst.

import Structures
import Support
import Testing

@Suite struct `A queue` {
    @Test func `hands out what was appended first, and what was prepended before that`() {
        var queue = FIFO<Int>()
        #expect(queue.popFirst() == nil)
        queue.append(1)
        queue.append(2)
        queue.prepend(0)
        #expect(queue.first == 0)
        #expect(Array(queue) == [0, 1, 2])
        #expect(queue.popFirst() == 0)
        #expect(queue.popFirst() == 1)
        #expect(queue.popFirst() == 2)
        #expect(queue.popFirst() == nil)
        #expect(queue.isEmpty)
    }

    @Test func `keeps elements that are nil themselves`() {
        var queue = FIFO<Int?>()
        queue.append(nil)
        #expect(queue.count == 1)
        #expect(queue.popFirst() == .some(nil))
        #expect(queue.popFirst() == nil)
    }

    @Test func `keeps its ring up to the limit and releases a larger one when it runs empty`() {
        var queue = FIFO<Int>()
        for number in 0..<LayoutLimits.keptSlotCount { queue.append(number) }
        while queue.popFirst() != nil {}
        #expect(queue.capacity == LayoutLimits.keptSlotCount)
        for number in 0...LayoutLimits.keptSlotCount { queue.append(number) }
        while queue.popFirst() != nil {}
        #expect(queue.capacity == 0)
        queue.append(7)
        #expect(Array(queue) == [7])
    }

    @Test func `releases an element when it is taken`() {
        final class Token {}
        var queue = FIFO<Token>()
        weak var token: Token?
        do {
            let strong = Token()
            token = strong
            queue.append(strong)
        }
        #expect(token != nil)
        _ = queue.popFirst()
        #expect(token == nil)
    }

    @Test func `traps on an index behind its end`() async {
        await #expect(processExitsWith: .failure) {
            var queue = FIFO<Int>()
            queue.append(1)
            _ = queue[1]
        }
    }

    @Test(arguments: [1, 2, 3] as [UInt64])
    func `agrees with an array`(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        var queue = FIFO<Int>()
        var model: [Int] = []
        for step in 0..<6_000 {
            let isFilling = step / 1_500 % 2 == 0
            if random.chance(isFilling ? 65 : 30) {
                if random.chance(20) {
                    queue.prepend(step)
                    model.insert(step, at: 0)
                } else {
                    queue.append(step)
                    model.append(step)
                }
            } else {
                #expect(queue.popFirst() == (model.isEmpty ? nil : model.removeFirst()))
            }
            #expect(queue.count == model.count)
            #expect(queue.first == model.first)
            if step % 100 == 0 { #expect(queue.elementsEqual(model)) }
        }
        #expect(queue.elementsEqual(model))
        queue.removeAll()
        #expect(queue.isEmpty)
    }
}
