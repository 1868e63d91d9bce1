// Proves the order of a queue of waiters, and its size when many of them give up.

import Structures
import Testing

@Suite struct WaitingLineTests {
    @Test func `keeps the order of those that stay`() {
        var line = WaitingLine<Int>()
        for number in 0..<1_000 { _ = line.join(number, hasLeft: { _ in false }) }
        #expect(line.removeAll { $0 % 3 == 0 } == Array(stride(from: 0, to: 1_000, by: 3)))
        var left: [Int] = []
        while let number = line.popFirst() { left.append(number) }
        #expect(left == (0..<1_000).filter { $0 % 3 != 0 })
        #expect(line.isEmpty)
    }

    @Test(arguments: [0, 1, 100, 1_000])
    func `does not grow by those that leave, and gives out each of them once`(staying: Int) {
        var line = WaitingLine<Int>()
        var gone: [Int] = []
        for number in 0..<staying { gone += line.join(number, hasLeft: { $0 >= staying }) }
        for number in staying..<staying + 10_000 {
            // All that came after the staying ones have given up.
            gone += line.join(number, hasLeft: { $0 >= staying })
            #expect(line.count <= 2 * staying + 64)
        }
        #expect(gone == Array(staying..<staying + gone.count))
        var rest: [Int] = []
        while let number = line.popFirst() { rest.append(number) }
        #expect(rest == Array(0..<staying) + Array(staying + gone.count..<staying + 10_000))
    }

    @Test func `holds few that have left, however long it was before`() {
        var line = WaitingLine<Int>()
        for number in 0..<1_000 { _ = line.join(number, hasLeft: { _ in false }) }
        while line.popFirst() != nil {}
        for number in 0..<1_000 {
            _ = line.join(number, hasLeft: { _ in true })
            #expect(line.count <= 64)
        }
    }
}
