// Proves that elements in pages stay the same while the list grows, and that copies are
// independent.

import Structures
import Testing

@Suite struct `A list in pages` {
    @Test func `keeps every element while it grows`() {
        var list = Pages<Int>()
        for number in 0..<3_000 {
            list.append(number)
            #expect(list.count == number + 1)
        }
        #expect((0..<3_000).map { list[$0] } == Array(0..<3_000))
    }

    @Test func `changes an element in place`() {
        var list = Pages<[Int]>()
        for number in 0..<600 { list.append([number]) }
        list[513].append(-1)
        #expect((0..<600).map { list[$0] } == (0..<600).map { $0 == 513 ? [513, -1] : [$0] })
    }

    @Test func `a copy is not changed with the original, nor the original with its copy`() {
        var original = Pages<String>()
        for number in 0..<9 { original.append("\(number)") }
        var copy = original
        original[3] = "original"
        copy.append("copy")
        copy[4] = "copy"
        #expect(
            (0..<original.count).map { original[$0] }
                == ["0", "1", "2", "original", "4", "5", "6", "7", "8"])
        #expect(
            (0..<copy.count).map { copy[$0] }
                == ["0", "1", "2", "3", "copy", "5", "6", "7", "8", "copy"])
    }

    @Test(arguments: [1, 8, 9, 511, 512, 513, 3_000])
    func `lets go of all elements when it goes, and of none before`(count: Int) {
        final class Element {
            let tell: () -> Void
            init(_ tell: @escaping () -> Void) { self.tell = tell }
            deinit { tell() }
        }
        var goneCount = 0
        var list = Pages<Element>()
        for _ in 0..<count { list.append(Element { goneCount += 1 }) }
        var copy = list
        list = Pages()
        #expect(goneCount == 0)
        copy[0] = Element { goneCount += 1 }
        #expect(goneCount == 1)
        copy = Pages()
        #expect(goneCount == count + 1)
        #expect(copy.count == 0)
    }
}
