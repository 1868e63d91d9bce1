// Patterns of names, compared with a naive matcher.

import Jobs
import Support
import Testing

@Suite struct `A pattern of names` {
    @Test(arguments: [
        ("mail", "mail", true), ("mail", "mails", false), ("mail", "Mail", false),
        ("*", "anything", true), ("*", "", true), ("mail*", "mail", true),
        ("mail*", "mail-2", true), ("mail*", "amail", false), ("*-eu", "mail-eu", true),
        ("*-eu", "-eu", true), ("a*b*c", "abc", true), ("a*b*c", "aXbYc", true),
        ("a*b*c", "ac", false), ("a*a", "a", false), ("a**b", "ab", true), ("*b*", "abc", true),
        ("*aab*", "aaab", true), ("mail/1", "mail/1", true), ("mail/*", "mail", false),
    ])
    func `stands for names`(pattern: String, name: String, expected: Bool) throws {
        #expect(try #require(NamePattern(pattern)).matches(name) == expected)
    }

    @Test(arguments: ["", "a b", "ä", "a,b", String(repeating: "a", count: 65)])
    func `is refused`(text: String) {
        #expect(NamePattern(text) == nil)
    }

    @Test func `agrees with a naive matcher`() throws {
        func naive(_ pattern: Substring, _ name: Substring) -> Bool {
            guard let first = pattern.first else { return name.isEmpty }
            if first == "*" {
                return naive(pattern.dropFirst(), name)
                    || !name.isEmpty && naive(pattern, name.dropFirst())
            }
            return name.first == first && naive(pattern.dropFirst(), name.dropFirst())
        }
        var texts = [""]
        for _ in 0..<5 { texts += texts.flatMap { text in ["a", "b", "*"].map { text + $0 } } }
        let all = Set(texts)
        let names = all.filter { !$0.contains("*") }
        for text in all where !text.isEmpty {
            let pattern = try #require(NamePattern(text))
            for name in names {
                #expect(pattern.matches(name) == naive(text[...], name[...]), "\(text) \(name)")
            }
        }
    }

    @Test func `of a pool stands for its threads`() throws {
        let mail = JobScope(threads: [try #require(NamePattern("mail"))], selectors: nil)
        #expect(mail.has(thread: "mail") && mail.has(thread: "mail/1"))
        #expect(mail.has(thread: "mail#3"))
        #expect(!mail.has(thread: "mails") && !mail.has(thread: "mails/1"))
        #expect(!mail.isAll && !mail.hasAllThreads && mail.has(selector: "x"))
        let one = JobScope(threads: [try #require(NamePattern("mail/1"))], selectors: nil)
        #expect(one.has(thread: "mail/1") && !one.has(thread: "mail"))
        #expect(JobScope.all.isAll && JobScope.all.has(thread: "a", selector: "b"))
        #expect(JobScope(threads: [], selectors: nil).isAll == false)
    }
}
