// Proves the lines in which a program reports its progress.

import Jobs
import Testing
import WorkerDaemon

@Suite struct `Progress lines` {
    private func last(_ text: String) -> String? {
        var lines = ProgressLines()
        let progress = lines.take(Array(text.utf8))
        return progress.map { "\($0.fraction.map { "\($0)" } ?? "-") \($0.text ?? "-")" }
    }

    @Test(arguments: [
        ("40\n", "0.4 -"), ("40%\n", "0.4 -"), ("40% converting\n", "0.4 converting"),
        ("12.5 page 3 of 24 \n", "0.125 page 3 of 24"), ("0\n", "0.0 -"), ("100%\r\n", "1.0 -"),
        ("converting\n", "- converting"), ("  5\tüber  \n", "0.05 über"),
        ("10\n20\n30", "0.2 -"), ("10\n\n101\nmore\n-3\n", "- -3"),
    ])
    func `are a percentage, a text or both; the last one counts`(text: String, what: String) {
        #expect(last(text) == what)
    }

    @Test(arguments: ["\n", "   \n", "101\n", "40x\n", "1e9\n", "\u{1}\n", "40", "0x10\n"])
    func `are nothing else`(text: String) {
        #expect(last(text) == nil)
    }

    @Test func `may come in any pieces`() {
        var lines = ProgressLines()
        var fractions: [Double] = []
        for byte in Array("1\n25% a\n\n100\n".utf8) {
            if let progress = lines.take([byte]) { fractions.append(progress.fraction ?? -1) }
        }
        #expect(fractions == [0.01, 0.25, 1])
        #expect(lines.junkCount == 1)
    }

    @Test func `of too many bytes are passed over, however many those are`() {
        var lines = ProgressLines()
        for _ in 0..<1_000 { #expect(lines.take(Array(repeating: 65, count: 1_000)) == nil) }
        #expect(lines.take(Array("\n7\n".utf8))?.fraction == 0.07)
        #expect(lines.junkCount == 1)
        let longest = String(repeating: "x", count: ProgressLines.byteCountMax)
        #expect(lines.take(Array("\(longest)\n".utf8))?.text == longest)
        #expect(lines.take(Array("\(longest)x\n".utf8)) == nil)
        #expect(lines.take([0xFF, 0x0A]) == nil)
    }

    @Test func `are shown in one line that is not too long`() throws {
        let text = String(repeating: "é\n", count: 500)
        let shown = try #require(JobProgress(fraction: nil, text: text)?.shownText)
        #expect(shown.unicodeScalars.count == JobProgress.textScalarCountMax)
        #expect(shown.hasPrefix("é é "))
        #expect(JobProgress(fraction: .nan, text: nil) == nil)
        #expect(JobProgress(fraction: -1, text: nil)?.fraction == 0)
        #expect(JobProgress(fraction: .infinity, text: nil)?.fraction == 1)
    }
}
