// Usage texts, taken apart.

import Testing

@testable import WorkerDaemon

@Suite struct `The words of a usage text` {
    @Test(
        arguments: [
            ("", []), ("0", ["0"]),
            ("id | thread selector [payload]", ["id", "|", "thread", "selector", "payload?"]),
            (
                "thread [WAIT [ms]] [RETRY n [BLOCK|ASIDE]] payload",
                ["thread", "WAIT [ms]?", "RETRY n [BLOCK|ASIDE]?", "payload"]
            ),
            ("id [id …]", ["id", "id …?"]), ("GET pattern …", ["GET", "pattern", "…"]),
        ] as [(String, [String])])
    func `are words, and what is in brackets`(_ usage: String, _ words: [String]) {
        let found = UsageWord.words(of: usage).map { $0.name + ($0.isOptional ? "?" : "") }
        #expect(found == words)
    }
}
