// Proves that the table of jobs finds what a dictionary finds.

import Jobs
import Structures
import Testing

@Suite struct `Table of jobs` {
    @Test func `finds what a dictionary finds, whatever the numbers are`() {
        var random = SplitMix64(seed: 7)
        var table = JobTable()
        var model: [JobID: Int] = [:]
        for step in 0..<4_000 {
            // Neighbours, such that share no page, and far ones.
            let near = UInt64.random(in: 1...200, using: &random)
            let id = JobID([near, near * 16, near << 40, .max - near][step % 4])
            if model[id] == nil {
                table.insert(step, for: id)
                model[id] = step
            } else if step.isMultiple(of: 3) {
                #expect(table.remove(id) == model.removeValue(forKey: id))
                #expect(table.remove(id) == nil)
            }
            #expect(table[id] == model[id])
            #expect(table.count == model.count)
        }
        for (id, slot) in model { #expect(table.remove(id) == slot) }
        #expect(table.count == 0)
    }
}
