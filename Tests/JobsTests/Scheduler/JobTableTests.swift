// Proves that the table of jobs leads from a number to its value as a dictionary does.

import Jobs
import Support
import Testing

@Suite struct `A table of jobs` {
    @Test func `is empty, and knows no number, not even zero`() {
        var table = JobTable<String>()
        #expect(table.isEmpty)
        #expect(table[JobID(0)] == nil)
        #expect(table[JobID(1)] == nil)
        #expect(table.removeValue(forKey: JobID(0)) == nil)
    }

    @Test func `gives a number's value up once`() {
        var table = JobTable<String>()
        table[JobID(7)] = "seven"
        table[JobID(7)] = "SEVEN"
        #expect(table.count == 1)
        #expect(table.removeValue(forKey: JobID(7)) == "SEVEN")
        #expect(table.removeValue(forKey: JobID(7)) == nil)
        #expect(table.isEmpty)
    }

    @Test func `is found again behind a run that has grown and gone`() {
        var table = JobTable<UInt64>()
        table[JobID(1)] = 1
        for number in 2...20_000 as ClosedRange<UInt64> { table[JobID(number)] = number }
        for number in 2...20_000 as ClosedRange<UInt64> { table[JobID(number)] = nil }
        #expect(table[JobID(1)] == 1)
        #expect(table.values == [1])
        table[JobID(1)] = nil
        table[JobID(20_001)] = 20_001
        #expect(table.values == [20_001])
    }

    @Test(arguments: 1...20 as ClosedRange<UInt64>)
    func `says what a dictionary says, whatever is put in and taken out`(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        var table = JobTable<Int>()
        var model: [JobID: Int] = [:]
        // Few numbers of a wide range, and many of a narrow one: both collide.
        let largest: UInt64 = seed.isMultiple(of: 2) ? 400 : .max
        var numbers = (0..<200).map { _ in UInt64.random(in: 1...largest, using: &random) }
        numbers += [1, .max]
        for step in 0..<4_000 {
            let id = JobID(numbers[Int.random(in: 0..<numbers.count, using: &random)])
            if Bool.random(using: &random) {
                table[id] = step
                model[id] = step
            } else {
                #expect(table.removeValue(forKey: id) == model.removeValue(forKey: id), "\(seed)")
            }
            #expect(table.count == model.count, "seed \(seed)")
        }
        for number in numbers {
            #expect(table[JobID(number)] == model[JobID(number)], "seed \(seed)")
        }
        #expect(table.values.sorted() == model.values.sorted(), "seed \(seed)")
    }
}
