// Where a payload comes from: the command line, a file, or standard input.

internal import Kernel

enum Payload {
    /// More than any daemon takes.
    private static let byteCountMax = 1 << 30

    /// The payload of an invocation; nil if none was given.
    ///
    /// - Parameter index: where it stands among the words.
    static func read(_ invocation: Invocation, at index: Int) throws(Failure) -> [UInt8]? {
        let word = invocation.words.count > index ? invocation.words[index] : nil
        if let path = invocation.text(.file) {
            guard word == nil else {
                throw .usage(
                    "a payload and --file: one of them",
                    try: "workerctl help \(invocation.command.name)")
            }
            return try content(ofFile: path)
        }
        guard let word else { return nil }
        if word.text == "-", !word.isLiteral { return try standardInput() }
        return Array(word.text.utf8)
    }

    /// The content of a file, or for `-` of standard input.
    static func content(ofFile path: String) throws(Failure) -> [UInt8] {
        path == "-" ? try standardInput() : try file(path)
    }

    private static func file(_ path: String) throws(Failure) -> [UInt8] {
        do throws(SystemError) {
            return try File.read(path, atMost: byteCountMax)
        } catch {
            throw Failure(
                what: "can't read the payload from \(path)", reason: error.reason,
                advice: "a file that is there and that you may read",
                status: .noInput)
        }
    }

    private static func standardInput() throws(Failure) -> [UInt8] {
        do throws(SystemError) {
            return try StandardStream.input.read(atMost: byteCountMax)
        } catch {
            throw Failure(
                what: "can't read the payload from standard input", reason: error.reason,
                status: .noInput)
        }
    }
}
