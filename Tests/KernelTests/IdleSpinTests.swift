// Proves when spinning before a sleep pays: the latest gap alone decides.

import Kernel
import Testing

struct IdleSpinTests {
    @Test func `it looks as long as the latest work came within the limit`() {
        let spin = IdleSpin(limit: .microseconds(200), processorCount: 2)
        var lengths = [spin.length]
        for gap: Int64 in [200_000, 200_001, 0] {
            spin.note(gap: gap)
            lengths.append(spin.length)
        }
        #expect(lengths == [0, 200_000, 0, 200_000])
    }

    @Test(arguments: [(Duration.zero, 2), (.seconds(-1), 2), (.microseconds(200), 1)])
    func `without a limit, or another processor, it never looks`(
        limit: Duration, processorCount: Int
    ) {
        let spin = IdleSpin(limit: limit, processorCount: processorCount)
        let isOn = spin.isOn
        #expect(!isOn)
    }
}
