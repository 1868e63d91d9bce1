// Names that are given once, of jobs in memory.

import Jobs
import Testing

@Suite struct `Names that are given once` {
    private func claim(
        _ name: UInt8, until: Int64, isAgain: Bool = false, fingerprint: UInt64 = 1
    ) -> NameClaim {
        NameClaim(name: [name], isAgain: isAgain, until: until, fingerprint: fingerprint)
    }

    @Test func `lead to their job for a while, and as long as it has not ended`() {
        var names = UniqueNames()
        names.give(claim(1, until: 1_100), to: JobID(7), at: 0) { _ in false }
        let asked = claim(1, until: 5_000)
        #expect(names.job(of: asked, at: 1_099) { _ in false }?.id == JobID(7))
        #expect(names.job(of: asked, at: 1_100) { _ in false } == nil)
        #expect(names.job(of: asked, at: 9_999) { _ in true }?.id == JobID(7))
        #expect(names.job(of: claim(2, until: 5_000), at: 1_000) { _ in true } == nil)
    }

    @Test func `give way to a new job once theirs has ended, if that is asked for`() {
        var names = UniqueNames()
        names.give(claim(1, until: 1_100), to: JobID(7), at: 0) { _ in false }
        let again = claim(1, until: 5_000, isAgain: true)
        #expect(names.job(of: again, at: 1_000) { _ in true }?.id == JobID(7))
        #expect(names.job(of: again, at: 1_000) { _ in false } == nil)
    }

    @Test func `say whether the same is asked for`() {
        var names = UniqueNames()
        names.give(claim(1, until: 1_100), to: JobID(7), at: 0) { _ in false }
        let other = claim(1, until: 1_100, fingerprint: 2)
        #expect(
            names.job(of: other, at: 0) { _ in true } == NamedJob(JobID(7), isSame: false))
    }

    @Test func `are forgotten oldest first when there are too many`() {
        var names = UniqueNames(countMax: 3)
        names.give(claim(0, until: 100), to: JobID(1), at: 0) { _ in false }
        names.give(claim(0, until: 300), to: JobID(2), at: 0) { _ in false }
        for number in 1...2 {
            names.give(claim(UInt8(number), until: 300), to: JobID(UInt64(number + 2)), at: 0) {
                _ in false
            }
        }
        #expect(names.count == 3)
        let asked = claim(0, until: 300)
        #expect(names.job(of: asked, at: 200) { _ in true }?.id == JobID(2))
        names.give(claim(3, until: 300), to: JobID(9), at: 0) { _ in false }
        #expect(names.job(of: asked, at: 200) { _ in true } == nil)
    }

    @Test func `are forgotten when their time has passed and their job has ended`() {
        var names = UniqueNames()
        for number in 0..<100 {
            names.give(
                claim(UInt8(number), until: Int64(number)), to: JobID(1), at: Int64(number)
            ) { _ in false }
            #expect(names.count <= 2)
        }
        // A job that has not ended keeps its name, and is looked at again later.
        names.give(claim(200, until: 100), to: JobID(7), at: 99) { _ in false }
        let asked = claim(200, until: 9_999_999)
        for moment in [100, 50_000, 200_000] {
            names.give(claim(201, until: 0), to: JobID(8), at: Int64(moment)) { $0 == JobID(7) }
            #expect(names.job(of: asked, at: Int64(moment)) { $0 == JobID(7) }?.id == JobID(7))
        }
        names.give(claim(202, until: 300_000), to: JobID(9), at: 290_000) { _ in false }
        #expect(names.count == 1)
    }
}

@Suite struct `A request's fingerprint` {
    private func print(_ thread: String, _ selector: String, _ payload: [UInt8]) -> UInt64 {
        JobRequest(thread: thread, selector: selector, payload: payload).fingerprint
    }

    @Test func `is that of its thread, selector and payload, and kept in stores`() {
        var request = JobRequest(thread: "one", selector: "echo", payload: [1, 2, 3])
        let known = request.fingerprint
        #expect(known == 8_840_716_409_680_568_616)
        request.priority = .high
        request.options = SharedJobOptions(JobOptions(retryCountMax: 3))
        #expect(request.fingerprint == known)
    }

    @Test func `differs where one of them does`() {
        var known: Set<UInt64> = []
        let payloads: [[UInt8]] = [
            [], [0], [0, 0], [1], Array(1...8), Array(1...9), Array(0...8),
            [UInt8](repeating: 0, count: 8), [UInt8](repeating: 0, count: 16),
        ]
        for (thread, selector) in [("a", "bc"), ("ab", "c"), ("a", "b"), ("", "abc")] {
            for payload in payloads { known.insert(print(thread, selector, payload)) }
        }
        #expect(known.count == 4 * payloads.count)
        // Each bit of a payload counts.
        let plain = [UInt8](repeating: 0, count: 21)
        for bit in 0..<plain.count * 8 {
            var other = plain
            other[bit / 8] ^= 1 << UInt8(bit % 8)
            known.insert(print("a", "b", other))
        }
        #expect(known.count == 4 * payloads.count + plain.count * 8)
    }
}
