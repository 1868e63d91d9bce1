// Proves how foreign texts are shown.

import Testing
import Wording

@Suite struct `Printable texts` {
    @Test func `have escapes in place of what a terminal obeys`() {
        #expect(printable("a\u{1B}[0m\n\u{7F}\u{9B}") == #"a\x1b[0m\x0a\x7f\x9b"#)
        #expect(
            printable("\u{202A}\u{202E}\u{2066}\u{2069}") == #"\u{202a}\u{202e}\u{2066}\u{2069}"#)
        #expect(printable("\u{200E}\u{200F}\u{61C}") == #"\u{200e}\u{200f}\u{61c}"#)
        #expect(printable("\u{2028}\u{2029}") == #"\u{2028}\u{2029}"#)
        #expect(printable("a\tb\n", except: ["\t", "\n"]) == "a\tb\n")
    }

    @Test func `are otherwise as they were`() {
        for text in ["", "plain", "Zoë 漢字 👩‍👩‍👧", "a\u{200D}b\u{A0}"] {
            #expect(printable(text) == text)
        }
    }
}
