// The blocks of code in a text for readers: between fences in Markdown, or in a comment of a
// source.

import Testing

/// One block of Swift, as a reader sees it.
struct Block: CustomTestStringConvertible {
    /// The file that it is in.
    let path: String
    /// The line of its opening fence.
    let line: Int
    /// Its lines, each with its line feed.
    let text: String
    /// The block of plain text right below it: what it prints.
    let output: String?

    var testDescription: String { "\(path):\(line)" }

    /// Whether it is a package's manifest.
    var isManifest: Bool { text.hasPrefix("// swift-tools-version") }

    /// The blocks of Swift in a Markdown file, or in the documentation comments of a source.
    static func all(in path: String, _ text: String) -> [Block] {
        let isSource = path.hasSuffix(".swift")
        var fences: [Fence] = []
        var open: Fence?
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        for (index, line) in lines.enumerated() {
            guard let line = isSource ? comment(line) : line else {
                open = nil
                continue
            }
            if var fence = open {
                if line == "```" {
                    fence.end = index
                    fences.append(fence)
                    open = nil
                } else {
                    fence.text += line + "\n"
                    open = fence
                }
            } else if line.hasPrefix("```") {
                open = Fence(language: line.dropFirst(3), start: index)
            }
        }
        return blocks(of: fences, in: path)
    }

    private struct Fence {
        let language: Substring
        let start: Int
        var end = 0
        var text = ""
    }

    private static func blocks(of fences: [Fence], in path: String) -> [Block] {
        fences.enumerated().compactMap { index, fence in
            guard fence.language == "swift" else { return nil }
            let next = index + 1 < fences.count ? fences[index + 1] : nil
            // With nothing but an empty line in between.
            let printed = next.flatMap { next in
                next.language == "text" && next.start == fence.end + 2 ? next : nil
            }
            return Block(
                path: path, line: fence.start + 1, text: fence.text, output: printed?.text)
        }
    }

    /// The text of a line of a documentation comment; nil for a line of code.
    private static func comment(_ line: Substring) -> Substring? {
        let line = line.drop { $0 == " " }
        guard line.hasPrefix("///") else { return nil }
        return line.dropFirst(line.hasPrefix("/// ") ? 4 : 3)
    }
}
