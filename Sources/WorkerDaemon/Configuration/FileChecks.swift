// The configuration's questions to the file system, as a value: the daemon fills it with system
// calls, tests with a table. So nothing in this folder touches a file.

internal import Kernel

/// The questions that reading a configuration asks about files.
package struct FileChecks: Sendable {
    /// The kind of file behind a path, symbolic links followed.
    package enum Kind: Sendable, Equatable {
        /// No file, or a directory on the way that may not be entered.
        case missing
        case directory
        /// A regular file that this process may execute.
        case program
        /// Anything else: a file that may not be executed, a socket, a device.
        case other
    }

    /// A file that could not be read, with the reason in words for people: `Permission denied`.
    package struct Unreadable: Error, Sendable, Equatable {
        package let reason: String

        package init(reason: String) {
            self.reason = reason
        }
    }

    /// The kind of file at a path.
    package var kind: @Sendable (_ path: String) -> Kind
    /// The bytes of a file: all of them, or the first `byteCountMax`.
    package var contents:
        @Sendable (_ path: String, _ byteCountMax: Int) throws(Unreadable) -> [UInt8]
    /// The directories of `PATH`, in which programs without a slash are looked for.
    package var searchPath: [String]

    package init(
        kind: @escaping @Sendable (_ path: String) -> Kind,
        contents:
            @escaping @Sendable (_ path: String, _ byteCountMax: Int) throws(Unreadable) -> [UInt8],
        searchPath: [String]
    ) {
        self.kind = kind
        self.contents = contents
        self.searchPath = searchPath
    }

    /// The absolute path of the program that `name` means in the search path.
    ///
    /// Empty and relative entries are skipped: they depend on where the daemon was started, and a
    /// program of that directory could take the place of the intended one.
    func findProgram(_ name: String) -> String? {
        searchPath.lazy.filter { $0.hasPrefix("/") }
            .map { Directory.path(of: name, in: $0) }
            .first { kind($0) == .program }
    }
}

extension Place {
    /// Whether a file can be made at an absolute path, or is there; reports what is in the way.
    ///
    /// - Parameter isMadeAtStart: whether its directory may be made when the daemon is started, as
    ///   systemd does; under `--check` alone, a missing one is a warning.
    func isForNew(_ what: String, _ path: String, isMadeAtStart: Bool = false) -> Bool {
        if files.kind(path) == .directory {
            report("\(path.quoted) is a directory, must be the path of a \(what) in one")
            return false
        }
        let parent = Directory.parent(of: path)
        if parent == "/" || files.kind(parent) == .directory { return true }
        let fault = "there is no directory \(parent.quoted) for the \(what)"
        guard isCheck, isMadeAtStart, files.kind(parent) == .missing else {
            report(fault)
            return false
        }
        warn("\(fault); it has to be there at the start")
        return true
    }
}
