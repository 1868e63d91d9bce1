// Proves which reasons of failures are alike, by a model that reads them scalar by scalar.

import Jobs
import Support
import Testing

@Suite struct `The pattern of a reason` {
    /// The first 255 scalars of the first line, with `#` for each run of digits.
    private static func model(_ reason: String) -> String {
        var pattern = String.UnicodeScalarView()
        for scalar in reason.unicodeScalars.prefix(255) {
            if scalar == "\n" || scalar == "\r" { break }
            let isDigit = ("0"..."9").contains(scalar)
            if isDigit, pattern.last == "#" { continue }
            pattern.append(isDigit ? "#" : scalar)
        }
        return String(pattern)
    }

    @Test(arguments: [
        ("port 7711 is closed", "port # is closed"), ("", ""), ("7", "#"), ("a\nb", "a"),
        ("a\r\nb", "a"), ("#1 of ##2", "# of ##"), ("٣ Grüße 12é3", "٣ Grüße #é#"),
        ("e\u{301}1\u{301}", "e\u{301}#\u{301}"),
    ])
    func `has one mark for a run of digits, and one line`(reason: String, pattern: String) {
        #expect(FailurePattern(reason).description == pattern)
        #expect(Self.model(reason) == pattern)
    }

    @Test func `is that of the model, and its own pattern`() {
        var random = SeededRandom(seed: 7)
        let scalars: [Unicode.Scalar] = [
            "a", "b", " ", "0", "7", "9", "#", "é", "€", "😀", "\u{301}", "/", ":",
        ]
        for _ in 0..<2_000 {
            var reason = String.UnicodeScalarView()
            for _ in 0..<random.below(400) {
                let isEnd = random.chance(1) && random.chance(20)
                reason.append(isEnd ? "\n" : scalars[random.below(scalars.count)])
            }
            let pattern = FailurePattern(String(reason))
            #expect(
                Array(pattern.description.unicodeScalars)
                    == Array(Self.model(String(reason)).unicodeScalars))
            #expect(FailurePattern(pattern.description) == pattern)
        }
    }
}
