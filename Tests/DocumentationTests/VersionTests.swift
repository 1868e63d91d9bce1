// The version stands in one place of the code; the documents say the same.

import Support
import Testing
import Wording

@Suite struct `The version` {
    @Test(arguments: [
        ("CHANGELOG.md", "\n## "), ("README.md", "This is version "),
        ("README.md", "notice: workerd "), ("Documents/openapi.json", "\"version\": \""),
        ("PROTOCOL.md", "one run of workerd\n"), ("Documents/Library.md", "from: \""),
        ("Sources/WorkerThreads/WorkerThreads.docc/WorkerThreads.md", "from: \""),
    ])
    func `of a document is that of the code`(document: String, before: String) throws {
        let text = try text(document)
        let start = try #require(text.firstRange(of: before)?.upperBound, "\(document)")
        let found = text[start...].prefix { $0.isNumber || $0 == "." }
        #expect(found == Release.version || found == Release.version + ".", "\(document)")
    }
}
