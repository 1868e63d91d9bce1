// The documents tell readers where things are: a file that was moved or renamed since is found
// here.

import Testing

@Suite struct `A document` {
    private static let folders = ["Sources", "Tests", "Scripts", "Config", "Documents"]

    @Test(arguments: try documents())
    func `names files that there are`(document: String) throws {
        let paths = try Self.folders.flatMap { try files(below: $0, ending: "") }
        let known = Set(paths.flatMap(Self.endings))
        let named = Self.namedFiles(in: try text(document))
        let missing = named.filter { !known.contains($0) }
        #expect(missing == [], "\(document) names what is not there")
        if document == "ARCHITECTURE.md" { #expect(named.count > 30) }
    }

    /// A path from each of its folders on: `c.swift`, `b/c.swift`, `a/b/c.swift`.
    private static func endings(of path: String) -> [String] {
        let parts = path.split(separator: "/")
        return parts.indices.map { parts[$0...].joined(separator: "/") }
    }

    /// Sources and scripts that are named between back ticks.
    private static func namedFiles(in text: String) -> [String] {
        text.split(separator: "\n").flatMap { line in
            line.split(separator: "`", omittingEmptySubsequences: false).enumerated()
                .filter { !$0.offset.isMultiple(of: 2) }
                .compactMap { $0.element.split(separator: " ").first.map(String.init) }
        }.filter { name in
            [".swift", ".h", ".c", ".txt", ".service"].contains { name.hasSuffix($0) }
                || name.hasPrefix("Scripts/")
        }
    }
}
