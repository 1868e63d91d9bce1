// The output, for people and for other programs, and the one error of this program.

internal import Foundation
internal import Kernel

enum Console {
    static func print(_ text: String) {
        try? StandardStream.output.write(everything: Array((text + "\n").utf8))
    }

    static func complain(_ text: String) {
        try? StandardStream.error.write(everything: Array(text.utf8))
    }

    static func write(_ text: String, to path: String) throws(WorkbenchError) {
        do {
            try (text + "\n").write(toFile: path, atomically: true, encoding: .utf8)
        } catch {
            throw WorkbenchError("\(path) can't be written: \(error)")
        }
    }
}

/// The reason why nothing was measured.
struct WorkbenchError: Error, CustomStringConvertible {
    let description: String
    /// - Source: sysexits(3).
    let exitStatus: Int32

    /// A fault of this machine, or a wrong result.
    init(_ description: String) {
        self.description = description
        exitStatus = 70
    }

    /// Wrong arguments.
    init(usage description: String) {
        self.description = "\(description)\n\(Options.usage)"
        exitStatus = 64
    }
}
