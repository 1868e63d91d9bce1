// Proves the texts for people: numbers of things, and suggestions for misspelt words.

import Testing
import Wording

@Suite struct `Wording` {
    @Test(arguments: [(0, "0 jobs"), (1, "1 job"), (2, "2 jobs"), (21, "21 jobs"), (-1, "-1 jobs")])
    func `a thing is in the plural unless it is one`(count: Int, text: String) {
        #expect(counted(count, "job") == text)
    }

    @Test(arguments: [
        ("prefrom", "perform"), ("PERFROM", "perform"), ("perfor", "perform"), ("jbo", "job"),
        ("sched", "schedules"), ("maxqueued", "maxQueued"), ("schedule", "schedules"),
    ])
    func `a slip of the pen, or a beginning, is known again`(word: String, meant: String) {
        let known = ["perform", "job", "jobs", "schedules", "maxQueued"]
        #expect(Spelling.nearest(to: word, among: known) == meant)
    }

    @Test(arguments: ["", "j", "jo", "foo", "watch", String(repeating: "perform", count: 100)])
    func `what is near to nothing is not guessed at`(word: String) {
        let known = ["perform", "job", "jobs", "schedules", "maxQueued"]
        #expect(Spelling.nearest(to: word, among: known) == nil)
    }
}
