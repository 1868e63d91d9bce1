// Small files as wholes, and what a path refers to: enough for configurations, passwords and
// sockets. It waits for the disk, so it is for the start and for tools, not for a loop's thread.

internal import CLinux
internal import Glibc

/// Files and directories by their paths.
package enum File {
    /// The kind of file that a path refers to, links followed.
    package enum Kind: Equatable, Sendable {
        /// A regular file; executable as far as this process may execute it.
        case regular(isExecutable: Bool)
        case directory
        case socket
        /// A device, a named pipe.
        case other
    }

    /// The mode bits of files that only their owner may read: for sockets and passwords.
    package static let ownerOnly: UInt32 = 0o600

    /// Reads a whole file.
    ///
    /// - Throws: ENOENT, EACCES, EISDIR; EFBIG when it is longer than `byteCountMax`.
    /// - Thread: any.
    /// - Blocks: for the disk; for a named pipe until its writer closes it.
    package static func read(
        _ path: String, atMost byteCountMax: Int
    ) throws(SystemError) -> [UInt8] {
        let descriptor = try open("open \(path)", path, O_RDONLY)
        return try contents(of: descriptor, path, atMost: byteCountMax)
    }

    /// Reads all of an open file.
    static func contents(
        of descriptor: borrowing Descriptor, _ path: String, atMost byteCountMax: Int
    ) throws(SystemError) -> [UInt8] {
        do throws(SystemError) {
            return try descriptor.readEverything(path, atMost: byteCountMax)
        } catch {
            if error.operation != "read" { throw error }
            throw SystemError(operation: "read \(path)", errno: error.errno)
        }
    }

    /// Reads the first bytes of a file: fewer if it has no more.
    ///
    /// - Throws: ENOENT, EACCES, EISDIR.
    /// - Thread: any.
    /// - Blocks: for the disk; never for a named pipe, which has none.
    package static func beginning(
        of path: String, byteCount: Int
    ) throws(SystemError) -> [UInt8] {
        let descriptor = try open("open \(path)", path, O_RDONLY | O_NONBLOCK)
        var bytes: [UInt8] = []
        while bytes.count < byteCount {
            let room = byteCount - bytes.count
            let result = try descriptor.read(appendingTo: &bytes, atMost: room)
            guard case .bytes = result else { break }
        }
        return bytes
    }

    /// The first line of a file, without its end: a line feed, or both bytes of
    /// CRLF.
    package static func firstLine(of bytes: [UInt8]) -> [UInt8] {
        guard let end = bytes.firstIndex(of: UInt8(ascii: "\n")) else { return bytes }
        let line = bytes[..<end]
        return Array(line.last == UInt8(ascii: "\r") ? line.dropLast() : line)
    }

    /// Writes a whole file; one that is there is emptied first and keeps its mode bits.
    ///
    /// A reader may meet it half written: write beside it and `rename` where that matters.
    ///
    /// - Parameter mode: the mode bits of a new file; the process's umask takes its part.
    /// - Throws: EACCES, ENOENT (no such directory), EISDIR, ENOSPC.
    /// - Thread: any.
    /// - Blocks: for the disk.
    package static func write(
        _ bytes: [UInt8], to path: String, mode: UInt32 = 0o644
    ) throws(SystemError) {
        let descriptor = try open("open \(path)", path, O_WRONLY | O_CREAT | O_TRUNC, mode)
        do throws(SystemError) {
            try descriptor.write(everything: bytes)
        } catch {
            throw SystemError(operation: "write \(path)", errno: error.errno)
        }
    }

    /// Gives a file another path, in place of the file that is there.
    ///
    /// - Throws: ENOENT, EACCES, EXDEV (another file system).
    /// - Thread: any.
    /// - Blocks: for the disk.
    package static func rename(_ path: String, to newPath: String) throws(SystemError) {
        try retrying("rename \(path) to \(newPath)") { unsafe Glibc.rename(path, newPath) }
    }

    /// Gives a file another path, unless something is there.
    ///
    /// - Returns: whether it has that path now.
    /// - Throws: ENOENT, EACCES, EXDEV (another file system).
    /// - Thread: any.
    /// - Blocks: for the disk.
    /// - Source: renameat2(2), RENAME_NOREPLACE.
    package static func move(_ path: String, toFree newPath: String) throws(SystemError) -> Bool {
        do throws(SystemError) {
            try retrying("rename \(path) to \(newPath)") {
                unsafe clinux_rename_to_free(path, newPath)
            }
            return true
        } catch {
            switch error.errno {
            case EEXIST: return false
            case EINVAL, ENOSYS:
                // A file system that can't do both at once.
                guard try status(of: newPath, followingLinks: false) == nil else { return false }
                try rename(path, to: newPath)
                return true
            default: throw error
            }
        }
    }

    /// Removes a file, a socket or a link.
    ///
    /// - Throws: ENOENT, EACCES, EISDIR.
    /// - Thread: any.
    /// - Blocks: for the disk.
    package static func remove(_ path: String) throws(SystemError) {
        try retrying("unlink \(path)") { unsafe unlink(path) }
    }

    /// Removes a file, a socket or a link, if there is one.
    ///
    /// - Throws: EACCES, EISDIR.
    /// - Thread: any.
    /// - Blocks: for the disk.
    package static func removeIfThere(_ path: String) throws(SystemError) {
        do throws(SystemError) {
            try remove(path)
        } catch {
            if error.errno != ENOENT { throw error }
        }
    }

    /// The target of a symbolic link; nil where there is none, and for a text longer than a path.
    ///
    /// - Thread: any.
    /// - Blocks: for the disk.
    /// - Source: readlink(2).
    package static func target(ofLink path: String) -> String? {
        let room = Int(PATH_MAX)
        var bytes = [CChar](repeating: 0, count: room)
        let count = unsafe readlink(path, &bytes, room)
        guard (0..<room).contains(count) else { return nil }
        return String(decoding: bytes[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    /// Tells what a path refers to, links followed; nil when there is nothing.
    ///
    /// - Throws: EACCES, ELOOP, ENAMETOOLONG.
    /// - Thread: any.
    /// - Blocks: for the disk.
    package static func kind(of path: String) throws(SystemError) -> Kind? {
        guard let status = try status(of: path, followingLinks: true) else { return nil }
        switch status.st_mode & S_IFMT {
        case S_IFREG:
            let isExecutable = unsafe faccessat(AT_FDCWD, path, X_OK, AT_EACCESS) == 0
            return .regular(isExecutable: isExecutable)
        case S_IFDIR: return .directory
        case S_IFSOCK: return .socket
        default: return .other
        }
    }

    /// The mode bits of a path, links followed; nil when there is nothing.
    ///
    /// - Throws: EACCES, ELOOP, ENAMETOOLONG.
    /// - Thread: any.
    /// - Blocks: for the disk.
    package static func mode(of path: String) throws(SystemError) -> UInt32? {
        try status(of: path, followingLinks: true).map { $0.st_mode & 0o7777 }
    }

    /// Sets the mode bits of a path.
    ///
    /// - Throws: ENOENT, EPERM (not the owner).
    /// - Thread: any.
    /// - Blocks: for the disk.
    package static func setMode(_ mode: UInt32, of path: String) throws(SystemError) {
        try retrying("chmod \(path)") { unsafe chmod(path, mode) }
    }

    /// The identity of a file, unique as long as it is open.
    struct Identity: Equatable {
        fileprivate let device: dev_t
        fileprivate let number: ino_t
    }

    /// The file that a path leads to; nil when there is none.
    static func identity(of path: String) throws(SystemError) -> Identity? {
        try status(of: path, followingLinks: true)
            .map { Identity(device: $0.st_dev, number: $0.st_ino) }
    }

    /// The file that is open.
    static func identity(
        of descriptor: borrowing Descriptor, _ path: String
    ) throws(SystemError) -> Identity {
        let status = try status(of: descriptor, path)
        return Identity(device: status.st_dev, number: status.st_ino)
    }

    /// The answer of fstat(2).
    static func status(
        of descriptor: borrowing Descriptor, _ path: String
    ) throws(SystemError) -> stat {
        var status = stat()
        let number = descriptor.number
        try retrying("fstat \(path)") { unsafe fstat(number, &status) }
        return status
    }

    /// The answer of stat(2) or lstat(2); nil when there is nothing.
    static func status(of path: String, followingLinks: Bool) throws(SystemError) -> stat? {
        var status = stat()
        let operation = followingLinks ? "stat" : "lstat"
        do throws(SystemError) {
            try retrying("\(operation) \(path)") {
                unsafe fstatat(
                    AT_FDCWD, path, &status, followingLinks ? 0 : AT_SYMLINK_NOFOLLOW)
            }
            return status
        } catch {
            if error.errno == ENOENT || error.errno == ENOTDIR { return nil }
            throw error
        }
    }

    /// Opens a path, close-on-exec.
    static func open(
        _ operation: String, _ path: String, _ flags: CInt, _ mode: UInt32 = 0
    ) throws(SystemError) -> Descriptor {
        let number = try retrying(operation) {
            unsafe clinux_open(path, flags | O_CLOEXEC | O_NOCTTY, mode)
        }
        return Descriptor(owning: number)
    }
}
