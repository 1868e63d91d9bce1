// Names that are given once, of jobs in memory.

import Jobs
import Testing

@Suite struct `Names that are given once` {
    @Test func `lead to their job for a while, and as long as it has not ended`() {
        var names = UniqueNames(milliseconds: 100)
        names.give([1], to: JobID(7), at: 1_000)
        #expect(names.job(named: [1], at: 1_099) { _ in false } == JobID(7))
        #expect(names.job(named: [1], at: 1_100) { _ in false } == nil)
        #expect(names.job(named: [1], at: 9_999) { _ in true } == JobID(7))
        #expect(names.job(named: [2], at: 1_000) { _ in true } == nil)
    }

    @Test func `are forgotten oldest first when there are too many`() {
        var names = UniqueNames(countMax: 3, milliseconds: 100)
        names.give([0], to: JobID(1), at: 0)
        names.give([0], to: JobID(2), at: 200)
        for number in 1...2 { names.give([UInt8(number)], to: JobID(UInt64(number + 2)), at: 200) }
        #expect(names.count == 3)
        #expect(names.job(named: [0], at: 200) { _ in true } == JobID(2))
        names.give([3], to: JobID(9), at: 200)
        #expect(names.job(named: [0], at: 200) { _ in true } == nil)
    }
}
