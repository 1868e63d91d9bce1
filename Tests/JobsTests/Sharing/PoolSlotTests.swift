// The slots of spread pools: their names, those of keys, and how nodes share them.

import Jobs
import StoreTwin
import Testing

@Suite struct `The slots of a spread pool` {
    private let spread = SpreadPools(of: ["mail", "mail#1", "mail#2", "mail#3", "one"])

    @Test func `have names that clients do not see`() {
        #expect(PoolSlot.name(0, of: "mail") == "mail")
        #expect(PoolSlot.name(3, of: "mail") == "mail#3")
        #expect(PoolSlot.shown("mail#3") == "mail")
        #expect(PoolSlot.shown("mail/3") == "mail/3")
        #expect(PoolSlot.stored("mail#0") == "mail")
        #expect(PoolSlot.stored("mail#10") == "mail#10")
        #expect(spread.count(of: "mail") == 4)
        #expect(spread.count(of: "one") == 1)
        #expect(spread.slots(of: "mail") == ["mail", "mail#1", "mail#2", "mail#3"])
        #expect(spread.aliases(of: "mail") == ["mail#0", "mail#1", "mail#2", "mail#3"])
        #expect(spread.summary(of: ["one", "mail#2", "mail"]) == ["mail:2/4", "one"])
        // No user can give such a name to a thread.
        #expect(!NameRule.accepts("mail#1"))
    }

    /// The values of FNV-1a with 32 bits, from its authors' test suite.
    @Test func `are those of the keys' hash`() {
        for (key, hash) in [("", 0x811c_9dc5), ("b", 0xe70c_2de5), ("foobar", 0xbf9c_f968)] {
            #expect(PoolSlot.index(of: Array(key.utf8), among: 256) == hash % 256)
            #expect(PoolSlot.index(of: Array(key.utf8), among: 7) == hash % 7)
        }
    }

    @Test func `are the places of keys and unique names`() {
        var request = JobRequest(thread: "mail", selector: "send")
        #expect(spread.place(of: request) == "mail")
        request.unique = UniqueName(Array("b".utf8))
        let slot = PoolSlot.name(0xe70c_2de5 % 4, of: "mail")
        #expect(spread.place(of: request) == slot)
        request.options = SharedJobOptions(JobOptions(key: Array("c".utf8)))
        #expect(spread.place(of: request) == PoolSlot.name(0xe60c_2c52 % 4, of: "mail"))
        request.thread = "one"
        #expect(spread.place(of: request) == "one")
    }

    private func node(_ seat: Int64, _ threads: [String]) -> StoreNode {
        StoreNode("node-\(seat)", seat: seat, threads: threads)
    }

    @Test func `are shared evenly, whatever other threads there are`() {
        let slots = SpreadPools(of: (0..<16).map { PoolSlot.name($0, of: "mail") }).slots(
            of: "mail")
        let others = (0..<9).map { "t\($0)" }
        let nodes = (1...3).map { node($0, slots + others) } + [node(4, others)]
        let assignment = ThreadAssignment(slots + others, among: nodes)
        func counts(_ names: [String]) -> [Int] {
            nodes.map { node in names.count { assignment.seat(of: $0) == node.seat } }
        }
        #expect(counts(slots).sorted() == [0, 5, 5, 6])
        #expect(counts(slots)[3] == 0)
        #expect(counts(others).allSatisfy { (2...3).contains($0) })
    }
}
