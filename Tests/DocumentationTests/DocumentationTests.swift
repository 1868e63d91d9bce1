// Samples that a reader copies are built here, and print what the documentation says: every block
// of Swift in the README, in Documents, in the articles and in comments is a sample below
// Tests/Snippets.

import Kernel
import Support
import Testing

@Suite struct `The documentation's code` {
    @Test(arguments: try allBlocks().filter { !$0.isManifest })
    func `is built`(block: Block) throws {
        let isSample = try allSamples().contains { $0.text == block.text }
        #expect(isSample, "no sample below Tests/Snippets reads like this one:\n\(block.text)")
    }

    @Test(arguments: try allBlocks().filter(\.isManifest))
    func `names products that there are`(block: Block) throws {
        let manifest = try text("Package.swift")
        let names = block.text.split(separator: "\n").compactMap { line -> Substring? in
            guard let start = line.firstRange(of: ".product(name: \"") else { return nil }
            return line[start.upperBound...].prefix { $0 != "\"" }
        }
        #expect(!names.isEmpty)
        for name in names { #expect(manifest.contains(".library(name: \"\(name)\",")) }
        // Without a name, a package at a path is called as its folder, and its products are not
        // found.
        let name = manifest.components(after: "let package = Package(\n    name: ").first ?? ""
        for path in block.text.components(after: ".package(") where path.contains("path: ") {
            #expect(path.hasPrefix("name: \(name.prefix { $0 != "," }), path: "))
        }
    }

    @Test func `is all that is built for it`() throws {
        let shown = Set(try allBlocks().map(\.text))
        for sample in try allSamples() {
            let isShown = shown.contains(sample.text)
            #expect(isShown, "\(sample.path): \(sample.name) is shown nowhere")
        }
    }

    @Test func `has a name of its own`() throws {
        let names = try allSamples().map(\.name)
        #expect(Set(names).count == names.count)
    }

    @Test(.timeLimit(.minutes(2)), arguments: try programs())
    func `prints what is printed below it`(program: Program) throws {
        var child = try ChildProcess.spawn(
            ChildCommand(
                program: "\(try productsDirectory())/\(program.product)",
                arguments: program.arguments))
        child.closeInput()
        guard let output = child.takeOutput() else { throw Fault("its output was taken") }
        let bytes = try output.readEverything("a sample's output", atMost: 1 << 16)
        try waitUntilReady(child.endDescriptor.number)
        #expect(child.reap() == .exited(0))
        let printed = try allBlocks().filter { $0.text == program.sample.text }.compactMap(\.output)
        for text in printed { #expect(String(decoding: bytes, as: UTF8.self) == text) }
    }
}

extension String {
    /// The rest of the line after each place where a text occurs.
    fileprivate func components(after text: String) -> [Substring] {
        ranges(of: text).map { self[$0.upperBound...].prefix { $0 != "\n" } }
    }
}

/// A sample that runs and ends by itself, and how it is started.
struct Program: CustomTestStringConvertible {
    let sample: Sample
    let product: String
    let arguments: [String]

    var testDescription: String { ([product] + arguments).joined(separator: " ") }
}

/// The samples that can be run: programs of their own, and those that `Articles` runs by name.
private func programs() throws -> [Program] {
    let articles = try text("Tests/Snippets/Articles/Articles.swift")
    return try allSamples().compactMap { sample in
        if sample.isProgram {
            // The greeter is a daemon; the daemon's own tests run it.
            if sample.name == "Greeter" { return nil }
            return Program(sample: sample, product: "Snippet\(sample.name)", arguments: [])
        }
        guard articles.contains("case \"\(sample.name)\":") else { return nil }
        return Program(sample: sample, product: "SnippetArticles", arguments: [sample.name])
    }
}
