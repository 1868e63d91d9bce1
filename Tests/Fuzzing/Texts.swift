// The body of a request, and the configuration.

internal import WorkerDaemon

enum Texts {
    /// A fault is inside of the text.
    static func readJSON(_ bytes: [UInt8]) {
        do throws(JSONFault) {
            _ = try JSONReader.read(bytes)
        } catch {
            precondition((0...bytes.count).contains(error.offset) && !error.reason.isEmpty)
        }
    }

    /// A fault has its line, and is a sentence.
    static func readConfiguration(_ bytes: [UInt8]) {
        let files = FileChecks(kind: { _ in .other }, contents: { _, _ in [] }, searchPath: [])
        do throws(ConfigurationError) {
            _ = try ConfigurationReader(files: files).parse(bytes: bytes, fileName: "w.json5")
        } catch {
            precondition(!error.faults.isEmpty)
            let lineCount = 1 + bytes.count { $0 == 10 || $0 == 13 } + bytes.count / 3
            for fault in error.faults {
                precondition(!fault.message.isEmpty)
                guard let position = fault.position else { continue }
                precondition((1...lineCount).contains(position.line) && position.column > 0)
            }
        }
    }
}
