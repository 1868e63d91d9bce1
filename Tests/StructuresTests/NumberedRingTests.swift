// The latest elements of a stream, against a list of all of them.

import Structures
import Support
import Testing

@Suite struct `A numbered ring` {
    @Test(arguments: 1...UInt64(20))
    func `keeps the latest elements under their numbers`(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        let (countMax, byteCountMax) = (1 + random.below(20), 1 + random.below(200))
        var ring = NumberedRing<Int>(countMax: countMax, byteCountMax: byteCountMax)
        var all: [(element: Int, byteCount: Int)] = []
        var oldest = 1
        for element in 0..<300 {
            if random.chance(1) {
                ring.interrupt()
                all.append((-1, 0))
                oldest = all.count + 1
            }
            let byteCount = random.below(60)
            ring.append(element, byteCount: byteCount)
            all.append((element, byteCount))
            func bytes() -> Int { all[(oldest - 1)...].reduce(0) { $0 + $1.byteCount } }
            while all.count - oldest + 1 > countMax || bytes() > byteCountMax && oldest < all.count
            {
                oldest += 1
            }
            #expect(ring.oldest == UInt64(oldest))
            #expect(ring.next == UInt64(all.count + 1))
            #expect(ring.byteCount == bytes())
            for number in oldest...all.count {
                #expect(ring[UInt64(number)] == all[number - 1].element)
            }
        }
    }

    @Test func `keeps one element that is larger than all may be`() {
        var ring = NumberedRing<Int>(countMax: 3, byteCountMax: 10)
        ring.append(1, byteCount: 5)
        ring.append(2, byteCount: 50)
        #expect(ring.count == 1 && ring[2] == 2 && ring.byteCount == 50)
    }
}
