// Making a file that outlives a power cut: a new one that no other process has, its bytes on the
// disk, then the name under which it is found.

internal import CLinux
internal import Glibc

extension File {
    /// Makes a file that is not there, and fails if something is.
    ///
    /// A link in its place is not followed, so that no other user can have another file written.
    ///
    /// - Parameter mode: its mode bits; the process's umask takes its part.
    /// - Returns: the file, open for writing.
    /// - Throws: EEXIST, EACCES, ENOENT (no such directory), EROFS, ENOSPC.
    /// - Thread: any.
    /// - Blocks: for the disk.
    package static func makeNew(_ path: String, mode: UInt32) throws(SystemError) -> Descriptor {
        try open("make \(path)", path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode)
    }

    /// Removes a file of this process's user that was left behind: one that is not locked.
    ///
    /// - Parameters:
    ///   - byteCount: how many of its first bytes are looked at.
    ///   - isOurs: whether a file that begins so may go.
    /// - Returns: whether it is gone; false for a link, another user's file, one that is not ours,
    ///   one that is locked, and where there are no locks.
    /// - Throws: ENOENT, EACCES.
    /// - Thread: any.
    /// - Blocks: for the disk.
    package static func removeLeftover(
        _ path: String, byteCount: Int, isOurs: ([UInt8]) -> Bool
    ) throws(SystemError) -> Bool {
        guard let status = try status(of: path, followingLinks: false),
            status.st_mode & S_IFMT == S_IFREG, status.st_uid == geteuid()
        else { return false }
        // For writing, since some file systems lock nothing else; not to wait for a pipe's other
        // end.
        let file = try open("open \(path)", path, O_RDWR | O_NONBLOCK | O_NOFOLLOW)
        var header: [UInt8] = []
        guard try file.read(appendingTo: &header, atMost: byteCount) != .wouldBlock,
            isOurs(header), file.lock()
        else { return false }
        try remove(path)
        return true
    }

    /// How many bytes a file has; nil when there is nothing.
    ///
    /// - Throws: EACCES, ELOOP, ENAMETOOLONG.
    /// - Thread: any.
    /// - Blocks: for the disk.
    package static func byteCount(of path: String) throws(SystemError) -> Int? {
        try status(of: path, followingLinks: true).map { Int($0.st_size) }
    }
}

extension Descriptor {
    /// Locks a file for the holders of this descriptor, until it is closed or its process has died.
    ///
    /// - Returns: false if it is locked already, and where the file system knows no locks.
    /// - Thread: any.
    /// - Blocks: never.
    /// - Source: flock(2).
    package borrowing func lock() -> Bool {
        while true {
            if flock(number, LOCK_EX | LOCK_NB) == 0 { return true }
            if Glibc.errno != EINTR { return false }
        }
    }

    /// Waits until what was written to a file is on the disk, whichever process wrote it.
    ///
    /// - Throws: EIO, ENOSPC: what was written may be lost, and a later call does not say so.
    /// - Thread: any.
    /// - Blocks: for the disk.
    /// - Source: fsync(2).
    package borrowing func sync() throws(SystemError) {
        let number = number
        try retrying("fsync") { fsync(number) }
    }
}

extension File {
    /// Puts a file in the place of the one at a path, or makes it: readers meet the old one or the
    /// new one, also after a crash.
    ///
    /// Owner, group and mode bits are those of the old one; of a new one they are the process's,
    /// and `ownerOnly`.
    ///
    /// - Throws: EACCES, ENOENT (no such directory), ENOSPC; EPERM where the owner can't be kept.
    /// - Thread: any.
    /// - Blocks: for the disk.
    package static func replace(_ path: String, with bytes: [UInt8]) throws(SystemError) {
        _ = try put(bytes, at: path, onlyIfFree: false)
    }

    /// Puts a file at a path, as `replace` does.
    ///
    /// - Parameter onlyIfFree: whether a file that is there stays.
    /// - Returns: whether the file is at that path now.
    static func put(
        _ bytes: [UInt8], at path: String, onlyIfFree: Bool
    ) throws(SystemError) -> Bool {
        let beside = "\(path).\(try SystemRandom.number())"
        let descriptor = try open(
            "open \(beside)", beside, O_WRONLY | O_CREAT | O_EXCL, ownerOnly)
        do throws(SystemError) {
            try descriptor.write(everything: bytes)
            if !onlyIfFree, let old = try status(of: path, followingLinks: true) {
                let number = descriptor.number
                try retrying("chown \(path)") { fchown(number, old.st_uid, old.st_gid) }
                try retrying("chmod \(path)") { fchmod(number, old.st_mode & 0o777) }
            }
            try descriptor.sync()
            if !onlyIfFree {
                try rename(beside, to: path)
            } else if try !move(beside, toFree: path) {
                try remove(beside)
                return false
            }
        } catch {
            try? remove(beside)
            throw error
        }
        try Directory.sync(Directory.parent(of: path))
        return true
    }
}

extension Directory {
    /// Waits until the names in a directory are on the disk as they are.
    ///
    /// - Throws: ENOENT, EACCES, ENOTDIR, EIO.
    /// - Thread: any.
    /// - Blocks: for the disk.
    package static func sync(_ path: String) throws(SystemError) {
        try File.open("open \(path)", path, O_RDONLY | O_DIRECTORY).sync()
    }

    /// How many bytes this process may still write to the file system of a directory.
    ///
    /// - Throws: ENOENT, EACCES, ENOTDIR.
    /// - Thread: any.
    /// - Blocks: for the disk.
    /// - Source: statvfs(3).
    package static func freeByteCount(of path: String) throws(SystemError) -> Int {
        var found = statvfs()
        try retrying("statvfs \(path)") { unsafe statvfs(path, &found) }
        let (bytes, isOverflow) = Int(clamping: found.f_bavail)
            .multipliedReportingOverflow(by: Int(clamping: found.f_frsize))
        return isOverflow ? .max : bytes
    }
}
