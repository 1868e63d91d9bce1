// What is printed for people and for other programs.

internal import Kernel

enum Console {
    static func print(_ text: String) {
        try? StandardStream.output.write(everything: Array((text + "\n").utf8))
    }

    static func complain(_ text: String) {
        try? StandardStream.error.write(everything: Array(text.utf8))
    }
}
