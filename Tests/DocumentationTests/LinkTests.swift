// A link of a document leads to a file of the package, and to a heading that is in it.

import Kernel
import Support
import Testing

@Suite struct `A link` {
    @Test(arguments: try documents())
    func `leads somewhere`(document: String) throws {
        for target in Self.targets(in: try text(document)) {
            let parts = target.split(separator: "#", omittingEmptySubsequences: false)
            let path = parts[0].isEmpty ? document : Self.path(parts[0], from: document)
            let isThere = (try? File.kind(of: "\(repositoryDirectory)/\(path)")) != nil
            #expect(isThere, "\(document) links to \(target)")
            guard isThere, parts.count > 1, path.hasSuffix(".md") else { continue }
            let isHeading = Self.headings(in: try text(path)).contains(String(parts[1]))
            #expect(isHeading, "\(document) links to \(target)")
        }
    }

    private static func targets(in text: String) -> [String] {
        prose(text).flatMap { line in
            line.matches(of: /\]\(([^)\s]+)\)/).map { String($0.1) }
        }.filter { !$0.hasPrefix("http") }
    }

    /// A path as it is from the package's directory.
    private static func path(_ target: Substring, from document: String) -> String {
        var parts = document.split(separator: "/").dropLast()
        for part in target.split(separator: "/") {
            if part == ".." { parts = parts.dropLast() } else { parts.append(part) }
        }
        return parts.joined(separator: "/")
    }

    /// The headings as their links say them: in lower case, without signs, a `-` for each blank.
    private static func headings(in text: String) -> Set<String> {
        Set(
            prose(text).filter { $0.hasPrefix("#") }.map { line in
                let words = line.drop { $0 == "#" }.dropFirst().lowercased()
                return words.replacing(/[^a-z0-9 _-]/, with: "").replacing(" ", with: "-")
            })
    }

    /// The lines outside of blocks of code.
    private static func prose(_ text: String) -> [Substring] {
        var isCode = false
        return text.split(separator: "\n").filter { line in
            if line.hasPrefix("```") { isCode.toggle() }
            return !isCode
        }
    }
}
