// The one error of this program: what went wrong, in words, and how the process ends.

/// Why nothing was measured.
struct WorkbenchError: Error, CustomStringConvertible {
    let description: String
    /// - Source: sysexits(3).
    let exitStatus: Int32

    /// Something on this machine, or a wrong result.
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
