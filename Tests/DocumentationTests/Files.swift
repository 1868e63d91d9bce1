// The files of the package that hold blocks and samples.

import Kernel
import Support

/// The paths of all files below a folder of the package whose names end so, sorted.
func files(below folder: String, ending: String) throws -> [String] {
    var found: [String] = []
    var folders = [folder]
    while let next = folders.popLast() {
        for name in try Directory.names(in: "\(repositoryDirectory)/\(next)") {
            let path = "\(next)/\(name)"
            if try File.kind(of: "\(repositoryDirectory)/\(path)") == .directory {
                folders.append(path)
            } else if name.hasSuffix(ending) {
                found.append(path)
            }
        }
    }
    return found.sorted()
}

/// The text of a file of the package.
func text(_ path: String) throws -> String {
    String(decoding: try repositoryFile(path), as: UTF8.self)
}

/// The modules of the products, whose documentation `Scripts/docs` builds.
let documentedModules = [
    "RunLoops", "WorkerThreads", "RunLoopsTesting", "WorkerClient", "WorkerDaemon",
]

/// The documents that users read.
func userDocuments() throws -> [String] {
    try ["README.md"] + files(below: "Documents", ending: ".md")
}

/// All documents.
func documents() throws -> [String] {
    try userDocuments() + ["ARCHITECTURE.md", "CHANGELOG.md", "PROTOCOL.md"]
}

/// Every block of Swift that a reader of the documentation sees.
func allBlocks() throws -> [Block] { try blocks.get() }

/// Every sample that is built.
func allSamples() throws -> [Sample] { try samples.get() }

// Read once: the tests ask for each block and sample anew.
private let blocks = Result { try readBlocks() }
private let samples = Result { try readSamples() }

private func readBlocks() throws -> [Block] {
    let paths = try documentedModules.flatMap {
        try files(below: "Sources/\($0)", ending: ".md")
            + files(below: "Sources/\($0)", ending: ".swift")
    }
    return try (userDocuments() + paths).flatMap { Block.all(in: $0, try text($0)) }
}

private func readSamples() throws -> [Sample] {
    try files(below: "Tests/Snippets", ending: ".swift").flatMap {
        try Sample.all(in: $0, try text($0))
    }
}
