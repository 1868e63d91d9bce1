// How often a client is told of a job that changes all the time.

import Jobs
import Testing

@Suite struct `A pacer` {
    private let start: Int64 = 7_000_000_000

    private func after(_ milliseconds: Int) -> Int64 { start + Int64(milliseconds) * 1_000_000 }

    @Test func `looks at the first change at once, and at the next ones together`() {
        var pacer = Pacer(pause: 50_000_000)
        #expect(pacer.changed(at: start) == start)
        pacer.looked(at: start)
        #expect(pacer.changed(at: after(10)) == after(50))
        #expect(pacer.changed(at: after(20)) == nil)
        #expect(pacer.changed(at: after(60)) == nil, "the look that is due sees it")
        pacer.looked(at: after(60))
        #expect(pacer.changed(at: after(300)) == after(300))
    }

    @Test func `looks at most once in a pause, and after the last change`() {
        var pacer = Pacer(pause: 50_000_000)
        var looks: [Int] = []
        var due: Int64?
        var seen = -1
        for time in 0..<1_000 {
            if time < 905, let next = pacer.changed(at: after(time)) { due = next }
            if let moment = due, moment <= after(time) {
                due = nil
                pacer.looked(at: after(time))
                looks.append(time)
                seen = min(time, 904)
            }
        }
        #expect(looks == Array(stride(from: 0, through: 900, by: 50)) + [950])
        #expect(seen == 904)
    }
}
