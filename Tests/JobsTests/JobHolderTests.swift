// The token of a holder as text.

import Jobs
import Testing

@Suite struct `The token of a holder` {
    @Test(arguments: [
        (UInt64.zero, UInt64(1)), (UInt64.max, UInt64.max), (0x0123_4567_89ab_cdef, 0xf0),
    ])
    func `is the same after it was text`(_ high: UInt64, _ low: UInt64) {
        let token = JobHolder.Token(high: high, low: low)
        #expect(JobHolder.Token(token.description) == token)
    }

    @Test(arguments: [
        "", "0", "0123456789abcdef0123456789abcde", "0123456789abcdef0123456789abcdef0",
        "0123456789ABCDEF0123456789abcdef", "+123456789abcdef0123456789abcdef",
        "0123456789abcdef 123456789abcdef", "0123456789abcdef0123456789abcdeg",
    ])
    func `is no other text`(_ text: String) {
        #expect(JobHolder.Token(text) == nil)
    }
}
