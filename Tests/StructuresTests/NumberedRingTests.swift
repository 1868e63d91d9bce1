// The latest elements of a stream, against a list of all of them.

import Structures
import Support
import Testing

@Suite struct `A numbered ring` {
    @Test(arguments: 1...UInt64(20))
    func `keeps the latest elements under their numbers`(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        var (countMax, byteCountMax) = (1 + random.below(20), 1 + random.below(200))
        var ring = NumberedRing<Int>(countMax: countMax, byteCountMax: byteCountMax)
        var all: [(element: Int, byteCount: Int)] = []
        var oldest = 1
        for element in 0..<300 {
            if random.chance(1) {
                ring.interrupt()
                all.append((-1, 0))
                oldest = all.count + 1
            }
            if random.chance(3) {
                (countMax, byteCountMax) = (1 + random.below(20), 1 + random.below(200))
                ring.limit(countMax: countMax, byteCountMax: byteCountMax)
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

    @Test func `drops what is over lower limits, and nothing for higher ones`() {
        var ring = NumberedRing<Int>(countMax: 9, byteCountMax: 100)
        for element in 1...9 { ring.append(element, byteCount: 10) }
        ring.limit(countMax: 4, byteCountMax: 100)
        #expect(ring.oldest == 6 && ring.byteCount == 40)
        ring.limit(countMax: 9, byteCountMax: 25)
        #expect(ring.oldest == 8 && ring.byteCount == 20)
        ring.limit(countMax: 99, byteCountMax: 990)
        #expect(ring.oldest == 8 && ring[8] == 8)
        ring.limit(countMax: 0, byteCountMax: 990)
        #expect(ring.oldest == ring.next && ring.next == 10)
    }

    @Test func `keeps one element that is larger than all may be`() {
        var ring = NumberedRing<Int>(countMax: 3, byteCountMax: 10)
        ring.append(1, byteCount: 5)
        ring.append(2, byteCount: 50)
        #expect(ring.next - ring.oldest == 1 && ring[2] == 2 && ring.byteCount == 50)
    }
}
