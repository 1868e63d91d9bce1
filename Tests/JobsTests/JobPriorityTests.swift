// Proves the names and lanes of priorities.

import Jobs
import Testing

@Suite struct `A priority` {
    @Test(arguments: Priority.allCases)
    func `is read back as it is written, in any letter case`(priority: Priority) {
        #expect(Priority(name: priority.name.utf8) == priority)
        #expect(Priority(name: Array(priority.name.uppercased().utf8)) == priority)
    }

    @Test(arguments: ["", "hig", "highh", "urgent", "h1gh", "\u{4C}O\u{17}"])
    func `has no other name`(name: String) {
        #expect(Priority(name: name.utf8) == nil)
    }

    @Test func `has its lane as its raw value, the highest first`() {
        #expect(Priority.allCases.map(\.rawValue) == [0, 1, 2])
        #expect(Priority.allCases == [.high, .normal, .low])
    }
}
