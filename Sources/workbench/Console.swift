// What is printed for people and for other programs.

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
