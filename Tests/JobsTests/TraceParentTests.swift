// Which texts are places in a trace: the cases of its standard.

import Jobs
import Testing

@Suite struct `A place in a trace` {
    private static let trace = "4bf92f3577b34da6a3ce929d0e0e4736"
    private static let span = "00f067aa0ba902b7"

    @Test(arguments: [
        TraceParent.example, "00-\(trace)-\(span)-00", "cc-\(trace)-\(span)-01",
        "cc-\(trace)-\(span)-01-what-comes-later",
    ])
    func `is taken if it is well formed`(text: String) {
        #expect(TraceParent.isValid(Array(text.utf8)))
    }

    @Test(arguments: [
        "", "00", "00-\(trace)-\(span)", "00-\(trace)-\(span)-1", "ff-\(trace)-\(span)-01",
        "00-\(trace)-\(span)-01-more", "00-\(trace)-\(span)-01-", "0-\(trace)-\(span)-011",
        "00-\(String(repeating: "0", count: 32))-\(span)-01",
        "00-\(trace)-\(String(repeating: "0", count: 16))-01",
        "00-\(trace.uppercased())-\(span)-01", "00-\(trace)-\(span)-0g",
        "00_\(trace)_\(span)_01", " 00-\(trace)-\(span)-01", "cc-\(trace)-\(span)-01-\u{0}",
        "cc-\(trace)-\(span)-01x",
    ])
    func `is refused otherwise`(text: String) {
        #expect(!TraceParent.isValid(Array(text.utf8)))
    }
}
