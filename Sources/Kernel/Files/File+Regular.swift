// Files that a configuration names: a regular file is read, and no other one. Opening a named pipe
// waits for its writer, which may never come.

internal import Glibc

/// Why a file was not read whole.
package enum UnreadableFile: Error, Equatable, Sendable, CustomStringConvertible {
    case system(SystemError)
    /// The path leads to something else: `a named pipe`.
    case notRegular(path: String, kind: String)
    /// Another program has locked it for a change.
    case locked(path: String)

    /// The fault and its file, for people.
    package var description: String {
        switch self {
        case .system(let error): error.description
        case .notRegular(let path, let kind): "\(path) is \(kind), not a regular file"
        case .locked(let path): "\(path) is being changed by another program"
        }
    }

    /// The fault without its file: `Permission denied`.
    package var reason: String {
        switch self {
        case .system(let error): error.reason
        case .notRegular(_, let kind): "it is \(kind), not a regular file"
        case .locked: "it is being changed by another program"
        }
    }
}

extension File {
    /// Reads a whole regular file, links followed.
    ///
    /// - Throws: as `read`; `notRegular` for a directory, a named pipe, a socket and a device.
    /// - Thread: any.
    /// - Blocks: for the disk; never for another process.
    package static func readRegular(
        _ path: String, atMost byteCountMax: Int
    ) throws(UnreadableFile) -> [UInt8] {
        let descriptor = try openRegular(path)
        return try reading { () throws(SystemError) in
            try contents(of: descriptor, path, atMost: byteCountMax)
        }
    }

    /// Opens a regular file to read it.
    static func openRegular(_ path: String) throws(UnreadableFile) -> Descriptor {
        // Before it is opened, which may change the state of a device.
        try checkIsRegular(path)
        let descriptor = try reading { () throws(SystemError) in
            try open("open \(path)", path, O_RDONLY | O_NONBLOCK)
        }
        // Another file may have taken its place meanwhile.
        try check(try reading { () throws(SystemError) in try status(of: descriptor, path) }, path)
        return descriptor
    }

    /// Checks that a path leads to a regular file, or to nothing.
    ///
    /// - Throws: `notRegular`; EACCES, ELOOP, ENAMETOOLONG.
    /// - Thread: any.
    /// - Blocks: for the disk.
    package static func checkIsRegular(_ path: String) throws(UnreadableFile) {
        let found = try reading { () throws(SystemError) in
            try status(of: path, followingLinks: true)
        }
        if let found { try check(found, path) }
    }

    private static func check(_ status: stat, _ path: String) throws(UnreadableFile) {
        let kind =
            switch status.st_mode & S_IFMT {
            case S_IFREG: nil as String?
            case S_IFDIR: "a directory"
            case S_IFIFO: "a named pipe"
            case S_IFSOCK: "a socket"
            default: "a device"
            }
        if let kind { throw .notRegular(path: path, kind: kind) }
    }

    /// Makes system calls, and throws their error as that of a file.
    static func reading<Value: ~Copyable>(
        _ body: () throws(SystemError) -> Value
    ) throws(UnreadableFile) -> Value {
        do throws(SystemError) {
            return try body()
        } catch {
            throw .system(error)
        }
    }

    /// Whether a path names a descriptor of this process itself: `/dev/stdin`, or the `/dev/fd/63`
    /// of a shell's `<(…)`.
    ///
    /// - Thread: any.
    /// - Blocks: never.
    package static func isOwnDescriptor(_ path: String) -> Bool {
        if path == "/dev/stdin" { return true }
        return ["/dev/fd/", "/proc/self/fd/"].contains { directory in
            path.hasPrefix(directory) && CInt(path.dropFirst(directory.count)) != nil
        }
    }
}
