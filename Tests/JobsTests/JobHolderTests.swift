// The token of a holder as text, and which processes a daemon sees.

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

@Suite struct `The home of a process` {
    private static func home(
        _ machine: String = "m", _ start: String = "s", _ numbers: String = "pid:[1]"
    ) -> JobHolder.Home {
        JobHolder.Home(
            machine: Array(machine.utf8), start: Array(start.utf8), numbers: Array(numbers.utf8))
    }

    @Test func `is seen from itself, and from its machine once that has started anew`() {
        let home = Self.home()
        #expect(home.isSeen(from: home))
        #expect(home.isSeen(from: Self.home("m", "later")))
        // The machine has another name.
        #expect(home.isSeen(from: Self.home("n")))
    }

    @Test func `is not seen from another machine or container`() {
        let home = Self.home()
        #expect(!home.isSeen(from: Self.home("n", "later")))
        #expect(!home.isSeen(from: Self.home("m", "s", "pid:[2]")))
    }

    @Test func `is the same after it was a word, and no word of before`() {
        let home = Self.home()
        #expect(JobHolder.Home(word: home.word) == home)
        #expect(JobHolder.Home(word: 0) == nil)
    }
}
