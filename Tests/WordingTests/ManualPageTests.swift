// Pages of the manual: what mdoc would take for a command is escaped.

import Testing
import Wording

@Suite struct `A page of the manual` {
    @Test func `escapes what would be a command`() {
        var page = ManualPage("thing", section: 1, summary: "does a-b")
        page.heading("Description")
        page.paragraphs(".hidden is a word. 'Quoted' \\ is --another.\n\nA second paragraph.")
        page.beginList()
        page.item("--flag", "A \"B\"", "Does it.")
        page.endList()
        page.literal(".a\n'b\nc-d")
        let lines = page.text.split(separator: "\n").map(String.init)
        #expect(lines.contains(".Dt THING 1"))
        #expect(lines.contains(".Nd does a\\-b"))
        // A sentence for each line; no paragraph right behind a heading.
        let start = lines.firstIndex(of: ".Sh DESCRIPTION") ?? 0
        #expect(
            Array(lines[(start + 1)..<(start + 5)]) == [
                "\\&.hidden is a word.", "\\&'Quoted' \\e is \\-\\-another.", ".Pp",
                "A second paragraph.",
            ])
        #expect(lines.contains(".It Ic \"\\-\\-flag\" Ar \"A \\(dqB\\(dq\""))
        #expect(page.text.contains(".Bd -literal\n\\&.a\n\\&'b\nc\\-d\n.Ed\n"))
    }

    @Test func `has lines that mandoc does not find too long`() {
        var page = ManualPage("thing", section: 1, summary: "does it")
        page.paragraphs(String(repeating: "a--b ", count: 200))
        #expect(page.text.split(separator: "\n").allSatisfy { $0.count <= 80 })
    }
}
