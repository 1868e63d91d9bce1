// Directories by their paths.

internal import CLinux
internal import Glibc

/// A directory's making, reading and removal.
package enum Directory {
    /// Makes a directory; one that is there already is fine.
    ///
    /// - Parameter mode: the mode bits; the process's umask takes its part.
    /// - Throws: ENOENT (no such parent), EACCES, ENOTDIR (a file is in the way).
    /// - Thread: any.
    /// - Blocks: for the disk.
    package static func create(_ path: String, mode: UInt32 = 0o755) throws(SystemError) {
        do throws(SystemError) {
            try retrying("mkdir \(path)") { unsafe mkdir(path, mode) }
        } catch {
            guard error.errno == EEXIST else { throw error }
            if try File.kind(of: path) != .directory {
                throw SystemError(operation: "mkdir \(path)", errno: ENOTDIR)
            }
        }
    }

    /// Makes a directory of its own under a name that no other file has; only its owner may enter.
    ///
    /// - Parameter prefix: how its path begins.
    /// - Returns: its path.
    /// - Throws: ENOENT (no such parent), EACCES.
    /// - Thread: any.
    /// - Blocks: for the disk.
    /// - Source: mkdtemp(3).
    package static func createTemporary(prefix: String) throws(SystemError) -> String {
        var path = Array("\(prefix)XXXXXX".utf8CString)
        let isMade = unsafe path.withUnsafeMutableBufferPointer { path in
            unsafe path.baseAddress.map { unsafe mkdtemp($0) != nil } ?? false
        }
        guard isMade else { throw SystemError.last("mkdtemp \(prefix)") }
        return String(decoding: path.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
    }

    /// The names of what is in a directory, in no order, without `.` and `..`.
    ///
    /// - Throws: ENOENT, EACCES, ENOTDIR, EMFILE.
    /// - Thread: any.
    /// - Blocks: for the disk.
    /// - Complexity: O(entries).
    package static func names(in path: String) throws(SystemError) -> [String] {
        guard let stream = unsafe opendir(path) else { throw SystemError.last("opendir \(path)") }
        defer { unsafe closedir(stream) }
        var names: [String] = []
        while true {
            Glibc.errno = 0
            guard let entry = unsafe readdir(stream) else {
                if Glibc.errno == 0 { return names }
                throw SystemError.last("readdir \(path)")
            }
            let name = unsafe withUnsafePointer(to: &entry.pointee.d_name) { name in
                unsafe name.withMemoryRebound(to: CChar.self, capacity: 256) { name in
                    unsafe String(cString: name)
                }
            }
            if name != "." && name != ".." { names.append(name) }
        }
    }

    /// The directory that something is in by its path: what stands in front of the last slash.
    ///
    /// Of `/a/b`, `/a`; of `/a`, `/`; of `a`, `.`; and of `/a/b/`, in which nothing is named,
    /// `/a/b`.
    ///
    /// - Thread: any; asks no file.
    package static func parent(of path: String) -> String {
        guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return "." }
        return slash == path.utf8.startIndex ? "/" : String(path[..<slash])
    }

    /// The path of what has a name in a directory.
    ///
    /// - Thread: any; asks no file.
    package static func path(of name: String, in directory: String) -> String {
        directory.hasSuffix("/") ? directory + name : "\(directory)/\(name)"
    }

    /// Removes a directory that is empty.
    ///
    /// - Throws: ENOTEMPTY, ENOENT, EACCES.
    /// - Thread: any.
    /// - Blocks: for the disk.
    package static func remove(_ path: String) throws(SystemError) {
        try retrying("rmdir \(path)") { unsafe rmdir(path) }
    }
}
