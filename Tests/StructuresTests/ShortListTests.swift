// Proves that a short list of none, one or several elements behaves as an array.

import Structures
import Support
import Testing

@Suite struct `A short list` {
    @Test(arguments: UInt64(1)...20)
    func `does what an array does`(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        var list = ShortList<Int>()
        var array: [Int] = []
        for step in 0..<200 {
            switch Int.random(in: 0..<6, using: &random) {
            case 0:
                list.append(step)
                array.append(step)
            case 1:
                let index = Int.random(in: 0...array.count, using: &random)
                list.insert(step, at: index)
                array.insert(step, at: index)
            case 2:
                #expect(list.takeOnly() == (array.count == 1 ? array[0] : nil))
                if array.count == 1 { array.removeAll() }
            case 3:
                let multiple = Int.random(in: 2...5, using: &random)
                list.removeAll { $0.isMultiple(of: multiple) }
                array.removeAll { $0.isMultiple(of: multiple) }
            default:
                let multiple = Int.random(in: 1...4, using: &random)
                let found = array.firstIndex { $0.isMultiple(of: multiple) }
                #expect(
                    list.removeFirst { $0.isMultiple(of: multiple) } == found.map { array[$0] })
                if let found { array.remove(at: found) }
            }
            #expect(Array(list) == array, "seed \(seed), step \(step)")
            #expect(list.count == array.count && list.first == array.first)
            for index in list.indices { #expect(list[index] == array[index]) }
        }
        list.removeAll()
        #expect(list.isEmpty)
    }

    @Test func `keeps the elements that do not match, however many go`() {
        var list = ShortList<Int>()
        for number in 0..<5_000 { list.append(number) }
        list.removeAll { $0 % 1_000 != 0 }
        #expect(Array(list) == [0, 1_000, 2_000, 3_000, 4_000])
        list.removeAll { $0 > 0 }
        #expect(Array(list) == [0])
        list.removeAll { $0 == 0 }
        #expect(list.isEmpty)
    }
}
